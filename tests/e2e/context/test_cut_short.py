"""A command or an edit that was declined, or under way when its turn was interrupted, has its row
in the history, whatever ended it. The model's input stays as without trimpoint.
"""

from typing import Any

import anyio
import pytest
from trimpoint.cli.connection.client import Client
from trimpoint.testkit import run, say

from tests.deadlines import STEP_S
from tests.e2e.clients.asking import COMMAND, FILE_CHANGE, PATCH
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.daemon_process import daemon_process

pytestmark = pytest.mark.codex

RUNNING = "sleep 0.3; echo begun; cat fifo"


async def begin(client: Client, harness: Harness, policy: str, command: str) -> tuple[str, str]:
    """Begins a turn in which the agent runs the command. Returns the ids of thread and turn."""
    harness.script.then(run(command), say("done"))
    started = await client.request(
        "thread/start",
        cwd=str(harness.worktree),
        approvalPolicy=policy,
        sandbox="danger-full-access",
    )
    thread_id = str(started["thread"]["id"])
    prompt = [{"type": "text", "text": "go"}]
    turn = await client.request("turn/start", threadId=thread_id, input=prompt)
    return thread_id, str(turn["turn"]["id"])


async def activity(client: Client, thread_id: str) -> dict[str, Any]:
    """Returns the one activity of the thread's timeline."""
    timeline = await client.request("timeline/read", threadId=thread_id)
    [row] = [one for one in timeline["entries"] if one["kind"] == "activity"]
    return dict(row["detail"])


async def until_printed(client: Client) -> None:
    await client.expect(
        lambda one: (
            one["method"] == "item/commandExecution/outputDelta"
            and "begun" in one["params"]["delta"]
        )
    )


@pytest.mark.parametrize("how", ["decline", "cancel", "interrupt"])
@pytest.mark.parametrize(
    ("question", "command"), [(COMMAND, "touch x && rm x"), (FILE_CHANGE, PATCH)]
)
async def test_what_a_person_has_not_allowed_is_declined(
    harness: Harness, how: str, question: str, command: str
) -> None:
    async with harness.daemon(), harness.client() as client:
        with anyio.fail_after(STEP_S):
            thread_id, turn_id = await begin(client, harness, "untrusted", command)
            asked = await client.received(question)
            if how == "interrupt":
                await client.request("turn/interrupt", threadId=thread_id, turnId=turn_id)
            else:
                client.answer(asked, {"decision": how})
            await client.received("turn/completed")
            shown = await activity(client, thread_id)
    assert shown["status"] == "declined"


@pytest.mark.parametrize("policy", ["never", "untrusted"])
async def test_a_command_that_ran_when_its_turn_was_interrupted_has_failed_with_what_it_printed(
    harness: Harness, policy: str
) -> None:
    async with harness.daemon(), harness.client() as client:
        await anyio.run_process(["mkfifo", str(harness.worktree / "fifo")])
        with anyio.fail_after(STEP_S):
            thread_id, turn_id = await begin(client, harness, policy, RUNNING)
            if policy == "untrusted":
                client.answer(await client.received(COMMAND), {"decision": "accept"})
            await until_printed(client)
            await client.request("turn/interrupt", threadId=thread_id, turnId=turn_id)
            await client.received("turn/completed")
            shown = await activity(client, thread_id)
            talk = Conversation(client, thread_id, harness.model, harness.script)
            request = await talk.turn()
            again = await activity(client, thread_id)
    assert (shown["status"], shown["aggregatedOutput"]) == ("failed", "begun\n")
    assert again == shown
    assert request.mentions("cat fifo")  # Codex keeps the call


async def test_a_command_that_ran_when_the_daemon_ended_is_in_the_history(
    harness: Harness,
) -> None:
    await anyio.run_process(["mkfifo", str(harness.worktree / "fifo")])
    async with daemon_process(harness) as process, harness.client() as client:
        with anyio.fail_after(STEP_S):
            thread_id, _ = await begin(client, harness, "never", RUNNING)
            await until_printed(client)
            process.terminate()
            await process.wait()
    async with daemon_process(harness), harness.client() as client:
        with anyio.fail_after(STEP_S):
            shown = await activity(client, thread_id)
            talk = Conversation(client, thread_id, harness.model, harness.script)
            await talk.turn()
            again = await activity(client, thread_id)
    assert (shown["status"], shown["aggregatedOutput"]) == ("failed", "begun\n")
    assert again["command"] == shown["command"]
