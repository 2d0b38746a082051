"""Codex's requests to clients, with the real Codex: approvals, user input and tool calls, with
clients of every kind (docs/spec/clients.md).

Whether an answer has arrived is seen from the agent's next action: a file that exists or not, or
the model's next input.
"""

import os
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from trimpoint.testkit import ModelRequest, Reply, call, run, say

from tests.e2e import asking_mcp_server
from tests.e2e.conftest import Harness
from tests.e2e.wire import JsonRpcClient, Message, connect_socket

pytestmark = pytest.mark.codex

COMMAND = "item/commandExecution/requestApproval"
FILE_CHANGE = "item/fileChange/requestApproval"
TOOL = "item/tool/call"
USER_INPUT = "item/tool/requestUserInput"
ELICITATION = "mcpServer/elicitation/request"
ASK_A_PERSON = {
    "type": "function_call",
    "namespace": "mcp__asking",
    "name": "ask",
    "arguments": "{}",
}
ACCEPT, DECLINE = {"decision": "accept"}, {"decision": "decline"}
LOOKUP = {
    "name": "lookup",
    "description": "Look something up.",
    "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
}
PATCH = (
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: patched.txt\n+hello\n*** End Patch\nEOF\n"
)


class Setup:
    """A daemon, clients, and a thread whose agent asks for approval before each action."""

    def __init__(self, harness: Harness, stack: AsyncExitStack) -> None:
        self.harness = harness
        self._stack = stack
        self.thread_id = ""

    async def client(self, name: str = "client") -> JsonRpcClient:
        wire = await self._stack.enter_async_context(connect_socket(self.harness.socket))
        await wire.initialize(name)
        return wire

    async def joined(self, name: str = "joined") -> JsonRpcClient:
        wire = await self.client(name)
        await wire.result("thread/resume", threadId=self.thread_id)
        return wire

    async def begin(self, wire: JsonRpcClient, **params: Any) -> None:
        """Starts a thread for `wire`, whose agent asks before each command unless `params` say
        otherwise.
        """
        settings = {
            "cwd": str(self.harness.worktree),
            "approvalPolicy": "untrusted",
            "sandbox": "danger-full-access",
            **params,
        }
        self.thread_id = (await wire.result("thread/start", **settings))["thread"]["id"]

    async def prompt(self, wire: JsonRpcClient, *replies: Reply) -> str:
        """Starts a turn in which the model sends `replies` and then a message, and returns the
        turn's id.
        """
        self.harness.script.then(*replies)
        answer = await wire.result(
            "turn/start", threadId=self.thread_id, input=[{"type": "text", "text": "go on"}]
        )
        return str(answer["turn"]["id"])

    async def ended(self, wire: JsonRpcClient, turn_id: str) -> str:
        message = await wire.until(
            lambda one: (
                one.get("method") == "turn/completed" and one["params"]["turn"]["id"] == turn_id
            )
        )
        return str(message["params"]["turn"]["status"])

    @property
    def made(self) -> Path:
        return self.harness.worktree / "made.txt"


def touch() -> Reply:
    return run("touch made.txt && echo made-it")


def told(harness: Harness) -> str:
    """Returns the last output of a tool call in the model's newest input."""
    outputs = [
        item for item in harness.model.turn_requests()[-1].input if item["type"].endswith("_output")
    ]
    return str(outputs[-1]["output"])


async def reply(wire: JsonRpcClient, question: Message, result: Any) -> None:
    await wire.send({"id": question["id"], "result": result})


async def decline_to_answer(wire: JsonRpcClient, question: Message) -> None:
    await wire.send(
        {"id": question["id"], "error": {"code": -32601, "message": "Method not found"}}
    )


def resolved(wire: JsonRpcClient, question: Message) -> list[Message]:
    return [
        message
        for message in wire.received
        if message.get("method") == "serverRequest/resolved"
        and message["params"]["requestId"] == question["id"]
    ]


async def scene_in(harness: Harness, stack: AsyncExitStack) -> Setup:
    await stack.enter_async_context(harness.daemon())
    return Setup(harness, stack)


@pytest.mark.parametrize(("decision", "is_made"), [("accept", True), ("decline", False)])
async def test_a_command_runs_when_a_client_accepts_it_and_only_then(
    harness: Harness, decision: str, is_made: bool
) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        wire = await setup.client()
        await setup.begin(wire)
        turn_id = await setup.prompt(wire, touch())
        question = await wire.received_after(COMMAND, threadId=setup.thread_id, turnId=turn_id)
        assert not setup.made.exists()
        await reply(wire, question, {"decision": decision})
        assert await setup.ended(wire, turn_id) == "completed"
        assert len(resolved(wire, question)) == 1
    assert setup.made.exists() is is_made
    assert ("made-it" in told(harness)) is is_made


