"""`trimpoint daemon service` on macOS, with a `launchctl` that records its calls and remembers what is
loaded.
"""

import json
import os
import plistlib
import sys
from pathlib import Path

import pytest
from trimpoint.cli.main import main
from trimpoint.service import launchd
from trimpoint.system import SYSTEM

pytestmark = pytest.mark.processes

LAUNCHCTL = """#!{python}
import os, pathlib, plistlib, sys
here = pathlib.Path(os.path.dirname(os.path.abspath(__file__)))
word, place, *rest = sys.argv[1:]
with open(here / "asked", "a") as file:
    print(word, place, *rest, file=file)
loaded, ending, settling = (here / name for name in ("loaded", "ending", "settling"))

def refuse(code, words):
    print(words, file=sys.stderr)
    sys.exit(code)

def counted_down(file):
    left = int(file.read_text()) if file.exists() else 0
    if left:
        file.write_text(str(left - 1))
    return left

domain = place.removesuffix("/trimpoint.daemon")
if word == "bootstrap":
    if loaded.exists() or counted_down(settling):
        refuse(5, "Bootstrap failed: 5: Input/output error")
    session = plistlib.loads(pathlib.Path(rest[0]).read_bytes())["LimitLoadToSessionType"]
    if session != ("Aqua" if domain.startswith("gui/") else "Background"):
        refuse(134, "Bootstrap failed: 134: Service cannot load in requested session")
    loaded.write_text(domain)
elif not loaded.exists() or loaded.read_text() != domain:
    refuse(3 if word == "bootout" else 113, "Could not find service in domain")
elif word == "bootout":
    if ending.exists():
        refuse(36, "Boot-out failed: 36: Operation now in progress")
    loaded.unlink()
else:
    state = "running"
    if ending.exists() and not counted_down(ending):
        ending.unlink()
        loaded.unlink()
    print(f'''gui/501/trimpoint.daemon = {{{{
        active count = 1
        state = {{state}}
        program = /x
        pid = 4711
        last exit code = (never exited)
        endpoints = {{{{
            state = other
        }}}}
}}}}''')
"""


