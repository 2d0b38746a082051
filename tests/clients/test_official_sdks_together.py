"""Several of the official Python SDK (`openai-codex`) on one daemon."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.cli.stage import CODEX, DEADLINE_S, CliHarness
from tests.clients.sdk import CLEARED, configured, in_thread, is_ended, launcher, sdk, turns

# The SDK leaves the pipes of its child to the garbage collector.
pytestmark = [pytest.mark.codex, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@contextmanager
def two_sdks(stage: CliHarness) -> Iterator[tuple[Any, Any]]:
    """Yields two SDKs with a process each; the second one is closed first."""
    with sdk.Codex(configured(stage)) as first, sdk.Codex(configured(stage)) as second:
        yield first, second


def share_a_thread(stage: CliHarness) -> int:
    """Uses one thread from two SDKs, and returns the number of Codex processes."""
    with two_sdks(stage) as (first, second):
        mine = first.thread_start(cwd=str(stage.worktree))
        mine.run("hello 1")
        assert [thread.id for thread in second.thread_list().data] == [mine.id]
        theirs = second.thread_resume(mine.id)
        theirs.run("hello 2")
        assert mine.run("/clear 1").final_response.startswith(CLEARED)
        theirs.run("hello 3")
        assert turns(mine) == turns(theirs) == ["hello 1", "hello 2", "hello 3"]
        return len(codexes(stage))


def codexes(stage: CliHarness) -> list[int]:
    """Returns the process ids of the stage's processes that are Codex itself."""
    return [
        pid
        for pid in stage.codex_children()
        if Path(f"/proc/{pid}/exe").resolve() == CODEX.resolve()
    ]


async def test_two_of_them_share_one_daemon_and_its_threads(stage: CliHarness) -> None:
    assert await in_thread(share_a_thread, stage) == 1
    model_saw = stage.model.turn_requests()[-1]
    assert [model_saw.mentions(f"hello {turn}") for turn in (1, 2, 3)] == [False, True, True]
    assert await is_ended(stage)


async def test_beside_a_daemon_that_serves_they_attach_and_it_outlasts_them(
    stage: CliHarness,
) -> None:
    async with stage.serving():
        assert await in_thread(share_a_thread, stage) == 1
        listed = (await stage.run("status", "--json")).json()
        assert len(listed["threads"]) == 1
        assert len(codexes(stage)) == 1
    assert await is_ended(stage)


SCRIPT = """
import sys
from openai_codex import Codex, CodexConfig

with Codex(CodexConfig(codex_bin=sys.argv[1], config_overrides=tuple(sys.argv[2:]))) as codex:
    thread = codex.thread_start(cwd=".")
    print("started", flush=True)
    sys.stdin.readline()
    print(thread.run("What is in this project?").final_response, flush=True)
    print(thread.run("/clear").final_response, flush=True)
"""


@pytest.mark.parametrize("first_to_end", [0, 1])
async def test_two_scripts_that_start_without_a_daemon_both_finish_in_any_order(
    stage: CliHarness, first_to_end: int
) -> None:
    command = [sys.executable, "-c", SCRIPT, launcher(stage, *stage.command()), *stage.overrides]
    async with (
        await anyio.open_process(command, cwd=stage.worktree, stderr=None) as one,
        await anyio.open_process(command, cwd=stage.worktree, stderr=None) as other,
    ):
        scripts = [one, other] if first_to_end == 0 else [other, one]
        with anyio.fail_after(4 * DEADLINE_S):
            lines = [
                BufferedByteReceiveStream(script.stdout) for script in scripts if script.stdout
            ]
            for said in lines:
                assert await said.receive_until(b"\n", 100) == b"started"
            for script, said in zip(scripts, lines, strict=True):
                assert script.stdin is not None
                await script.stdin.send(b"\n")
                assert (await said.receive_until(b"\n", 1000)).startswith(b"reply")
                assert (await said.receive_until(b"\n", 1000)).startswith(b"Context cleared")
                assert await script.wait() == 0
    assert await is_ended(stage)
