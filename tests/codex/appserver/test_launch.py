"""The command line and environment of a Codex child."""

import os
import re
import subprocess
import threading
from pathlib import Path

import msgspec
import pytest
from trimpoint.codex.appserver.launch import (
    SERVICE_VARIABLES,
    LaunchProfile,
    child_environment,
    launch_command,
)
from trimpoint.config.loading import ENVIRONMENT

from tests.codex.children import REAL_CODEX, scripted


def test_only_the_main_thread_ties_a_child_to_its_own_end() -> None:
    commands: list[list[str]] = []
    thread = threading.Thread(
        target=lambda: commands.append(launch_command(LaunchProfile(REAL_CODEX)))
    )
    thread.start()
    thread.join()
    assert commands == [[str(REAL_CODEX), "app-server"]]
    assert launch_command(LaunchProfile(REAL_CODEX))[-2:] == commands[0]
    assert len(launch_command(LaunchProfile(REAL_CODEX))) > 2


@pytest.mark.processes
def test_a_child_whose_parent_died_before_it_asked_to_be_told_does_not_start(
    tmp_path: Path,
) -> None:
    profile = scripted(tmp_path, "print('started')")
    command = launch_command(profile)
    orphaned = ["1" if word == str(os.getpid()) else word for word in command]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"started\n"
    assert subprocess.run(orphaned, capture_output=True, check=True).stdout == b""


def test_the_environment_is_the_user_s_except_for_what_would_break() -> None:
    inherited = {
        "HTTPS_PROXY": "http://p",
        "NOTIFY_SOCKET": "/run/n",
        "LISTEN_FDS": "1",
        "CODEX_HOME": "/a",
    }
    profile = LaunchProfile(REAL_CODEX, environment=(("A", "1"), ("A", "2")))
    expected = {"HTTPS_PROXY": "http://p", "CODEX_HOME": "/a", "A": "2"}
    assert child_environment(profile, inherited) == expected
    elsewhere = msgspec.structs.replace(profile, codex_home=Path("/b"))
    assert child_environment(elsewhere, inherited) == expected | {"CODEX_HOME": "/b"}


def test_what_is_of_the_service_or_of_trimpoint_reaches_no_agent() -> None:
    """The names are those of systemd.exec(5) and of the configuration."""
    withheld = [*SERVICE_VARIABLES, *ENVIRONMENT, "TRIMPOINT_OF_A_LATER_VERSION"]
    assert {"NOTIFY_SOCKET", "LISTEN_FDS", "INVOCATION_ID", "CREDENTIALS_DIRECTORY"} < {*withheld}
    profile = LaunchProfile(REAL_CODEX)
    assert child_environment(profile, dict.fromkeys(withheld, "x")) == {}
    named = msgspec.structs.replace(profile, environment=(("TRIMPOINT_LOG", "debug"),))
    assert child_environment(named, {}) == {"TRIMPOINT_LOG": "debug"}


def test_what_people_rely_on_reaches_their_agents() -> None:
    theirs = [
        "HOME",
        "PATH",
        "LANG",
        "LC_ALL",
        "TZ",
        "TERM",
        "COLORTERM",
        "USER",
        "SHELL",
        "TMPDIR",
        "XDG_RUNTIME_DIR",
        "XDG_CONFIG_HOME",
        "SSH_AUTH_SOCK",
        "HTTPS_PROXY",
        "no_proxy",
        "SSL_CERT_FILE",
        "CODEX_HOME",
        "CODEX_CA_CERTIFICATE",
        "OPENAI_API_KEY",
        "KEY_OF_A_PROVIDER_OF_MINE",
        "JAVA_HOME",
        "VIRTUAL_ENV",
        "DISPLAY",
        "DBUS_SESSION_BUS_ADDRESS",
    ]
    inherited = dict.fromkeys(theirs, "x")
    assert child_environment(LaunchProfile(REAL_CODEX), inherited) == inherited


def test_the_tools_of_an_older_npm_release_come_first_in_path(tmp_path: Path) -> None:
    (tmp_path / "path").mkdir()
    profile = LaunchProfile(tmp_path / "codex" / "codex")
    assert child_environment(profile, {"PATH": "/usr/bin"}) == {
        "PATH": f"{tmp_path / 'path'}:/usr/bin"
    }
    assert child_environment(profile, {}) == {"PATH": str(tmp_path / "path")}


def test_profiles_have_equal_keys_exactly_when_they_are_equal() -> None:
    profile = LaunchProfile(REAL_CODEX, ("a=1",), Path("/h"), (("A", "1"),), Path("/w"))
    others = [
        msgspec.structs.replace(profile, overrides=("a=2",)),
        msgspec.structs.replace(profile, codex_home=None),
        msgspec.structs.replace(profile, environment=()),
        msgspec.structs.replace(profile, cwd=None),
        msgspec.structs.replace(profile, codex=Path("/c")),
    ]
    assert (
        profile.key
        == LaunchProfile(REAL_CODEX, ("a=1",), Path("/h"), (("A", "1"),), Path("/w")).key
    )
    assert len({profile.key, *(other.key for other in others)}) == 6
    assert re.fullmatch("[0-9a-f]{16}", profile.key)
