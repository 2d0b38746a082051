"""Every command that names a thread or a session says whose agents' folders are meant: those of the
shell in which it was typed, whoever started the daemon.
"""

import argparse
import os
import sys
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from trimpoint import event_loop
from trimpoint.cli.connection import connect
from trimpoint.cli.connection.client import Client
from trimpoint.cli.main import main

CLI = Path(connect.__file__).parents[1]
FOLDERS = {
    "CODEX_HOME": "/there/codex",
    "CLAUDE_CONFIG_DIR": "/there/claude",
    "GEMINI_CLI_HOME": "/there",
}
SESSION = "01900000-0000-7000-8000-00000000abcd"
# One line for each module that talks to the daemon.
OF_THREADS = (
    "threads", "clear 3", "compact", "pins", "diff 1 -t x", "threads rename new", "threads archive x",
    "threads unarchive x", "threads delete x", "threads fork x", "search words", "search --read x",
    "timeline", "context", "export", "probe thread/list", "probe --prompt words", "ask words",
    "checkpoints", "revert 1", "sessions --agent trimpoint", f"sessions continue {SESSION}",
    f"sessions export --agent trimpoint {SESSION}", "watch", "open", "trust", "tui",
)  # fmt: skip
# They are about the daemon itself, end what runs in any Codex, or ask which threads there are in all of them.
OF_THE_DAEMON = {
    "status", "metrics", "shutdown", "token", "thread_changes", "listing", "own_threads", "watch",
}  # fmt: skip


class Asked:
    """What a command asks the daemon for; it is not answered."""

    def __init__(self) -> None:
        self.codex_home: list[str | None] = []
        self.modules: set[str] = set()

    def run(
        self, work: Any, arguments: argparse.Namespace, command: Any, starts: bool, *_: Any
    ) -> int:
        del work, command
        frame = sys._getframe(2)
        self.modules.add(frame.f_globals["__name__"].rpartition(".")[2])
        if starts:
            self.codex_home.append(connect.profile_asked(arguments).codex_home)
        return 0


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Asked:
    recorder = Asked()
    monkeypatch.setattr(event_loop, "run", recorder.run)
    monkeypatch.setattr(os, "execv", lambda *_: sys.exit(0))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, folder in FOLDERS.items():
        monkeypatch.setenv(name, folder)
    return recorder


def typed(line: str) -> None:
    with suppress(SystemExit):  # Codex takes the place of the command
        main(line.split())


@pytest.mark.parametrize("line", OF_THREADS)
def test_a_command_about_threads_asks_for_the_codex_of_its_shell(line: str, asked: Asked) -> None:
    typed(line)
    assert set(asked.codex_home) == {"/there/codex"}


def test_the_commands_are_all_of_them(asked: Asked) -> None:
    for line in OF_THREADS:
        typed(line)
    talking = {path.stem for path in CLI.rglob("*.py") if "with_daemon(" in path.read_text()}
    assert talking - asked.modules - OF_THE_DAEMON == {"connect"}


class Recorder(Client):
    """A client that keeps the parameters of the one request that it is given."""

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}

    async def request(self, method: str, /, **params: Any) -> Any:
        self.params = params
        raise ConnectionError(method)


@pytest.mark.parametrize("line", [f"sessions continue {SESSION}", "sessions --agent trimpoint"])
def test_a_request_about_sessions_names_the_folders_of_its_shell(
    line: str, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[Any] = []

    def keep(work: Any, arguments: Any, command: Any, *rest: Any) -> int:
        commands.append(command)
        return 0

    monkeypatch.setattr(event_loop, "run", keep)
    main(line.split())
    client = Recorder()
    _finish(commands[0](client))
    named = {name: one for name, one in client.params.items() if name.endswith("Home")}
    assert named == {
        "codexHome": "/there/codex",
        "claudeHome": "/there/claude",
        "geminiHome": "/there/.gemini",
    }


def _finish(work: Awaitable[int]) -> None:
    with pytest.raises(ConnectionError):
        work.__await__().send(None)
