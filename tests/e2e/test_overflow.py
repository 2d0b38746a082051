"""A turn that does not fit is tried again in a smaller context, and stays one turn for everyone (spec §6)."""

from collections.abc import Callable
from typing import Any

import pytest
from trimpoint.cli.client import Client
from trimpoint.testkit import ModelRequest, Reply, overflow, say

from tests.e2e.conftest import House
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.expectation import Piece, pieces

pytestmark = pytest.mark.codex

TURNS = 6
SUMMARY = Piece("summary", "<conversation-summary messages=10>The gist of it all.</conversation-summary>")


def too_much(mark: str = "answer-1.") -> Callable[[ModelRequest], Reply]:
    """The model takes no context with the first turn in it."""
    return lambda request: overflow() if request.mentions(mark) else say("It fits.")


async def long_talk(talk: Conversation, turns: int = TURNS) -> None:
    for _ in range(turns):
        await talk.turn()


def heard(client: Client, thread_id: str, after: int = 0) -> list[dict[str, Any]]:
    """What was said of a thread."""
    return [m for m in client.messages[after:] if m.get("params", {}).get("threadId") == thread_id]


def methods(messages: list[dict[str, Any]]) -> list[str]:
    return [m["method"] for m in messages]


def items(messages: list[dict[str, Any]], method: str) -> list[str]:
    return [m["params"]["item"]["type"] for m in messages if m["method"] == method]


async def test_a_turn_that_does_not_fit_goes_on_in_a_smaller_context(house: House) -> None:
    async with house.conversation() as talk:
        await long_talk(talk)
        talk.script.then(overflow(), say("It fits."))
        after = len(talk.client.messages)
        turn = await talk.prompt("too much")
        said = heard(talk.client, talk.thread_id, after)
        snapshot, timeline = await talk.snapshot(), await talk.timeline()
        answer = await talk.client.request("thread/read", threadId=talk.thread_id, includeTurns=True)
        last = await talk.turn()
    assert turn["status"] == "completed"
    retried = house.model.turn_requests()[-2]
    assert pieces(retried.input) == [
        SUMMARY,
        Piece("user", "prompt-6."),
        Piece("assistant", "answer-6."),
        Piece("user", "too much"),
    ]
    assert methods(said).count("turn/started") == methods(said).count("turn/completed") == 1
    assert items(said, "item/completed") == ["userMessage", "contextCompaction", "agentMessage"]
    assert "error" not in methods(said)
    assert {m["params"]["turnId"] for m in said if "turnId" in m["params"]} == {turn["id"]}
    assert [t["status"] for t in snapshot["turns"]] == ["completed"] * 7
    assert snapshot["turns"][-1]["id"] == turn["id"]
    [point] = snapshot["contextTrimPoints"]
    assert (point["trigger"], point["summary"], point["prunedMessageCount"]) == ("overflow", "The gist of it all.", 10)
    assert [(e["kind"], e.get("text") or e.get("title") or e.get("label")) for e in timeline] == [
        ("contextSummaryBanner", None),
        ("contextTrimPointDivider", "Earlier messages"),
        ("message", "prompt-6."),
        ("message", "answer-6."),
        ("message", "too much"),
        ("activity", "The oldest part of the context was summarized to make room"),
        ("message", "It fits."),
    ]
    [shown] = [t for t in answer["thread"]["turns"] if t["id"] == turn["id"]]
    assert [item["type"] for item in shown["items"]] == ["userMessage", "contextCompaction", "agentMessage"]
    assert seen_turns(last, 6) == [6]
    assert last.mentions("It fits.")
