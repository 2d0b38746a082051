"""All checks of `trimpoint doctor` together. Each one has its tests beside this module."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from trimpoint.doctor.checks import CHECKS
from trimpoint.doctor.findings import Check, Finding, Installation, examine, max_severity, ok, warn
from trimpoint_protocol.locations import HomeUnknown

from tests.doctor.stage import Machine, program


def test_without_a_home_folder_one_check_reports_it_and_the_others_run(machine: Machine) -> None:
    def homeless(_: Installation) -> Iterator[Finding]:
        raise HomeUnknown
        yield

    [result] = examine((Check("a", homeless),), machine.installation())
    assert (result.finding.status, result.finding.hint) == ("fail", "Set HOME.")


def test_a_check_that_cannot_look_is_a_failure_and_not_the_end(machine: Machine) -> None:
    def cannot(_: Installation) -> Iterator[Finding]:
        yield ok("so far")
        raise PermissionError(13, "Permission denied", "/secret/place")

    results = examine(
        (Check("a", cannot), Check("b", lambda _: [warn("kind", "odd", "do")])),
        machine.installation(),
    )
    assert [(result.check, result.finding.status) for result in results] == [
        ("a", "fail"),
        ("b", "warn"),
    ]
    assert "/secret/place Permission denied" in results[0].finding.text
    assert results[0].finding.facts == {"error": "EACCES"}
    assert (max_severity(results), max_severity(results[1:]), max_severity([])) == (
        "fail",
        "warn",
        "ok",
    )


@pytest.mark.processes
def test_looking_at_everything_changes_nothing(machine: Machine) -> None:
    machine.make("state", "run", "codex-home", "home")
    program(machine.folder / "bin", "codex", "echo codex-cli 0.163.0")
    before = _tree(machine.folder)
    results = examine(CHECKS, machine.installation())
    assert {result.check for result in results} == {check.name for check in CHECKS}
    assert _tree(machine.folder) == before


def _tree(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*")
    }
