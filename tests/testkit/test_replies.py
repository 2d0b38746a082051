"""Replies as events, requests as questions, the script as a queue: the pure half of the test
kit.
"""

from __future__ import annotations

from collections.abc import Awaitable
from itertools import count
from typing import Any, TypeAlias

import msgspec
import pytest
from trimpoint.testkit import (
    ModelRequest,
    Reply,
    Script,
    call,
    cut_off,
    encrypted_compaction,
    hang,
    http_error,
    overflow,
    reasoning,
    say,
    sse,
)
from trimpoint.testkit.replies import Refused

Event: TypeAlias = dict[str, Any]


def request_with(*items: dict[str, Any], **body: Any) -> ModelRequest:
    return ModelRequest({"input": list(items), **body}, {})


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def events_of(stream: bytes) -> list[Event]:
    frames = stream.decode().split("\n\n")[:-1]
    return [msgspec.json.decode(frame.partition("\ndata: ")[2]) for frame in frames]


def rendered(reply: Reply) -> list[Event]:
    ending = reply.ending
    assert not isinstance(ending, Refused)
    whole = sse.numbered(reply, count(7))
    frames = [*sse.opening(whole, "resp_1"), *sse.closing(whole, ending, "resp_1")]
    return events_of(b"".join(frames))


def kinds(events: list[Event]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in events]


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (request_with(user("hi")), "turn"),
        (request_with(), "turn"),
        (
            request_with(user("You are performing a CONTEXT CHECKPOINT COMPACTION. Do")),
            "inline_compaction",
        ),
        (
            request_with(user("You are performing a CONTEXT CHECKPOINT COMPACTION"), user("hi")),
            "turn",
        ),
        (request_with(user("hi"), {"type": "compaction_trigger"}), "remote_compaction"),
        (
            request_with(
                user("my own prompt"),
                client_metadata={"x-codex-turn-metadata": '{"request_kind":"compaction"}'},
            ),
            "inline_compaction",
        ),
        (request_with(user("hi"), client_metadata={"x-codex-turn-metadata": "no json"}), "turn"),
    ],
)
def test_a_request_tells_a_turn_from_a_compaction(request_: ModelRequest, kind: str) -> None:
    assert request_.kind == kind


def test_texts_are_those_of_messages_and_tool_outputs_in_order() -> None:
    request = request_with(
        user("one"),
        {"type": "function_call", "arguments": "hidden"},
        {"type": "function_call_output", "output": "two"},
        {"type": "custom_tool_call_output", "output": [{"type": "input_text", "text": "three"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hidden"}]},
    )
    assert request.texts() == ["one", "two", "three"]


def test_mentions_looks_beyond_the_texts() -> None:
    request = request_with(
        {"type": "compaction", "encrypted_content": "BLOB"}, {"arguments": '{"cmd":"ls"}'}
    )
    assert request.mentions("LOB")
    assert request.mentions('"ls"')
    assert not request.mentions("encrypted_content")


def test_a_message_is_announced_streamed_finished_and_accounted_for() -> None:
    events = rendered(say("x" * 40))
    assert kinds(events) == [
        "created",
        "output_item.added",
        "output_text.delta",
        "output_text.delta",
        "output_item.done",
        "completed",
    ]
    assert "".join(event["delta"] for event in events[2:4]) == "x" * 40
    assert events[1]["item"]["content"] == []
    assert events[-1]["response"]["usage"]["total_tokens"] == 1_010


def test_items_of_added_replies_are_sent_in_order_with_ids_of_their_own() -> None:
    events = rendered(
        reasoning("why", encrypted_content="R") + say("a") + call("f", {"n": 1}) + call("g", {})
    )
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert [item["type"] for item in done] == [
        "reasoning",
        "message",
        "function_call",
        "function_call",
    ]
    assert len({item["id"] for item in done}) == 4
    assert done[2]["call_id"] != done[3]["call_id"]


def test_ids_that_a_script_gives_are_kept() -> None:
    assert rendered(call("f", {}, call_id="mine"))[1]["item"]["call_id"] == "mine"


def test_a_failure_leaves_the_message_before_it_unfinished() -> None:
    events = rendered(say("half") + overflow())
    assert kinds(events) == ["created", "output_item.added", "output_text.delta", "failed"]
    assert events[-1]["response"]["error"]["code"] == "context_length_exceeded"


@pytest.mark.parametrize("ended", [http_error(500), overflow(), hang(), cut_off()])
def test_a_reply_that_does_not_complete_cannot_be_extended(ended: Reply) -> None:
    with pytest.raises(ValueError, match="nothing can follow"):
        _ = ended + say("too late")


def test_members_that_a_script_adds_to_an_item_are_sent() -> None:
    events = rendered(reasoning(encrypted_content="SEALED") + say("done", phase="final_answer"))
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert (done[0]["encrypted_content"], done[0]["summary"]) == ("SEALED", [])
    assert done[1]["phase"] == "final_answer"


def test_a_reply_without_items_completes() -> None:
    assert kinds(rendered(Reply())) == ["created", "completed"]


def test_an_http_error_carries_its_body_as_given_or_as_json() -> None:
    bodies = [http_error(400, body).ending for body in ("text", b"bytes", {"code": 1})]
    assert bodies == [Refused(400, b"text"), Refused(400, b"bytes"), Refused(400, b'{"code":1}')]


def test_replies_that_cannot_be_sent_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="delta_chars must be positive, not 0"):
        Reply(delta_chars=0)
    with pytest.raises(ValueError, match="carries no items"):
        Reply(items=say("a").items, ending=Refused(500, b""))


async def answer_of(script: Script, request: ModelRequest) -> Reply:
    reply = script(request)
    return await reply if isinstance(reply, Awaitable) else reply


async def test_a_script_counts_turns_and_answers_compactions_without_counting_them() -> None:
    script = Script(summary="S", encrypted_summary="E")
    turn, trigger = request_with(user("hi")), request_with({"type": "compaction_trigger"})
    inline = request_with(user("You are performing a CONTEXT CHECKPOINT COMPACTION"))
    replies = [await answer_of(script, request) for request in (turn, inline, trigger, turn)]
    assert replies == [say("reply 1"), say("S"), encrypted_compaction("E"), say("reply 2")]


async def test_queued_replies_come_first_each_kind_from_its_own_queue() -> None:
    script = (
        Script()
        .then(say("a"), lambda request: say(request.texts()[0]))
        .at_compaction(http_error(500))
    )
    turn, trigger = request_with(user("echo")), request_with({"type": "compaction_trigger"})
    replies = [await answer_of(script, request) for request in (trigger, turn, turn, turn)]
    assert replies == [http_error(500), say("a"), say("echo"), say("reply 3")]
