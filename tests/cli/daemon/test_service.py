"""`trimpoint daemon service`, with a `systemctl` that records its calls; the units are real."""

import json
import socket
import sys
from pathlib import Path

import pytest
from trimpoint.cli.daemon_commands.log_lines import print_log_of
from trimpoint.cli.main import main
from trimpoint.service import units

pytestmark = pytest.mark.processes

SYSTEMCTL = """#!{python}
import json, os, pathlib, sys
here = pathlib.Path(os.path.dirname(os.path.abspath(__file__)))
with open(here / "asked", "a") as file:
    print(" ".join(sys.argv[1:]), file=file)
if (here / "fails").exists():
    sys.exit("Failed to connect to bus: No medium found")
if sys.argv[2] == "show":
    print((here / sys.argv[3]).read_text(), end="")
"""


class Place:
    """A home folder, and a systemctl that answers from files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.units = folder / "conf" / "systemd" / "user"
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.program("systemctl", SYSTEMCTL.format(python=sys.executable))
        self.program("codex", "#!/bin/sh\n")
        self.says(service="ActiveState=inactive\n", socket="ActiveState=inactive\n")

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def says(self, *, service: str, socket: str) -> None:
        (self.bin / units.SERVICE).write_text(service)
        (self.bin / units.SOCKET).write_text(socket)

    def asked(self) -> list[str]:
        log = self.bin / "asked"
        return (
            [line for line in log.read_text().splitlines() if "show" not in line]
            if log.exists()
            else []
        )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name in ("TRIMPOINT_SOCKET", "TRIMPOINT_STATE_DIR", "TRIMPOINT_CODEX", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    opened = Place(tmp_path)
    monkeypatch.setenv("PATH", str(opened.bin))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "conf"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    return opened


def test_installing_writes_the_units_and_has_systemd_listen(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            [
                "service",
                "install",
                "-c",
                "model=m",
                "--codex",
                str(place.bin / "codex"),
                "--state-dir",
                "/state",
            ]
        )
        == 0
    )
    service = (place.units / units.SERVICE).read_text()
    assert f"serve --state-dir /state --codex {place.bin}/codex -c model=m\n" in service
    assert f"Environment=PATH={place.bin}\n" in service
    assert place.asked() == ["--user daemon-reload", "--user enable --now trimpoint.socket"]
    said = capsys.readouterr().out.replace("\n", "")
    assert "The first client that connects starts it" in said
    assert f"{place.folder}/run/trimpoint/trimpoint.sock" in said


def test_a_socket_chosen_here_is_the_one_that_systemd_listens_at(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRIMPOINT_SOCKET", str(place.folder / "chosen.sock"))
    assert main(["service", "install", "--json"]) == 0
    assert f"ListenStream={place.folder}/chosen.sock\n" in (place.units / units.SOCKET).read_text()
    assert json.loads(capsys.readouterr().out)["written"] == [
        str(place.units / name) for name in units.NAMES
    ]


def test_a_dry_run_shows_everything_and_does_nothing(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["service", "install", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "[Socket]" in shown
    assert "ExecStart=" in shown
    assert "systemctl --user enable --now trimpoint.socket" in shown
    assert main(["service", "install", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["commands"][0] == "systemctl --user daemon-reload"
    assert (place.units.exists(), place.asked()) == (False, [])


def test_a_running_service_is_not_restarted_and_the_output_says_so(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.says(service="ActiveState=active\n", socket="ActiveState=active\n")
    assert main(["service", "install"]) == 0
    assert "systemctl --user restart trimpoint.service" in capsys.readouterr().out
    assert not [line for line in place.asked() if "restart" in line]


def test_a_daemon_started_by_hand_keeps_its_socket(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    path = place.folder / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        assert main(["service", "install", "--socket", str(path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["reason"] == "already_served"
    assert (place.units.exists(), place.asked()) == (False, [])


def test_without_a_codex_nothing_is_installed(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["service", "install", "--codex", "/nowhere", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["reason"] == "codex_unusable"
    assert not place.units.exists()


def test_service_commands_explain_what_to_do_without_a_service_manager(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    (place.bin / "fails").touch()
    for command in ("install", "status"):
        assert main(["service", command]) == 1
        said = capsys.readouterr().err
        assert "No medium found" in said
        assert "Log in as this user" in said
    (place.bin / "systemctl").unlink()
    assert main(["service", "status"]) == 1
    assert "systemd is not installed" in capsys.readouterr().err


def test_a_unit_of_someone_else_is_left_alone(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.units.mkdir(parents=True)
    (place.units / units.SERVICE).write_text("mine\n")
    for command in ("install", "uninstall"):
        assert main(["service", command, "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["error"]["reason"] == "unit_not_ours"
    assert (place.units / units.SERVICE).read_text() == "mine\n"
    assert place.asked() == []


def test_a_folder_that_cannot_be_written_is_reported(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.units.parent.parent.mkdir()
    place.units.parent.touch()
    assert main(["service", "install"]) == 1
    assert "Not a directory" in capsys.readouterr().err


def test_uninstalling_stops_it_and_removes_what_was_installed(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["service", "install"]) == 0
    assert main(["service", "uninstall", "--dry-run"]) == 0
    assert (place.units / units.SERVICE).exists()
    assert main(["service", "uninstall"]) == 0
    assert list(place.units.iterdir()) == []
    assert place.asked()[-2:] == [
        "--user disable --now trimpoint.socket trimpoint.service",
        "--user daemon-reload",
    ]
    capsys.readouterr()
    assert main(["service", "uninstall"]) == 0
    assert "nothing to remove" in capsys.readouterr().out


RUNNING = "ActiveState=active\nMainPID=77\nStatusText=1 thread\nNRestarts=2\nResult=success\n"
FAILED = "ActiveState=failed\nMainPID=0\nStatusText=Stopping.\nNRestarts=0\nResult=watchdog\n"
LISTENING = "ActiveState=active\nUnitFileState=enabled\nListen=/run/s (Stream)\n"


@pytest.mark.parametrize(
    ("service", "listening", "code", "words"),
    [
        (
            RUNNING,
            LISTENING,
            0,
            ["active, pid 77, restarted 2 times", "1 thread", "active, enabled", "/run/s (Stream)"],
        ),
        (
            FAILED,
            "ActiveState=failed\n",
            4,
            ["failed (watchdog)", "failed, no unit", "trimpoint daemon service install"],
        ),
    ],
)
def test_status_says_what_systemd_knows(
    place: Place,
    capsys: pytest.CaptureFixture[str],
    service: str,
    listening: str,
    code: int,
    words: list[str],
) -> None:
    place.says(service=service, socket=listening)
    assert main(["service", "status"]) == code
    shown = capsys.readouterr().out
    assert [word for word in words if word not in shown] == []
    assert "Stopping." not in shown
    assert main(["service", "status", "--json"]) == code
    assert json.loads(capsys.readouterr().out)["service"]["ActiveState"] in service


def test_logs_are_the_journals_and_cannot_control_the_terminal(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["service", "logs"]) == 1
    assert "journalctl is not installed" in capsys.readouterr().err
    place.program("journalctl", "#!/bin/sh\nprintf '%s ' \"$@\"; printf '\\033[2Jend\\n'")
    assert main(["service", "logs"]) == 1
    assert "The service is not installed." in capsys.readouterr().err
    assert main(["service", "install"]) == 0
    capsys.readouterr()
    assert main(["service", "logs", "-f", "-n", "5"]) == 0
    words = "--user-unit=trimpoint.service --lines=5 --output=cat --no-pager --follow"
    assert capsys.readouterr().out == f"{words} ␛[2Jend\n"


def test_what_a_program_prints_of_a_log_is_shown_line_by_line_and_cannot_control_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    prints = r"printf 'one\r\n\033]0;title\007two'; exit 3"
    assert print_log_of(["sh", "-c", prints]) == 3
    assert capsys.readouterr().out == "one\n␛]0;title␇two"
