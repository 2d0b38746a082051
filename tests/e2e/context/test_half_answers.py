"""What was said in a turn that ended in the middle of its answer stays in the history, and never
becomes part of the model's input: as without trimpoint.
"""

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
from trimpoint.testkit import failure, hang, say
from trimpoint.threads.unfinished_items import FILE_NAME

from tests.deadlines import SCENARIO_S, STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.daemon_process import daemon_process

pytestmark = pytest.mark.codex

HALF = "Half of an answer"


async def say_half(talk: Conversation, stop: anyio.Event, prompt: str) -> str:
    """Begins a turn, and returns its id once half of the answer has arrived."""
    talk.script.then(hang(HALF, until=stop))
    after = len(talk.client.messages)
    started = await talk.client.request(
        "turn/start", threadId=talk.thread_id, input=[{"type": "text", "text": prompt}]
    )
    await talk.client.expect(lambda one: one.get("method") == "item/agentMessage/delta", after)
    return str(started["turn"]["id"])


async def until_ended(talk: Conversation, turn_id: str) -> None:
    await talk.client.expect(
        lambda one: (
            one.get("method") == "turn/completed" and one["params"]["turn"]["id"] == turn_id
        ),
        0,
    )


@asynccontextmanager
async def interrupted(harness: Harness) -> AsyncGenerator[Conversation]:
    """Yields a conversation of three turns, of which the second was interrupted."""
    stop = anyio.Event()
    async with harness.conversation() as talk:
        await talk.turn()
        await talk.begin_act()
        with anyio.fail_after(STEP_S), talk.no_restart():
            turn_id = await say_half(talk, stop, "go")
            await talk.client.request("turn/interrupt", threadId=talk.thread_id, turnId=turn_id)
            await until_ended(talk, turn_id)
        stop.set()
        talk.turns += 1
        await talk.turn()
        yield talk


async def said(talk: Conversation) -> list[str]:
    return [one["text"] for one in await talk.timeline(expand="all", limit=100) if "text" in one]


ALL = ["prompt-1.", "answer-1.", "go", HALF, "prompt-3.", "answer-3."]


@pytest.mark.parametrize("restarts", [False, True])
async def test_it_is_recorded_in_its_turn_and_the_model_is_not_sent_it(
    harness: Harness, restarts: bool
) -> None:
    if restarts:
        harness.restart_before_each_act()
    async with interrupted(harness) as talk:
        assert await said(talk) == ALL
        assert not talk.model.turn_requests()[-1].mentions(HALF)
        await talk.begin_act()
        held = await talk.client.request("context/inspect", threadId=talk.thread_id)
        assert not any(HALF in one["preview"] for one in held["items"])
        for command in ("/clear 2", "/undo", "/clear 1", "/undo", "/compact 2", "/undo"):
            await talk.complete(command)
            request = await talk.turn()
            assert not request.mentions(HALF), command
            assert request.mentions("go") or command == "/clear 1"
            assert (await said(talk))[:4] == ALL[:4], command


async def test_a_fork_has_it_and_its_model_is_not_sent_it(harness: Harness) -> None:
    async with interrupted(harness) as talk:
        for fork in (
            await talk.fork(),
            await talk.fork(lastTurnId=(await talk.snapshot())["turns"][1]["id"]),
        ):
            assert (await said(fork))[:4] == ALL[:4]
            assert not (await fork.turn()).mentions(HALF)
        await talk.complete("/clear 2")
        fork = await talk.fork()
        assert not (await fork.turn()).mentions(HALF)
        assert (await said(fork))[:4] == ALL[:4]


async def test_a_revert_takes_it_back_with_its_turn_and_can_restore_it(harness: Harness) -> None:
    async with interrupted(harness) as talk:
        await talk.complete("/revert 1 --context")
        assert await said(talk) == ALL[:2]
        await talk.complete("/revert --undo")
        assert await said(talk) == ALL
        assert not (await talk.turn()).mentions(HALF)


async def test_what_was_said_before_codex_died_is_recorded(harness: Harness) -> None:
    stop = anyio.Event()
    async with harness.conversation() as talk:
        with anyio.fail_after(STEP_S):
            turn_id = await say_half(talk, stop, "go")
            os.kill(harness.child_pid(), signal.SIGKILL)
            await until_ended(talk, turn_id)
            stop.set()
            assert await said(talk) == ["go", HALF]
            await talk.until_codex_answers()
            request = await talk.turn()
        assert not request.mentions(HALF)
        assert (await said(talk))[:2] == ["go", HALF]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_what_was_said_before_the_daemon_ended_is_recorded(
    harness: Harness, how: signal.Signals
) -> None:
    stop = anyio.Event()
    async with daemon_process(harness) as process, harness.client() as client:
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
        with anyio.fail_after(SCENARIO_S):
            await talk.turn()
            await say_half(talk, stop, "go")
            while how is signal.SIGKILL and not _is_kept(harness):  # noqa: ASYNC110 (a file)
                await anyio.sleep(0.05)
            process.send_signal(how)
            await process.wait()
    stop.set()
    async with daemon_process(harness), harness.client() as client:
        talk = Conversation(client, talk.thread_id, harness.model, harness.script)
        talk.turns = 2
        assert await said(talk) == ALL[:4]
        request = await talk.turn()
        assert not request.mentions(HALF)
        assert request.mentions("go")
        assert await said(talk) == ALL


def _is_kept(harness: Harness) -> bool:
    file = harness.state_dir / FILE_NAME
    return file.exists() and HALF.encode() in file.read_bytes()


async def test_what_was_said_before_the_model_failed_is_recorded(harness: Harness) -> None:
    harness.script.then(say(HALF) + failure("server_error", "no more"))
    async with harness.conversation() as talk:
        turn = await talk.prompt("go")
        assert turn["status"] == "failed"
        assert await said(talk) == ["go", HALF]
        assert not (await talk.turn()).mentions(HALF)
