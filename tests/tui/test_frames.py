"""The same keys straight on Codex and through trimpoint: what is said differs in what is documented
and in nothing else (docs/codex-tui.md, "What differs").
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from trimpoint.testkit import codex_environment, config_flags, run, say

from tests.deadlines import SCENARIO_S, STEP_S
from tests.e2e.conftest import CODEX_BIN, Harness, opened_harness
from tests.e2e.conversation import AnswersByPrompt
from tests.tui.recording import Digest, Recording, recorded
from tests.tui.stage import BINARIES, terminal_ui
from tests.tui.terminal import Terminal

pytestmark = pytest.mark.codex

# The UI asks these when it begins, in an order that is not settled: sometimes before its thread.
_AT_THE_START = r"(answer|error|request) thread/(loaded/list|read|turns/list)"
# How much output one notification has depends on when the program's output was read.
_PIECES = r"item/(commandExecution/outputDelta|agentMessage/delta)"

# Nobody steers or interrupts here. The UI does, and marks a thread as read, by what it has seen of
# the end of a turn when the next keys come.
_BY_THE_END = r"(request|answer|error) (turn/(steer|interrupt)|thread/readState/update)"

NOISE = (
    rf"(ui|server) {_AT_THE_START}(:| \.)",
    rf"server notification ({_PIECES}|thread/readState/changed:)",
    rf"(ui|server) {_BY_THE_END}(:| \.)",
)
DOCUMENTED = (
    # The commands, as skills.
    r"server answer skills/list \.data\[\]\.skills\[\]\..*only second",
    # One Codex serves all clients.
    r"\.thread\.originator: only (first 'codex-tui'|second 'trimpoint')",
    # What a fork was before it was one.
    r"server (answer thread/fork|notification thread/started) \.thread\.preview:",
    # A compaction has no turn of its own, and its own call of the model is not counted.
    r"server answer thread/items/list .*(clientId|moderation):",
    r"server answer thread/(items|turns)/list \.backwardsCursor:",
    r"server notification thread/tokenUsage/updated",
    r"server notification warning(: |.*Long threads and multiple compactions)",
    # A trim opens a new thread of Codex, and gives it the name and settings.
    r"server notification thread/(name|settings)/updated: ",
)

# The UI takes no prompt before it has opened its thread, then asks this. Its screen shows neither.
_OPENS_A_THREAD = ("/fork", "/new")
_ONCE_OPENED = "skills/list"


async def _tour(terminal: Terminal, recording: Recording) -> None:
    """What a person does in an hour, typed."""
    for keys, wanted in (
        ("Say one thing.", "• one thing"),
        ("Run something.", "• ran it"),
        ("/rename my chat", "my chat"),
        ("/compact", "Context compacted"),
        ("After compaction.", "• after it"),
        ("/fork", "forked"),
        ("In the fork.", "• in it"),
        ("/new", "Ask Codex to do anything"),
        ("In the new.", "• new one"),
        ("!echo from-the-shell", "from-the-shell"),
    ):
        lists = recording.answers(_ONCE_OPENED)
        await terminal.types(keys)
        await terminal.shows(wanted)
        with anyio.fail_after(STEP_S):
            if keys in _OPENS_A_THREAD:
                await recording.until_answered(_ONCE_OPENED, lists + 1)
            await recording.until_at_rest()
        await terminal.shows(lambda text: "esc to interrupt" not in text)
    await terminal.types("/exit")
    await terminal.ends()


@asynccontextmanager
async def _codex_itself(harness: Harness) -> AsyncIterator[None]:
    """Codex's own server at the harness's socket."""
    environment = codex_environment(harness.codex_home) | {"HOME": str(harness.home)}
    listen = ["app-server", "--listen", f"unix://{harness.socket}"]
    harness.socket.parent.mkdir()
    with (harness.home / "codex.log").open("wb") as log:
        process = await anyio.open_process(
            [str(CODEX_BIN), *listen, *config_flags(harness.overrides)],
            stdin=None,
            stdout=log,
            stderr=log,
            env=environment,
            cwd=harness.worktree,
        )
    try:
        with anyio.fail_after(STEP_S):
            while not harness.socket.exists():
                await anyio.lowlevel.checkpoint()
        yield
    finally:
        with anyio.CancelScope(shield=True):
            process.kill()
            await process.wait()


async def _toured(codex: Path, *, straight: bool) -> Digest:
    script = AnswersByPrompt()
    script.when("Say one thing.", say("one thing"))
    script.when("Run something.", run("echo tool-output"), say("ran it"))
    script.when("After compaction.", say("after it"))
    script.when("In the fork.", say("in it"))
    script.when("In the new.", say("new one"))
    async with opened_harness(script=script) as harness:
        server = _codex_itself(harness) if straight else harness.daemon()
        place = harness.home / "recorder.sock"
        async with server, recorded(place, harness.socket) as recording:
            remote = ("--remote", f"unix://{place}", "-C", str(harness.worktree))
            async with terminal_ui(harness, codex, *remote) as terminal:
                await _tour(terminal, recording)
        return _digest(harness, recording)


def _digest(harness: Harness, recording: Recording) -> Digest:
    places = {
        str(harness.worktree): "WORKTREE",
        str(harness.codex_home): "CODEX_HOME",
        str(harness.home): "HOME",
        harness.model.base_url: "URL",
    }
    return Digest(recording.said, places)


@pytest.mark.parametrize("codex", BINARIES, ids=lambda path: "/".join(path.parts[-3:]))
async def test_the_ui_is_recognized_by_trimpoint_what_codex_tells_it(codex: Path) -> None:
    with anyio.fail_after(SCENARIO_S):
        straight = await _toured(codex, straight=True)
        through = await _toured(codex, straight=False)
    known = re.compile("|".join((*NOISE, *DOCUMENTED)))
    assert len(straight.counts) > 50
    assert [line for line in straight.differences(through) if not known.search(line)] == []
