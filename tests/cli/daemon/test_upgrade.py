"""A new command beside an old daemon: it says so, and replaces it when nothing is under way."""

import signal
from pathlib import Path

import anyio
import pytest
import trimpoint
from trimpoint.cli.connection.client import connect
from trimpoint.journal.storage.written_by import FILE_NAME
from trimpoint.testkit import held, say

from tests.chat.terminal import chat
from tests.cli.daemon.older import OLD, old_environment
from tests.cli.stage import CliHarness, Running

pytestmark = pytest.mark.codex
WAIT = ("daemon", "shutdown", "--when-idle", "--json")


@pytest.fixture
def old(stage: CliHarness, tmp_path: Path) -> dict[str, str]:
    """Returns the environment in which trimpoint is an older version."""
    return old_environment(stage, tmp_path)


async def said_that_it_waits(stage: CliHarness, waiting: Running) -> None:
    """Asserts that a command still waits after the daemon has refused to end."""
    for _ in range(2):
        assert (await stage.run("status")).code == 0
    assert waiting.process.returncode is None


async def test_an_old_daemon_is_replaced_when_its_agents_rest(
    stage: CliHarness, old: dict[str, str]
) -> None:
    release = anyio.Event()
    async with stage.running("serve", *stage.flags, env=old) as serve:
        await serve.said("listens on")
        told = await stage.run("threads")
        assert f"trimpoint {OLD}, this command is {trimpoint.__version__}" in told.err
        assert "daemon shutdown --when-idle" in " ".join(told.err.split())
        async with chat(stage) as terminal:
            await terminal.shows(f"An older daemon runs ({OLD}). Replace it: trimpoint daemon shut")
        async with connect(stage.socket) as client, anyio.create_task_group() as tasks:
            await client.initialize("test")
            thread = await stage.thread(client)
            stage.script.then(held(say("said to the end"), release))
            tasks.start_soon(stage.turn, client, thread, "prompt-1.")
            await stage.model.wait_for_request()
            async with stage.running(*WAIT) as waiting:
                await waiting.said("prompt-1.", "err")
                await said_that_it_waits(stage, waiting)
                release.set()
                assert await waiting.ended() == 0
                assert waiting.err.count("Waiting until no agent works: ") == 1
        assert await serve.ended() == 0
    assert (stage.state_dir / FILE_NAME).read_text() == f"{OLD}\n"
    async with stage.serving():
        shown = await stage.run("timeline", thread)
        assert "said to the end" in shown.out
        assert OLD not in shown.err
    assert (stage.state_dir / FILE_NAME).read_text() == f"{trimpoint.__version__}\n"


async def test_an_old_daemon_that_is_killed_while_it_is_replaced_loses_nothing(
    stage: CliHarness, old: dict[str, str]
) -> None:
    release = anyio.Event()
    async with stage.running("serve", *stage.flags, env=old) as serve:
        await serve.said("listens on")
        async with connect(stage.socket) as client:
            await client.initialize("test")
            thread = await stage.thread(client)
            await stage.turn(client, thread, "the first prompt")
            stage.script.then(held(say("never"), release))
            begun = {"threadId": thread, "input": [{"type": "text", "text": "the second prompt"}]}
            await client.request("turn/start", **begun)
            await stage.model.wait_for_request(1)
            async with stage.running(*WAIT) as waiting:
                await said_that_it_waits(stage, waiting)
                serve.process.send_signal(signal.SIGKILL)
                assert await waiting.ended() != 0
        await serve.ended()
    release.set()
    async with stage.serving():
        shown = await stage.run("timeline", thread)
        assert "the first prompt" in shown.out
        assert "the second prompt" in shown.out
        assert (await stage.run("daemon", "journal", "verify")).code == 0
        asked = await stage.run("ask", "--thread", thread, "the third prompt")
        assert asked.code == 0, asked.err


async def test_an_idle_daemon_ends_at_once(stage: CliHarness) -> None:
    async with stage.serving() as serve:
        done = await stage.run(*WAIT)
        assert done.json()["stopped"] is True
        assert await serve.ended() == 0
