"""A client that comes in the middle of a turn is told what was streamed of it so far."""

from typing import Any

import anyio
import pytest
from trimpoint.cli.connection.client import Client
from trimpoint.testkit import hang, run, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness

pytestmark = pytest.mark.codex


async def begin(client: Client, harness: Harness, **settings: Any) -> str:
    given = {"approvalPolicy": "never", "sandbox": "danger-full-access", **settings}
    started = await client.request("thread/start", cwd=str(harness.worktree), **given)
    thread_id = str(started["thread"]["id"])
    prompt = [{"type": "text", "text": "go"}]
    await client.request("turn/start", threadId=thread_id, input=prompt)
    return thread_id


async def live_items(client: Client, thread_id: str) -> list[dict[str, Any]]:
    shown = await client.request("orchestration/snapshot", threadId=thread_id)
    followed = await client.request("orchestration/subscribeThread", threadId=thread_id)
    assert shown["live"] == followed["live"]
    return [one["item"] for one in shown["live"]]


async def test_a_second_client_sees_the_answer_so_far_and_what_follows(harness: Harness) -> None:
    stop = anyio.Event()
    harness.script.then(hang("The first half", until=stop))
    async with harness.daemon(), harness.client() as first, harness.client("late") as late:
        with anyio.fail_after(STEP_S):
            thread_id = await begin(first, harness)
            await first.received("item/agentMessage/delta")
            await late.request("thread/resume", threadId=thread_id, excludeTurns=True)
            [item] = await live_items(late, thread_id)
            assert (item["type"], item["text"]) == ("agentMessage", "The first half")
            stop.set()
            await late.received("turn/completed")
            assert await live_items(late, thread_id) == []


async def test_a_second_client_sees_what_a_running_command_has_printed(
    harness: Harness,
) -> None:
    harness.script.then(run("sleep 0.3; echo last; cat fifo"), say("done"))
    async with harness.daemon(), harness.client() as first, harness.client("late") as late:
        await anyio.run_process(["mkfifo", str(harness.worktree / "fifo")])
        with anyio.fail_after(STEP_S):
            thread_id = await begin(first, harness)
            await first.expect(
                lambda one: (
                    one["method"] == "item/commandExecution/outputDelta"
                    and "last" in one["params"]["delta"]
                )
            )
            item = (await live_items(late, thread_id))[-1]
            await anyio.Path(harness.worktree / "fifo").write_text("through\n")
            await first.received("turn/completed")
    assert item["type"] == "commandExecution"
    assert item["aggregatedOutput"] == "last\n"


async def test_a_question_about_files_can_be_shown_whole_by_a_client_that_comes_later(
    harness: Harness,
) -> None:
    patch = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\n"
    harness.script.then(run(f"apply_patch <<'EOF'\n{patch}EOF"), say("done"))
    async with harness.daemon(), harness.client() as first, harness.client("late") as late:
        with anyio.fail_after(STEP_S):
            thread_id = await begin(first, harness, approvalPolicy="untrusted", sandbox="read-only")
            question = await first.received("item/fileChange/requestApproval")
            items = await live_items(late, thread_id)
            await first.request("turn/interrupt", threadId=thread_id, turnId="")
            await first.received("turn/completed")
    [change] = [one for one in items if one["id"] == question["params"]["itemId"]]
    assert change["changes"][0]["path"].endswith("new.txt")
    assert "hello" in change["changes"][0]["diff"]
