"""Codex's requests to clients, with the real Codex: approvals, user input and tool calls, with
clients of every kind (docs/spec/clients.md).

Whether an answer has arrived is seen from the agent's next action: a file that exists or not, or
the model's next input.
"""

import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from trimpoint.testkit import ModelRequest, Reply, call, run, say

from tests.e2e import asking_mcp_server
from tests.e2e.clients.asking import (
    ACCEPT,
    ASK_A_PERSON,
    COMMAND,
    DECLINE,
    ELICITATION,
    FILE_CHANGE,
    LOOKUP,
    PATCH,
    TOOL,
    USER_INPUT,
    decline_to_answer,
    reply,
    resolved,
    scene_in,
    told,
    touch,
)
from tests.e2e.conftest import Harness
from tests.e2e.wire import without_paths

pytestmark = [pytest.mark.codex, pytest.mark.usefixtures("running_harness")]


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


@pytest.mark.own_daemon
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


@pytest.mark.own_daemon
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
        assert str(provider_id) not in str(without_paths([wire.received, late.received]))
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