@pytest.mark.parametrize(("decision", "is_made"), [("accept", True), ("decline", False)])
async def test_a_change_of_files_is_made_when_a_client_accepts_it_and_only_then(
    harness: Harness, decision: str, is_made: bool
) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        wire = await setup.client()
        await setup.begin(wire)
        turn_id = await setup.prompt(wire, run(PATCH))
        question = await wire.received_after(FILE_CHANGE, threadId=setup.thread_id)
        await reply(wire, question, {"decision": decision})
        await setup.ended(wire, turn_id)
        assert len(resolved(wire, question)) == 1
    assert (harness.worktree / "patched.txt").exists() is is_made


async def test_a_tool_of_the_clients_own_gives_the_model_what_the_client_says(
    harness: Harness,
) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        wire = await setup.client()
        await setup.begin(wire, dynamicTools=[LOOKUP])
        turn_id = await setup.prompt(
            wire, call("lookup", {"q": "answer", "threadId": setup.thread_id})
        )
        question = await wire.received_after(TOOL, threadId=setup.thread_id)
        assert question["params"]["arguments"] == {"q": "answer", "threadId": setup.thread_id}
        await reply(
            wire,
            question,
            {"contentItems": [{"type": "inputText", "text": "it is 42"}], "success": True},
        )
        await setup.ended(wire, turn_id)
    assert told(harness) == "it is 42"


async def test_a_person_is_asked_and_the_model_told_what_they_chose(harness: Harness) -> None:
    harness.overrides.append("features.default_mode_request_user_input=true")
    options = [
        {"label": "Red (Recommended)", "description": "warm"},
        {"label": "Blue", "description": "cold"},
    ]
    asked = {
        "questions": [
            {"id": "colour", "header": "Colour", "question": "Which one?", "options": options}
        ]
    }
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        wire = await setup.client()
        await setup.begin(wire)
        turn_id = await setup.prompt(wire, call("request_user_input", asked))
        question = await wire.received_after(USER_INPUT, threadId=setup.thread_id)
        await reply(wire, question, {"answers": {"colour": {"answers": ["Blue"]}}})
        await setup.ended(wire, turn_id)
    assert "Blue" in told(harness)


async def test_an_mcp_server_asks_through_every_client_and_is_told_what_was_said(
    harness: Harness,
) -> None:
    server = Path(asking_mcp_server.__file__)
    harness.overrides.append(f'mcp_servers.asking={{command="{sys.executable}",args=["{server}"]}}')
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        one = await setup.client("one")
        await setup.begin(one, approvalPolicy="on-request")
        two = await setup.joined("two")
        await one.received_after("mcpServer/startupStatus/updated", status="ready")
        turn_id = await setup.prompt(one, Reply(items=[ASK_A_PERSON]))
        allowed = await two.received_after(ELICITATION)
        await reply(two, allowed, {"action": "accept", "content": {}})
        await one.received_after("serverRequest/resolved", requestId=allowed["id"])
        question = await one.received_after(ELICITATION, message="Which one?")
        assert await two.received_after(ELICITATION, message="Which one?") == question
        await decline_to_answer(two, question)
        await reply(one, question, {"action": "accept", "content": {"colour": "blue"}})
        assert await setup.ended(two, turn_id) == "completed"
    assert "blue" in told(harness)


async def test_the_first_answer_wins_whoever_gives_it_and_a_second_changes_nothing(
    harness: Harness,
) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        one = await setup.client("one")
        await setup.begin(one)
        two, bystander = await setup.joined("two"), await setup.client("bystander")
        turn_id = await setup.prompt(one, touch())
        question = await one.received_after(COMMAND)
        assert await two.received_after(COMMAND) == question
        await reply(two, question, DECLINE)
        await one.received_after("serverRequest/resolved", requestId=question["id"])
        await reply(one, question, ACCEPT)
        await one.received_after("sidecar/answerIgnored", requestId=question["id"])
        await setup.ended(one, turn_id)
        await setup.ended(two, turn_id)
        assert [len(resolved(wire, question)) for wire in (one, two, bystander)] == [1, 1, 0]
        assert COMMAND not in bystander.methods()
    assert not setup.made.exists()


