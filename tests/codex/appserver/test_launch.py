"""The command line and environment of a Codex child."""

import os
import re
import subprocess
import threading
from pathlib import Path

import msgspec
import pytest
from trimpoint.codex.appserver.launch import LaunchProfile, child_environment, launch_command

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
