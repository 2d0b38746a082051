"""The queue of prompts belongs to the daemon: it is sent in order, at most once, for every thread,
opened or not, and is kept over the death of the daemon and of Codex.
"""

import os
import signal
from typing import Any

import anyio
import pytest
from trimpoint.cli.connection.client import Client
from trimpoint.testkit import ModelRequest, held, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.daemon_process import daemon_process, kill

pytestmark = pytest.mark.codex

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "url": f"data:image/png;base64,{PIXEL}"}


def text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}]


def prompts(request: ModelRequest) -> list[str]:
    """Returns the prompts in a request, without what Codex adds."""
    said = [
        "".join(
            text for part in item["content"] if not (text := part.get("text", "<")).startswith("<")
        )
        for item in request.input
        if item.get("role") == "user"
    ]
    return [one for one in said if one]


async def dispatch(client: Client, thread_id: str, kind: str, **members: Any) -> dict[str, Any]:
    given = {"type": f"thread.queue.{kind}", "threadId": thread_id, **members}
    return dict(await client.request("orchestration/dispatch", command=given))


async def queue(client: Client, thread_id: str, *words: str) -> list[str]:
    """Queues these prompts, and returns their ids."""
    answers = [
        await dispatch(client, thread_id, "add", commandId=f"add {one}", input=text(one))
        for one in words
    ]
    return [answer["events"][0]["payload"]["promptId"] for answer in answers]


async def snapshot(client: Client, thread_id: str) -> dict[str, Any]:
    answer = await client.request("orchestration/snapshot", threadId=thread_id)
    return dict(answer["thread"])


async def running_thread(client: Client, harness: Harness, may_end: anyio.Event) -> str:
    """Returns the id of a thread whose turn runs until `may_end` is set."""
    settings = {"approvalPolicy": "never", "sandbox": "danger-full-access"}
    started = await client.request("thread/start", cwd=str(harness.worktree), **settings)
    thread_id = str(started["thread"]["id"])
    harness.script.then(held(say("first answer"), may_end))
    await client.request("turn/start", threadId=thread_id, input=text("first"))
    await harness.model.wait_for_request()
    return thread_id


def _is_event(message: dict[str, Any], kind: str) -> bool:
    return bool(message["method"] == "orchestration/event" and message["params"]["type"] == kind)


async def last_request(harness: Harness, prompt: str) -> ModelRequest:
    """Waits until the model was sent this prompt, and returns the request."""
    return await harness.model.wait_for_request(
        lambda request: request.kind == "turn" and prompts(request)[-1:] == [prompt]
    )


async def test_prompts_are_sent_in_order_with_nobody_connected(harness: Harness) -> None:
    may_end = anyio.Event()
    with anyio.fail_after(STEP_S):
        async with harness.daemon():
            async with harness.client() as client:
                thread_id = await running_thread(client, harness, may_end)
                one, two, three = await queue(client, thread_id, "one", "two", "three")
                await dispatch(
                    client, thread_id, "update",
                    commandId="edit", promptId=two, input=[*text("TWO"), IMAGE],
                )  # fmt: skip
                await dispatch(client, thread_id, "reorder", commandId="order", promptIds=[three])
                await dispatch(client, thread_id, "delete", commandId="delete", promptId=one)
                shown = (await snapshot(client, thread_id))["queue"]
                assert [prompt["id"] for prompt in shown] == [three, two]
                assert shown[1]["input"] == [*text("TWO"), IMAGE]
            may_end.set()
            request = await last_request(harness, "TWO")
            async with harness.client() as client:
                assert (await snapshot(client, thread_id))["queue"] == []
    assert prompts(request) == ["first", "three", "TWO"]
    assert PIXEL in str(request.input[-1]["content"])


async def test_a_repeated_command_queues_its_prompt_once(harness: Harness) -> None:
    may_end = anyio.Event()
    async with harness.daemon(), harness.client() as client:
        with anyio.fail_after(STEP_S):
            thread_id = await running_thread(client, harness, may_end)
            assert await queue(client, thread_id, "one") == await queue(client, thread_id, "one")
            may_end.set()
            await last_request(harness, "one")
    assert len(harness.model.turn_requests()) == 2