async def test_method_not_found_of_one_client_leaves_the_question_to_the_other(
    harness: Harness,
) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        one = await setup.client("one")
        await setup.begin(one)
        two = await setup.joined("two")
        turn_id = await setup.prompt(one, touch())
        question = await two.received_after(COMMAND)
        await decline_to_answer(one, await one.received_after(COMMAND))
        await one.settled()
        assert resolved(two, question) == []
        await reply(two, question, ACCEPT)
        assert await setup.ended(two, turn_id) == "completed"
        assert len(resolved(one, question)) == len(resolved(two, question)) == 1
    assert setup.made.exists()


async def test_a_question_waits_for_a_client_and_is_sent_after_the_answer_to_its_resume(
    harness: Harness,
) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        first = await setup.client()
        await setup.begin(first)
        turn_id = await setup.prompt(first, touch())
        await first.received_after(COMMAND)
        await first.abort()
        late = await setup.joined("late")
        question = await late.received_after(COMMAND)
        resume = next(
            position for position, message in enumerate(late.received) if message.get("id") == "w2"
        )
        assert late.received.index(question) > resume
        await reply(late, question, ACCEPT)
        assert await setup.ended(late, turn_id) == "completed"
    assert setup.made.exists()


async def test_the_agent_waits_when_it_asks_without_a_client(harness: Harness) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        first = await setup.client()
        await setup.begin(first)
        watcher = await setup.client("watcher")
        await setup.prompt(first, touch())
        await first.abort()
        await watcher.until(
            lambda one: "waitingOnApproval" in str(one.get("params", {}).get("status"))
        )
        assert not setup.made.exists()
        late = await setup.joined("late")
        await reply(late, await late.received_after(COMMAND), ACCEPT)
        await late.received_after("turn/completed")
    assert setup.made.exists()


async def test_a_second_resume_repeats_the_question_under_the_same_id(harness: Harness) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        wire = await setup.client()
        await setup.begin(wire)
        turn_id = await setup.prompt(wire, touch())
        question = await wire.received_after(COMMAND)
        after = len(wire.received)
        await wire.result("thread/resume", threadId=setup.thread_id)
        assert await wire.received_after(COMMAND, after) == question
        await reply(wire, question, ACCEPT)
        await setup.ended(wire, turn_id)
        assert len(resolved(wire, question)) == 1
    assert setup.made.exists()


@pytest.mark.parametrize("text", ["/clear", "/clear 1", "/compact", "/new"])
async def test_commands_wait_for_the_answer_and_say_so(harness: Harness, text: str) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        wire = await setup.client()
        await setup.begin(wire)
        await setup.ended(wire, await setup.prompt(wire))
        turn_id = await setup.prompt(wire, touch())
        question = await wire.received_after(COMMAND)
        outcome = await wire.result("commands/execute", threadId=setup.thread_id, text=text)
        assert outcome["status"] == "skipped"
        assert outcome["reason"] in ("request_pending", "turn_in_progress")
        assert outcome["blocker"]["since"]
        [pending] = (await wire.result("orchestration/snapshot", threadId=setup.thread_id))[
            "thread"
        ]["pendingRequests"]
        assert (pending["id"], pending["method"]) == (question["id"], COMMAND)
        await reply(wire, question, ACCEPT)
        assert await setup.ended(wire, turn_id) == "completed"
        outcome = await wire.result("commands/execute", threadId=setup.thread_id, text=text)
        assert outcome["status"] == "completed", outcome
    assert setup.made.exists()


async def test_an_interrupted_turn_takes_its_question_back(harness: Harness) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        one = await setup.client("one")
        await setup.begin(one)
        two = await setup.joined("two")
        turn_id = await setup.prompt(one, touch())
        question = await two.received_after(COMMAND)
        await one.result("turn/interrupt", threadId=setup.thread_id, turnId=turn_id)
        assert await setup.ended(two, turn_id) == "interrupted"
        assert len(resolved(one, question)) == len(resolved(two, question)) == 1
        await reply(two, question, ACCEPT)
        await two.received_after("sidecar/answerIgnored")
        snapshot = await one.result("orchestration/snapshot", threadId=setup.thread_id)
        assert snapshot["thread"]["pendingRequests"] == []
    assert not setup.made.exists()