class Mac:
    """A home folder, and a launchctl."""

    def __init__(self, folder: Path) -> None:
        self.home = folder
        self.file = folder / "Library" / "LaunchAgents" / "trimpoint.daemon.plist"
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name, text in (
            ("launchctl", LAUNCHCTL.format(python=sys.executable)),
            ("codex", "#!/bin/sh\n"),
        ):
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)

    def asked(self) -> list[str]:
        log = self.bin / "asked"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line.split()[0] for line in lines if not line.startswith("print")]


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mac:
    """Returns a Mac on which nothing is installed."""
    for name in ("TRIMPOINT_SOCKET", "TRIMPOINT_STATE_DIR", "TRIMPOINT_CODEX", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    made = Mac(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(made.bin))
    monkeypatch.setenv("TRIMPOINT_SOCKET", str(tmp_path / "s"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(SYSTEM, "service_manager", "launchd")
    return made


def test_an_agent_is_written_loaded_shown_and_removed(
    mac: Mac, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["daemon", "service", "install"]) == 0
    assert mac.asked() == ["bootstrap"]
    assert "background item was added" in " ".join(capsys.readouterr().out.split())
    agent = plistlib.loads(mac.file.read_bytes())
    assert agent["Label"] == launchd.LABEL
    assert agent["ProgramArguments"][-1] == "serve"
    assert Path(agent["ProgramArguments"][0]).is_absolute()
    assert agent["EnvironmentVariables"]["PATH"] == str(mac.bin)
    assert agent["StandardErrorPath"] == str(mac.home / "Library" / "Logs" / "trimpoint.log")
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert mac.file.stat().st_mode & 0o777 == 0o644

    assert main(["daemon", "service", "status", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["agent"] == {
        "domain": f"gui/{os.geteuid()}",
        "state": "running",
        "pid": 4711,
        "last_exit": "(never exited)",
    }
    assert shown["writtenByTrimpoint"] is True

    assert main(["daemon", "service", "uninstall"]) == 0
    assert mac.asked() == ["bootstrap", "bootout"]
    assert not mac.file.exists()
    assert main(["daemon", "service", "status"]) == 4


def test_an_agent_that_is_as_it_should_be_is_not_restarted(mac: Mac) -> None:
    assert main(["daemon", "service", "install"]) == 0
    assert main(["daemon", "service", "install"]) == 0
    assert mac.asked() == ["bootstrap"]


def test_an_agent_of_another_version_is_replaced(mac: Mac, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["daemon", "service", "install"]) == 0
    monkeypatch.setenv("CODEX_HOME", str(mac.home / "codex"))
    assert main(["daemon", "service", "install"]) == 0
    assert mac.asked() == ["bootstrap", "bootout", "bootstrap"]
    agent = plistlib.loads(mac.file.read_bytes())
    assert agent["EnvironmentVariables"]["CODEX_HOME"] == str(mac.home / "codex")


def test_an_agent_that_ends_slowly_is_waited_for(
    mac: Mac, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["daemon", "service", "install"]) == 0
    # The first two are looked at before it is told to end.
    (mac.bin / "ending").write_text("4")
    (mac.bin / "settling").write_text("2")
    monkeypatch.setenv("CODEX_HOME", str(mac.home / "codex"))
    assert main(["daemon", "service", "install"]) == 0, capsys.readouterr().err
    assert mac.asked() == ["bootstrap", "bootout", *["bootstrap"] * 3]
    (mac.bin / "ending").write_text("4")
    assert main(["daemon", "service", "uninstall"]) == 0
    assert main(["daemon", "service", "status"]) == 4


def test_an_agent_that_was_installed_over_ssh_is_for_sessions_without_windows(
    mac: Mac, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "1")
    assert main(["daemon", "service", "install"]) == 0
    assert plistlib.loads(mac.file.read_bytes())["LimitLoadToSessionType"] == "Background"
    assert (mac.bin / "loaded").read_text().startswith("user/")
    monkeypatch.delenv("SSH_CONNECTION")
    assert main(["daemon", "service", "status"]) == 0, "it is found from a session with windows"
    assert main(["daemon", "service", "install"]) == 0
    assert (mac.bin / "loaded").read_text().startswith("gui/")
    assert main(["daemon", "service", "uninstall"]) == 0
    assert not (mac.bin / "loaded").exists()


def test_a_log_cannot_control_the_terminal(mac: Mac, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["daemon", "service", "logs"]) != 0
    assert "There is no log" in capfd.readouterr().err
    (mac.bin / "tail").symlink_to("/usr/bin/tail")
    assert main(["daemon", "service", "install"]) == 0
    log = mac.home / "Library" / "Logs" / "trimpoint.log"
    log.write_bytes(b"first\nred \x1b[31m \xff\n\x9b2J\xe2\x80\xaelast")
    capfd.readouterr()
    assert main(["daemon", "service", "logs", "-n", "2"]) == 0
    shown = capfd.readouterr().out
    assert shown == "red ␛[31m �\n�2J�last"


def test_a_file_that_a_person_changed_is_left_alone(
    mac: Mac, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["daemon", "service", "install"]) == 0
    changed = mac.file.read_text().replace("Interactive", "Background")
    mac.file.write_text(changed)
    assert main(["daemon", "service", "install"]) != 0
    assert main(["daemon", "service", "uninstall"]) != 0
    assert "was not written by trimpoint" in capsys.readouterr().err
    assert mac.file.read_text() == changed
    assert mac.asked() == ["bootstrap"]


def test_a_dry_run_does_nothing_and_shows_what_would_be_done(
    mac: Mac, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["daemon", "service", "install", "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plistlib.loads(plan["files"][str(mac.file)].encode())["Label"] == launchd.LABEL
    assert [line.split()[1] for line in plan["commands"]] == ["bootout", "bootstrap"]
    assert not mac.file.exists()
    assert mac.asked() == []


def test_a_daemon_that_was_started_by_hand_is_not_pushed_aside(
    mac: Mac, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def answers(_: object) -> Path:
        return mac.home / "s"

    monkeypatch.setattr("trimpoint.cli.daemon_commands.launch_agent.answering", answers)
    assert main(["daemon", "service", "install"]) != 0
    assert "not started by launchd" in capsys.readouterr().err
    assert not mac.file.exists()


def test_a_machine_without_launchctl_is_told_so(
    mac: Mac, capsys: pytest.CaptureFixture[str]
) -> None:
    (mac.bin / "launchctl").unlink()
    assert main(["daemon", "service", "status"]) != 0
    assert "launchctl is not installed" in capsys.readouterr().err


def test_the_list_is_that_of_the_golden_file() -> None:
    text = launchd.rendered(
        ["/opt/tp & co/bin/trimpoint", "serve", "--state-dir", "/Users/a b/<state>"],
        {"HOME": "/Users/a b", "PATH": "/opt/bin:/usr/bin"},
    )
    golden = Path(__file__).parent / "agent.plist"
    assert text == golden.read_text()
    assert plistlib.loads(text.encode())["ProgramArguments"][0] == "/opt/tp & co/bin/trimpoint"


def test_over_ssh_the_agent_belongs_to_the_user_alone() -> None:
    assert launchd.domain({}).startswith("gui/")
    assert launchd.domain({"SSH_CONNECTION": "1"}).startswith("user/")
