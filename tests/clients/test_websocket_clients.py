"""Third-party clients over WebSocket and through their own adapter: each runs the same program
directly with Codex and with trimpoint, and prints the same except for the command
(docs/clients.md).
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
import msgspec
import pytest
from trimpoint.config.sections import HttpSection
from trimpoint.http.access.token_file import token_at
from trimpoint.testkit import codex_environment, config_flags, run, say

from tests.deadlines import SCENARIO_S, STEP_S
from tests.e2e.conftest import CODEX_BIN, Harness, opened_harness
from tests.e2e.conversation import AnswersByPrompt
from tests.e2e.expectation import Piece, pieces
from tests.ports import free_port
from tests.tools import VENV, missing

pytestmark = pytest.mark.codex

PROGRAMS = Path(__file__).parent / "programs"
NPM = VENV / "npm" / "node_modules"
NEWER_PYTHON = VENV / "clients" / "bin" / "python"


class Program(NamedTuple):
    """A client program. `command` precedes the address, the token and the folder; `needs` must be
    installed.
    """

    command: tuple[str, ...]
    needs: Path
    package: str


WEBSOCKET_SDK = Program(
    (str(NEWER_PYTHON), str(PROGRAMS / "websocket_sdk.py")), NEWER_PYTHON, "codex-app-server-sdk"
)
RAW = Program(("node", str(PROGRAMS / "raw_websocket.mjs"), str(NPM)), NPM / "ws", "ws")


def scripted() -> AnswersByPrompt:
    script = AnswersByPrompt()
    for word in ("one", "two", "three", "four"):
        script.when(f"Say {word}.", say(f"it is {word}"))
    script.when("Run something.", run("echo from-the-tool"), say("it ran"))
    script.when("/clear 1", say("I am the model."))
    return script


@asynccontextmanager
async def codex_listening(harness: Harness, port: int) -> AsyncGenerator[None, None]:
    """Runs Codex's own server at a TCP port."""
    environment = codex_environment(harness.codex_home) | {"HOME": str(harness.home)}
    listen = ["app-server", "--listen", f"ws://127.0.0.1:{port}"]
    process = await anyio.open_process(
        [str(CODEX_BIN), *listen, *config_flags(harness.overrides)],
        stdin=None,
        stdout=None,
        stderr=None,
        env=environment,
        cwd=harness.worktree,
    )
    try:
        with anyio.fail_after(STEP_S):
            while not await _answers(port):
                await anyio.lowlevel.checkpoint()
        yield
    finally:
        with anyio.CancelScope(shield=True):
            process.kill()
            await process.wait()


async def _answers(port: int) -> bool:
    try:
        async with await anyio.connect_tcp("127.0.0.1", port):
            return True
    except OSError:
        return False


async def printed(program: Program, *, straight: bool) -> tuple[list[str], list[str]]:
    """Returns the program's output, and the model's input with the last prompt."""
    port = free_port()
    async with opened_harness(script=scripted()) as harness:
        harness.config = msgspec.structs.replace(
            harness.config, http=HttpSection(f"127.0.0.1:{port}")
        )
        token = token_at(harness.state_dir)
        async with codex_listening(harness, port) if straight else harness.daemon():
            arguments = (f"ws://127.0.0.1:{port}", token, str(harness.worktree))
            done = await anyio.run_process([*program.command, *arguments], check=False, stderr=-2)
        assert done.returncode == 0, done.stdout.decode()
        asked = [
            request
            for request in harness.model.turn_requests()
            if pieces(request.input)[-1] == Piece("user", "Say four.")
        ]
    shown = [piece.text for piece in pieces(asked[-1].input) if piece.kind == "user"]
    return done.stdout.decode().splitlines(), shown


@pytest.mark.parametrize("program", [WEBSOCKET_SDK, RAW], ids=lambda program: program.package)
async def test_a_websocket_client_gets_the_same_messages_and_commands(program: Program) -> None:
    if not program.needs.exists():
        missing(program.package)
    with anyio.fail_after(SCENARIO_S):
        on_codex, shown_by_codex = await printed(program, straight=True)
        through, shown = await printed(program, straight=False)
    [typed] = [line for line in through if line.startswith("typed")]
    assert "Context cleared: 4 messages in 2 turns left it, the last turn kept." in typed
    assert [line for line in through if line != typed] == [
        line for line in on_codex if not line.startswith("typed")
    ]
    assert shown == ["Run something.", "Say four."]
    assert shown_by_codex == ["Say one.", "Say two.", "Run something.", "/clear 1", "Say four."]
