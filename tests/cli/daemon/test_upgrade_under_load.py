"""A new command beside an old daemon at work, which is killed at some moment of its replacement."""

import random
import signal
from pathlib import Path

import anyio
import pytest
import trimpoint
from trimpoint.cli.connection.client import Client, connect
from trimpoint.journal.storage.written_by import FILE_NAME
from trimpoint.testkit import ModelRequest, held, say

from tests.cli.daemon.older import OLD, old_environment
from tests.cli.stage import CliHarness
from tests.deadlines import SCENARIO_S

pytestmark = pytest.mark.codex
WAIT = ("daemon", "shutdown", "--when-idle", "--json")
QUEUED = ("queued-1", "queued-2", "queued-3")
PROMPTS = ("before", "running", *QUEUED)
# One for each turn that runs while the old daemon is being replaced.
MOMENTS = ("running", *QUEUED)


@pytest.mark.parametrize("seed", range(12))
async def test_nothing_is_lost_when_an_old_daemon_is_killed_during_its_replacement(
    stage: CliHarness, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    release = {prompt: anyio.Event() for prompt in MOMENTS}
    last = chance.choice(MOMENTS)
    is_answered = chance.random() < 0.5
    with anyio.fail_after(2 * SCENARIO_S):
        env = old_environment(stage, tmp_path)
        async with stage.running("serve", *stage.flags, env=env) as serve:
            await serve.said("listens on")
            async with connect(stage.socket) as client:
                await client.initialize("test")
                thread = await stage.thread(client)
                await stage.turn(client, thread, "prompt before.")
                for prompt in MOMENTS:
                    stage.script.then(held(say(f"answer to {prompt}"), release[prompt]))
                running = [{"type": "text", "text": "prompt running."}]
                await client.request("turn/start", threadId=thread, input=running)
                await sent(stage, "running")
                for prompt in QUEUED:
                    await queue(client, thread, prompt)
            told = await stage.run("threads")
            assert f"trimpoint {OLD}, this command is {trimpoint.__version__}" in told.err
            async with stage.running(*WAIT) as waiting:
                for prompt in MOMENTS[: MOMENTS.index(last)]:
                    release[prompt].set()
                await sent(stage, last)
                assert waiting.process.returncode is None, "work was under way all the time"
                if is_answered:
                    release[last].set()
                await anyio.sleep(chance.uniform(0, 0.3))
                serve.process.send_signal(signal.SIGKILL)
                await waiting.ended()
            await serve.ended()
        for event in release.values():
            event.set()
        await replaced(stage, thread)


async def sent(stage: CliHarness, prompt: str) -> None:
    """Waits until the model was sent a prompt."""

    def has_it(request: ModelRequest) -> bool:
        return request.kind == "turn" and f"prompt {prompt}." in str(request.input[-1])

    await stage.model.wait_for_request(has_it)


async def queue(client: Client, thread: str, prompt: str) -> None:
    given = {"type": "thread.queue.add", "threadId": thread, "commandId": prompt}
    words = [{"type": "text", "text": f"prompt {prompt}."}]
    await client.request("orchestration/dispatch", command={**given, "input": words})


async def replaced(stage: CliHarness, thread: str) -> None:
    """Asserts that the new daemon has each prompt once, sends what is left, and goes on."""
    async with stage.serving(), connect(stage.socket) as client:
        await client.initialize("test")
        await sent(stage, QUEUED[-1])
        await rests(client, thread)
        shown = await stage.run("timeline", thread, "--expand", "all")
        assert OLD not in shown.err
        assert {
            prompt: shown.out.count(f"prompt {prompt}.") for prompt in PROMPTS
        } == dict.fromkeys(PROMPTS, 1), shown.out
        assert (await stage.run("daemon", "journal", "verify")).code == 0
        await stage.turn(client, thread, "after")
    assert (stage.state_dir / FILE_NAME).read_text() == f"{trimpoint.__version__}\n"


async def rests(client: Client, thread: str) -> None:
    """Waits until no turn runs and no prompt waits."""
    while True:
        queue = (await client.request("orchestration/snapshot", threadId=thread))["thread"]["queue"]
        [found] = (await client.request("orchestration/snapshot"))["threads"]
        if found["busy"] is None and not queue:
            return
        await anyio.sleep(0.05)
