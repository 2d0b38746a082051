import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from trimpoint.service import units

from tests.deadlines import SCENARIO_S
from tests.service.systemd import tool

ROOT = Path(__file__).parents[2]
ENVIRON = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/home/me",
    "CODEX_HOME": "/home/me/100% codex",
    "OPENAI_API_KEY": "sk-secret",
}
COMMAND = ["/usr/bin/true", "serve", "-c", 'model="a $b"']


def rendered() -> dict[str, str]:
    return units.rendered(COMMAND, None, ENVIRON)


def setting(unit: str, key: str) -> str | None:
    found = re.findall(rf"^{key}=(.*)$", unit, re.MULTILINE)
    assert len(found) <= 1, found
    return found[0] if found else None


def verified(folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [
        tool("systemd-analyze"),
        "verify",
        "--user",
        "--man=no",
        *map(str, sorted(folder.glob("trimpoint.*"))),
    ]
    return subprocess.run(
        command,
        env={**os.environ, "XDG_RUNTIME_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=SCENARIO_S,
    )


@pytest.mark.processes
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    units.install(tmp_path, units.rendered(COMMAND, tmp_path / "a b%c.sock", ENVIRON))
    done = verified(tmp_path)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.processes
def test_systemd_would_find_what_is_wrong(tmp_path: Path) -> None:
    units.install(tmp_path, rendered())
    service = tmp_path / units.SERVICE
    service.write_text(
        service.read_text()
        .replace("Type=notify", "Type=notfy")
        .replace("RestartSec", "RestartSecs")
    )
    assert "notfy" in verified(tmp_path).stderr


@pytest.mark.processes
def test_the_hardening_is_there_as_systemd_sees_it_and_what_would_break_codex_is_not(
    tmp_path: Path,
) -> None:
    units.install(tmp_path, rendered())
    command = [
        tool("systemd-analyze"),
        "security",
        "--user",
        "--offline=true",
        "--json=short",
        str(tmp_path / units.SERVICE),
    ]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=SCENARIO_S
    )
    seen = {row["json_field"]: row["set"] for row in json.loads(done.stdout)}
    for guard in (
        "NoNewPrivileges",
        "RestrictRealtime",
        "SystemCallFilter_module",
        "SystemCallFilter_raw_io",
        "NotifyAccess",
    ):
        assert seen[guard], guard
    # bubblewrap makes these namespaces; without one of them Codex cannot sandbox anything
    # (measured: 0.163).
    for needed in ("user", "mnt", "pid", "net"):
        assert not seen[f"RestrictNamespaces_{needed}"], needed
    assert not seen["SystemCallFilter_mount"]
    assert not seen["MemoryDenyWriteExecute"]
    assert not seen["ProtectHome"]
    overall = subprocess.run(
        [*command[:2], "--threshold=82", *command[2:]],
        env=environment,
        capture_output=True,
        check=False,
        timeout=SCENARIO_S,
    )
    assert overall.returncode == 0, "less is hardened than was"


def test_the_unit_in_the_repository_is_the_one_that_is_installed() -> None:
    for name in units.NAMES:
        body = rendered()[name].partition("\n")[2]
        ours = (ROOT / "systemd" / name).read_text(encoding="utf-8")
        assert {*ours.splitlines()} - {*body.splitlines()} <= {
            "ExecStart=%h/.local/bin/trimpoint serve"
        }


def test_the_command_and_what_it_goes_by_are_written_so_that_systemd_reads_them_back() -> None:
    service = rendered()[units.SERVICE]
    assert setting(service, "ExecStart") == r'/usr/bin/true serve -c "model=\"a $$b\""'
    assert re.findall(r"^Environment=(.*)$", service, re.MULTILINE) == [
        "PATH=/usr/bin:/bin",
        '"CODEX_HOME=/home/me/100%% codex"',
    ]
    assert "sk-secret" not in service


def test_a_socket_elsewhere_is_listened_at() -> None:
    assert setting(rendered()[units.SOCKET], "ListenStream") == "%t/trimpoint/trimpoint.sock"
    moved = units.rendered(COMMAND, Path("/run/a b%.sock"), {})[units.SOCKET]
    assert setting(moved, "ListenStream") == "/run/a b%%.sock"


@pytest.mark.parametrize("word", ["two\nlines", "tab\t", "\x7f"])
def test_a_word_that_would_end_its_line_is_refused(word: str) -> None:
    with pytest.raises(units.NotForUnits, match="control characters"):
        units.rendered(["/bin/true", word], None, {})
    with pytest.raises(units.NotForUnits):
        units.rendered(["/bin/true"], Path(word), {})
    with pytest.raises(units.NotForUnits):
        units.rendered(["/bin/true"], None, {"PATH": word})


def test_installing_twice_writes_once_and_another_version_replaces_ours(tmp_path: Path) -> None:
    folder = tmp_path / "systemd" / "user"
    assert units.install(folder, rendered()) == [folder / name for name in units.NAMES]
    assert units.install(folder, rendered()) == []
    other = units.rendered(["/bin/false"], None, ENVIRON)
    assert units.standing(folder / units.SERVICE, other[units.SERVICE]) == "outdated"
    assert units.install(folder, other) == [folder / units.SERVICE]
    assert (folder / units.SERVICE).read_text() == other[units.SERVICE]
    assert sorted(path.name for path in folder.iterdir()) == sorted(units.NAMES)


def put(folder: Path, kind: str) -> Path:
    units.install(folder, rendered())
    path = folder / units.SERVICE
    ours = path.read_text()
    path.unlink()
    match kind:
        case "a person's":
            path.write_text("[Service]\nExecStart=/bin/true\n")
        case "changed":
            path.write_text(ours + "Environment=A=1\n")
        case "masked":
            path.symlink_to("/dev/null")
        case "a link to ours":
            (folder / "real").write_text(ours)
            path.symlink_to(folder / "real")
        case _:
            path.mkdir()
    return path


@pytest.mark.parametrize("kind", ["a person's", "changed", "masked", "a link to ours", "a folder"])
def test_units_that_trimpoint_did_not_write_are_left_alone(tmp_path: Path, kind: str) -> None:
    path = put(tmp_path, kind)
    (tmp_path / units.SOCKET).unlink()
    before = os.lstat(path)
    for change in (lambda: units.install(tmp_path, rendered()), lambda: units.uninstall(tmp_path)):
        with pytest.raises(
            units.UnitForeign, match=r"trimpoint\.service was not written by trimpoint"
        ):
            change()
    assert os.path.samestat(os.lstat(path), before)
    assert not (tmp_path / units.SOCKET).exists(), "all or nothing"


def test_ours_are_removed_and_nothing_else(tmp_path: Path) -> None:
    units.install(tmp_path, rendered())
    (tmp_path / "other.service").touch()
    assert len(units.uninstall(tmp_path)) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["other.service"]
    assert units.uninstall(tmp_path) == []


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"HOME": "/home/me"}, "/home/me/.config/systemd/user"),
        ({"HOME": "/home/me", "XDG_CONFIG_HOME": "/conf"}, "/conf/systemd/user"),
        ({"HOME": "/home/me", "XDG_CONFIG_HOME": "not/absolute"}, "/home/me/.config/systemd/user"),
    ],
)
def test_units_go_where_systemd_looks_for_them(environ: dict[str, str], folder: str) -> None:
    assert units.unit_folder(environ) == Path(folder)