async def test_the_queue_continues_after_the_daemon_was_killed(harness: Harness) -> None:
    never = anyio.Event()
    with anyio.fail_after(2 * STEP_S):
        async with daemon_process(harness) as daemon, harness.client() as client:
            thread_id = await running_thread(client, harness, never)
            await queue(client, thread_id, "one", "two")
            await kill(daemon)
        async with harness.daemon():  # nobody opens the thread
            request = await last_request(harness, "two")
            async with harness.client() as client:
                assert (await snapshot(client, thread_id))["queue"] == []
    assert prompts(request) == ["first", "one", "two"]


@pytest.mark.parametrize("delay_s", [0.0, 0.002, 0.005, 0.01, 0.02, 0.05])
async def test_a_prompt_is_sent_once_if_the_daemon_is_killed_while_it_is_sent(
    harness: Harness, delay_s: float
) -> None:
    may_end, killed = anyio.Event(), anyio.Event()
    with anyio.fail_after(2 * STEP_S):
        async with daemon_process(harness) as daemon, harness.client() as client:
            thread_id = await running_thread(client, harness, may_end)
            # Else "two" may be cut off too: Codex has it then, and it is not sent again.
            harness.script.then(held(say("second answer"), killed))
            await queue(client, thread_id, "one", "two")
            await client.request("orchestration/subscribeThread", threadId=thread_id)
            may_end.set()
            await client.expect(lambda one: _is_event(one, "thread.turn-requested"))
            await anyio.sleep(delay_s)  # any moment in which the prompt is on its way
            await kill(daemon)
        killed.set()
        async with harness.daemon(), harness.client() as client:
            request = await last_request(harness, "two")
            shown = await client.request("timeline/read", threadId=thread_id, limit=20)
    # Codex may have begun its turn and not stored the prompt: then it is sent again.
    assert prompts(request) == ["first", "one", "two"]
    said = [one["text"] for one in shown["entries"] if one.get("role") == "user"]
    assert said == ["first", "one", "two"]


async def test_the_queue_continues_after_codex_was_killed(harness: Harness) -> None:
    never = anyio.Event()
    async with harness.daemon(), harness.client() as client:
        with anyio.fail_after(STEP_S):
            thread_id = await running_thread(client, harness, never)
            await queue(client, thread_id, "one", "two")
            os.kill(harness.child_pid(), signal.SIGKILL)
            request = await last_request(harness, "two")
    assert prompts(request) == ["first", "one", "two"]


async def test_an_interrupt_holds_the_queue_until_it_is_released(harness: Harness) -> None:
    never = anyio.Event()
    async with harness.daemon(), harness.client() as client:
        with anyio.fail_after(STEP_S):
            thread_id = await running_thread(client, harness, never)
            await queue(client, thread_id, "one", "two")
            await client.request("turn/interrupt", threadId=thread_id, turnId="")
            await client.received("turn/completed")
            shown = await snapshot(client, thread_id)
            assert shown["queueHold"] == {"reason": "interrupted", "message": ""}
            assert len(shown["queue"]) == 2
            await dispatch(client, thread_id, "start", commandId="release")
            request = await last_request(harness, "two")
    assert prompts(request) == ["first", "one", "two"]


async def test_codex_methods_work_on_the_same_queue(harness: Harness) -> None:
    never = anyio.Event()
    async with harness.daemon(), harness.client() as client:
        with anyio.fail_after(STEP_S):
            thread_id = await running_thread(client, harness, never)

            async def ask(method: str, **params: Any) -> Any:
                return await client.request(f"thread/queue/{method}", threadId=thread_id, **params)

            [one] = await queue(client, thread_id, "one")
            added = await ask("add", clientUserMessageId="mine", input=text("two"))
            two = added["queuedSubmission"]["id"]
            await ask("update", queuedSubmissionId=one, input=text("ONE"))
            await ask("reorder", queuedSubmissionIds=[two, one])
            listed = (await ask("list"))["data"]
            assert [(row["id"], row["input"]) for row in listed] == [
                (two, text("two")),
                (one, text("ONE")),
            ]
            assert listed[0]["clientUserMessageId"] == "mine"
            assert await ask("delete", queuedSubmissionId=two) == {"deleted": True}
            assert await ask("delete", queuedSubmissionId=two) == {"deleted": False}
            assert any(one["method"] == "thread/queue/changed" for one in client.notifications)
            await client.request("turn/interrupt", threadId=thread_id, turnId="")
            await client.received("turn/completed")
            begun = (await ask("start"))["turn"]
            assert begun["status"] == "inProgress"
            request = await last_request(harness, "ONE")
            assert (await ask("list"))["data"] == []
    assert prompts(request) == ["first", "ONE"]
