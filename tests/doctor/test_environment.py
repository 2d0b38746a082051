"""Surroundings: the user, git, journals, checkpoints, descriptors and units."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import msgspec
import pytest
from trimpoint.config.sections import Config, LimitsSection
from trimpoint.doctor import (
    checkpoints,
    environment,
)
from trimpoint.doctor.findings import Finding
from trimpoint.journal import framing
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.service import units
from trimpoint.threads.catalogue import FILE_NAME, ThreadSummary, encode_catalogue

from tests.doctor.stage import Machine, program, sole


def test_root_is_warned(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert sole(environment.check_user(machine.installation())).status == "warn"
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    assert "uid 4242" in sole(environment.check_user(machine.installation())).text


@pytest.mark.each_case(reason="each version has another answer")
@pytest.mark.processes
@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("echo git version 2.39.5", "ok"),
        ("echo git version 2.24.1", "warn"),
        ("echo gibberish", "warn"),
        (None, "warn"),
    ],
)
def test_git_is_new_enough_or_there_are_no_checkpoints(
    machine: Machine, script: str | None, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if script is not None:
        program(machine.folder / "bin", "git", script)
    monkeypatch.setenv("PATH", str(machine.folder / "bin"))
    assert sole(environment.check_git(machine.installation())).status == status


@pytest.mark.processes
def test_a_git_that_cannot_run_is_reported(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(machine.folder / "bin", "git", "").write_bytes(b"\x7fELF nonsense")
    monkeypatch.setenv("PATH", str(machine.folder / "bin"))
    assert "does not run" in sole(environment.check_git(machine.installation())).text


def test_journals_that_cannot_be_continued_are_counted(machine: Machine) -> None:
    assert sole(environment.check_journals(machine.installation())).text == "no threads"
    machine.make("state", "state/threads")
    threads = machine.state_dir / "threads"
    (threads / "foreign.journal").write_bytes(b"something else entirely, and long enough")
    (threads / "torn.journal").write_bytes(framing.encode_header()[:3])
    found = sole(environment.check_journals(machine.installation()))
    assert (found.status, found.facts["readOnly"], found.facts["threads"]) == ("warn", 1, 2)
    (threads / "foreign.journal").unlink()
    assert sole(environment.check_journals(machine.installation())).status == "ok"


@pytest.mark.processes
def test_checkpoints_are_counted_by_repository(machine: Machine) -> None:
    look: Callable[[], Finding] = lambda: sole(checkpoints.check(machine.installation()))  # noqa: E731
    assert look().text == "none yet"
    machine.make("tree")
    tree = machine.folder / "tree"
    for words in (
        ("init", "-q"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"),
    ):
        subprocess.run(["git", *words], cwd=tree, check=True)
    anyio.run(
        _write_catalogue,
        machine.state_dir,
        ThreadSummary("one", 0, 1, [], [], None, str(tree), False, 0, 0, False, None),
    )
    assert look().text == "none yet"
    for thread in ("one", "gone"):
        subprocess.run(
            ["git", "update-ref", f"refs/trimpoint/checkpoints/{thread}/turn", "HEAD"],
            cwd=tree,
            check=True,
        )
    found = look()
    assert (found.status, found.facts["refs"], found.facts["stray"], found.facts["diskBytes"]) == (
        "ok",
        2,
        1,
        0,
    )
    assert "--prune" in found.hint
    subprocess.run(
        ["git", "update-ref", "-d", "refs/trimpoint/checkpoints/gone/turn"], cwd=tree, check=True
    )
    assert (look().hint, look().facts["refs"]) == ("", 1)


async def _write_catalogue(state_dir: Path, *threads: ThreadSummary) -> None:
    await StateDirectory(state_dir).write_atomic(FILE_NAME, encode_catalogue(list(threads)))


def test_more_clients_than_descriptors_are_warned_of(machine: Machine) -> None:
    assert sole(environment.check_descriptors(machine.installation())).status == "ok"
    config = msgspec.structs.replace(Config(), limits=LimitsSection(max_clients=10**9))
    assert sole(environment.check_descriptors(machine.installation(config))).status == "warn"


def test_absent_own_and_foreign_units_are_distinguished(machine: Machine) -> None:
    installation = machine.installation()
    look: Callable[[], Finding] = lambda: sole(environment.check_service(installation))  # noqa: E731
    assert look().text == "not installed"
    folder = units.unit_folder(installation.environ)
    units.install(folder, units.rendered(["/bin/true"], None, {}))
    assert "installed" in look().text
    (folder / units.SERVICE).write_text("[Service]\n")
    assert "did not write" in look().text
    (folder / units.SERVICE).unlink()
    assert look().status == "fail"
