"""Slash commands typed as prompts by clients that do not know trimpoint (docs/spec/clients.md,
docs/spec/traps.md).
"""

import anyio
import pytest
from trimpoint.cli.connection.client import RemoteError
from trimpoint.testkit import ModelRequest, Reply, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns

pytestmark = [pytest.mark.codex, pytest.mark.also_restarted]


async def _prompt(talk: Conversation, text: str) -> tuple[str, str]:
    """Sends the text as a prompt, and returns the turn's status and its answer."""
    turn = await talk.prompt(text)
    ended = [m["params"] for m in talk.client.messages if m.get("method") == "item/completed"]
    items = [params["item"] for params in ended if params["turnId"] == turn["id"]]
    return turn["status"], next(
        (item["text"] for item in items if item["type"] == "agentMessage"), ""
    )


async def test_a_prompt_that_is_a_command_is_carried_out_and_never_sent(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn()
        status, answer = await _prompt(talk, "/clear 1")
        assert status == "completed"
        assert answer.startswith("Context cleared: 4 messages in 2 turns left it")
        request = await talk.turn()
        status, listed = await _prompt(talk, "/timeline 2")
        assert status == "completed"
        snapshot = await talk.snapshot()
    assert listed.splitlines() == [
        "The last 2 of 4 turns. The agent knows the last 2.",
        "3. prompt-3.",
        "4. prompt-4.",
    ]
    assert seen_turns(request, 3) == [3]
    assert not any(request.mentions("/clear") for request in harness.model.requests)
    assert snapshot["turnCount"] == 4


@pytest.mark.each_case(reason="each row is another mistake")
@pytest.mark.parametrize("text", ["/clear abc", "/clear -1", "/clear 3 fix it", "/compact --keep"])
async def test_a_wrong_command_says_what_is_right_and_is_never_sent(
    harness: Harness, text: str
) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        _, answer = await _prompt(talk, text)
        assert "Usage: /" in answer
    assert len(harness.model.requests) == 1


async def test_an_input_that_names_no_command_is_a_prompt(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        with anyio.fail_after(STEP_S):
            await talk.prompt("/clearance of goods")
    assert harness.model.requests[-1].mentions("/clearance of goods")


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


IMAGE = {"type": "image", "url": "data:image/png;base64,AAAA"}


@pytest.mark.each_case(reason="each command is declared by itself")
@pytest.mark.parametrize("method", ["turn/steer", "thread/queue/add", "thread/queue/update"])
@pytest.mark.parametrize("text", ["/clear", "/compact --keep 1", "/clear abc", "/help"])
async def test_a_command_that_comes_into_a_turn_is_refused_and_never_sent(
    harness: Harness, method: str, text: str
) -> None:
    async with harness.conversation() as talk:
        release = anyio.Event()

        async def held(request: ModelRequest) -> Reply:
            await release.wait()
            return say("at last")

        talk.script.then(held)
        turn = (
            await talk.client.request("turn/start", threadId=talk.thread_id, input=[_text("go")])
        )["turn"]
        with anyio.fail_after(STEP_S):
            await harness.model.wait_for_request(lambda request: request.kind == "turn")
        params = {
            "threadId": talk.thread_id,
            "expectedTurnId": turn["id"],
            "queuedSubmissionId": "q",
            "input": [_text(text)],
        }
        with pytest.raises(RemoteError, match="nothing was sent to the agent") as refused:
            await talk.client.request(method, **params)
        assert refused.value.data["reason"] == "usage"
        release.set()
        with anyio.fail_after(STEP_S):
            await talk.client.received("turn/completed")
        await talk.turn()
    assert not any(request.mentions(text) for request in harness.model.requests)


@pytest.mark.parametrize("text", ["/clear", "/help", "/clear abc"])
async def test_a_command_in_an_ephemeral_thread_is_refused_and_never_sent(
    harness: Harness, text: str
) -> None:
    async with harness.daemon(), harness.client() as client:
        thread = (await client.request("thread/start", cwd=str(harness.worktree), ephemeral=True))[
            "thread"
        ]
        with pytest.raises(RemoteError, match="nothing was sent to the agent") as refused:
            await client.request("turn/start", threadId=thread["id"], input=[_text(text)])
        assert refused.value.data["reason"] == "not_supported"
    assert harness.model.requests == []


@pytest.mark.parametrize(
    "turn_input",
    [
        [_text("/clear"), IMAGE],
        [IMAGE, _text("/clear 1")],
        [_text("/clear"), {"type": "localImage", "path": "/nowhere.png"}],
    ],
)
async def test_a_command_with_attachments_is_refused_and_never_sent(
    harness: Harness, turn_input: list[dict[str, str]]
) -> None:
    async with harness.conversation() as talk:
        with pytest.raises(RemoteError, match="stands alone"):
            await talk.client.request("turn/start", threadId=talk.thread_id, input=turn_input)
    assert harness.model.requests == []


async def test_a_command_in_several_pieces_is_one(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn()
        after = len(talk.client.messages)
        await talk.client.request(
            "turn/start", threadId=talk.thread_id, input=[_text(" "), _text("/clear"), _text("1")]
        )
        with anyio.fail_after(STEP_S):
            await talk.client.expect(
                lambda message: message.get("method") == "turn/completed", after
            )
        request = await talk.turn()
    assert seen_turns(request, 2) == [2]


async def test_new_names_the_thread_that_it_made_and_the_archived_one_does_so_after_it(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        _, answer = await _prompt(talk, "/new")
        archived = (await talk.snapshot())["archived"]
        [new_id] = {word.rstrip(".") for word in answer.split() if word.count("-") == 4} - {
            talk.thread_id
        }
        read = await talk.client.request("thread/read", threadId=new_id)
        for method, params in {
            "turn/start": {"input": [_text("go on")]},
            "turn/steer": {"input": [_text("go on")], "expectedTurnId": "t"},
            "thread/resume": {},
            "thread/fork": {},
            "thread/settings/update": {"effort": "low"},
        }.items():
            with pytest.raises(RemoteError, match=new_id) as refused:
                await talk.client.request(method, threadId=talk.thread_id, **params)
            assert refused.value.data["reason"] == "thread_archived"
        outcome = await talk.type("/clear")
        _, said = await _prompt(talk, "/clear")
    assert archived
    assert read["thread"]["id"] == new_id
    assert new_id in outcome["message"]
    assert new_id in said
    assert len(harness.model.requests) == 1