async def test_a_question_dies_with_its_codex_and_a_late_answer_approves_nothing_new(
    harness: Harness,
) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        wire = await setup.client()
        await setup.begin(wire)
        await wire.result("orchestration/subscribeThread", threadId=setup.thread_id)
        turn_id = await setup.prompt(wire, touch())
        old = await wire.received_after(COMMAND)
        os.kill(harness.child_pid(), signal.SIGKILL)
        assert await setup.ended(wire, turn_id) == "interrupted"
        assert len(resolved(wire, old)) == 1
        closed = await wire.until(
            lambda one: one.get("params", {}).get("type") == "thread.request-closed"
        )
        assert closed["params"]["payload"] == {"requestId": old["id"], "outcome": "expired"}
        after = len(wire.received)
        await until_codex_is_back(wire)
        turn_id = await setup.prompt(wire, touch())
        new = await wire.received_after(COMMAND, after)
        assert new["id"] != old["id"]
        await reply(wire, old, ACCEPT)
        await wire.received_after("sidecar/answerIgnored", requestId=old["id"])
        assert not setup.made.exists()
        await reply(wire, new, DECLINE)
        assert await setup.ended(wire, turn_id) == "completed"
    assert not setup.made.exists()


async def until_codex_is_back(wire: JsonRpcClient) -> None:
    """Waits until Codex answers again after it was killed."""
    while "error" in (answer := await wire.ask("thread/loaded/list")):
        assert answer["error"]["data"]["retryable"], answer


async def test_a_question_dies_with_the_daemon_and_its_id_is_not_used_again(
    harness: Harness,
) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        wire = await setup.client()
        await setup.begin(wire)
        await setup.prompt(wire, touch())
        old = await wire.received_after(COMMAND)
    thread_id = setup.thread_id
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        setup.thread_id = thread_id
        wire = await setup.joined("back")
        snapshot = await wire.result("orchestration/snapshot", threadId=thread_id)
        assert snapshot["thread"]["pendingRequests"] == []
        turn_id = await setup.prompt(wire, touch())
        new = await wire.received_after(COMMAND)
        await reply(wire, old, ACCEPT)
        await wire.received_after("sidecar/answerIgnored", requestId=old["id"])
        assert not setup.made.exists()
        await reply(wire, new, ACCEPT)
        await setup.ended(wire, turn_id)
    assert setup.made.exists()


async def test_after_a_trim_a_question_still_names_the_thread_the_client_knows(
    harness: Harness,
) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        wire = await setup.client()
        await setup.begin(wire)
        await setup.ended(wire, await setup.prompt(wire))
        assert (await wire.result("commands/execute", threadId=setup.thread_id, text="/clear"))[
            "status"
        ] == "completed"
        turn_id = await setup.prompt(wire, touch())
        question = await wire.received_after(COMMAND, threadId=setup.thread_id)
        late = await setup.joined("late")
        assert await late.received_after(COMMAND) == question
        await reply(late, question, ACCEPT)
        await setup.ended(wire, turn_id)
        provider_id = harness.model.requests[-1].thread_id
        assert provider_id not in (None, setup.thread_id)
        assert str(provider_id) not in str(wire.received) + str(late.received)
    assert setup.made.exists()


async def test_an_ephemeral_thread_is_the_affair_of_its_client_alone(harness: Harness) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        owner, other = await setup.client("owner"), await setup.client("other")
        await setup.begin(owner, ephemeral=True)
        turn_id = await setup.prompt(owner, touch())
        await reply(owner, await owner.received_after(COMMAND, threadId=setup.thread_id), ACCEPT)
        assert await setup.ended(owner, turn_id) == "completed"
        await other.settled()
        heard = [
            message["method"]
            for message in other.received
            if "method" in message and setup.thread_id in str(message)
        ]
        assert set(heard) <= {"thread/started", "thread/status/changed"}
        assert not any(method.startswith("raw") for method in owner.methods())
    assert setup.made.exists()


async def test_a_question_of_a_sub_agent_goes_to_every_client_as_with_codex(
    harness: Harness,
) -> None:
    async with AsyncExitStack() as stack:
        setup = await scene_in(harness, stack)
        parent, other = await setup.client("parent"), await setup.client("other")
        await setup.begin(parent)
        spawn = {
            "type": "function_call",
            "namespace": "multi_agent_v1",
            "name": "spawn_agent",
            "arguments": '{"message":"sub work"}',
        }

        def answer(request: ModelRequest) -> Reply:
            has_acted = request.input[-1]["type"].endswith("_output")
            return (
                say("done.")
                if has_acted
                else Reply(items=[spawn])
                if request.mentions("delegate")
                else touch()
            )

        harness.script.then(*[answer] * 4)
        await parent.result(
            "turn/start", threadId=setup.thread_id, input=[{"type": "text", "text": "delegate"}]
        )
        question = await other.received_after(COMMAND)
        assert question["params"]["threadId"] != setup.thread_id
        assert await parent.received_after(COMMAND) == question
        await reply(other, question, ACCEPT)
        await parent.received_after("serverRequest/resolved", requestId=question["id"])
        await other.received_after("turn/completed", threadId=question["params"]["threadId"])
    assert setup.made.exists()
