"""Turns that Codex ran without the daemon are found in its list of turns, and in its rollout where
the list lags behind.
"""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw
from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.core.model import events as ev
from trimpoint.operations.history.resync import Missed, catch_up

from tests.core.counted import Counted
from tests.core.given import Conversation

ABANDONED = "The daemon was restarted."


class ListingLink:
    """A link to a Codex that lists these turns, newest first; None makes it refuse to list
    turns.
    """

    def __init__(self, *turns: dict[str, Any], refuses: bool = False) -> None:
        self._turns = turns
        self._refuses = refuses

    async def request(self, method: str, params: dict[str, Any]) -> Raw:
        assert (method, params["threadId"]) == ("thread/turns/list", "provider-1")
        if self._refuses:
            raise ProviderError(-32600, "not materialized yet", None, Raw(b"{}"))
        return Raw(msgspec.json.encode({"data": self._turns}))


def _thread() -> Conversation:
    thread = Conversation()
    thread.write(
        ev.ThreadCreated("thread-1", "/work", "started", b"{}"),
        ev.GenerationOpened(1, "start", "none"),
        ev.ProviderThreadBound(1, "provider-1", None),
        ev.SessionReady(1),
    )
    return thread


def _whole_turn(thread: Conversation, turn_id: str) -> None:
    thread.report(
        ev.TurnStarted(turn_id, 1),
        _said(turn_id, "user", "known"),
        ev.TurnCompleted(turn_id, "completed"),
    )


def _broken_turn(thread: Conversation, turn_id: str) -> None:
    thread.report(
        ev.TurnStarted(turn_id, 1),
        ev.TurnCompleted(turn_id, "interrupted", ABANDONED, items_heard=False),
    )


def _said(turn_id: str, role: str, text: str) -> ev.EntryRecorded:
    return ev.EntryRecorded(turn_id, f"{role} of {turn_id}", "message", role, text)


def _listed(turn_id: str, *texts: str, status: str = "completed") -> dict[str, Any]:
    roles = ("user", "assistant")
    return {
        "id": turn_id,
        "status": status,
        "items": [_item(turn_id, *said) for said in zip(roles, texts, strict=False)],
    }


def _item(turn_id: str, role: str, text: str) -> dict[str, Any]:
    if role == "user":
        return {
            "type": "userMessage",
            "id": f"user of {turn_id}",
            "content": [{"type": "text", "text": text}],
        }
    return {"type": "agentMessage", "id": f"assistant of {turn_id}", "text": text}


async def _caught_up(thread: Conversation, link: ListingLink) -> list[tuple[str, str]]:
    missed = await catch_up(link, thread.state, thread.state.generation)  # type: ignore[arg-type]
    thread.report(*missed.facts)
    return [(entry.turn_id, entry.text) for entry in thread.state.entries]


async def test_a_turn_that_is_not_in_the_ledger_is_added_at_its_end() -> None:
    thread = _thread()
    _whole_turn(thread, "turn-1")
    link = ListingLink(
        _listed("turn-2", "asked", "answered"), _listed("turn-1", "known", "not asked for again")
    )
    assert await _caught_up(thread, link) == [
        ("turn-1", "known"),
        ("turn-2", "asked"),
        ("turn-2", "answered"),
    ]
    assert [turn.status for turn in thread.state.turns] == ["completed", "completed"]


async def test_turns_before_those_that_codex_lists_are_not_looked_at() -> None:
    thread = _thread()
    for number in range(100):
        _whole_turn(thread, f"turn-{number}")
    thread.state.turns = turns = Counted(thread.state.turns)
    link = ListingLink(_listed("turn-100", "asked"), _listed("turn-99", "known"))
    assert (await _caught_up(thread, link))[-1] == ("turn-100", "asked")
    assert turns.looked_at < 20


async def test_a_turn_that_broke_off_is_completed_with_its_missed_items() -> None:
    thread = _thread()
    thread.report(ev.TurnStarted("turn-1", 1), _said("turn-1", "user", "asked"))
    thread.report(ev.TurnCompleted("turn-1", "interrupted", ABANDONED, items_heard=False))
    link = ListingLink(_listed("turn-1", "asked", "answered", status="interrupted"))
    assert await _caught_up(thread, link) == [("turn-1", "asked"), ("turn-1", "answered")]
    assert [turn.status for turn in thread.state.turns] == ["interrupted"]


def _numbered(turn: dict[str, Any]) -> dict[str, Any]:
    """Numbers the items of a turn, as Codex up to 0.144 does in its list."""
    for number, item in enumerate(turn["items"], 1):
        item["id"] = f"item-{number}"
    return turn


async def test_items_of_a_broken_turn_that_codex_lists_under_other_ids_are_not_added_twice() -> (
    None
):
    thread = _thread()
    thread.report(ev.TurnStarted("turn-1", 1), _said("turn-1", "user", "asked"))
    thread.report(ev.TurnCompleted("turn-1", "interrupted", ABANDONED, items_heard=False))
    listed = _listed("turn-1", "asked", "answered", status="interrupted")
    listed["items"].append(_item("turn-1", "user", "asked"))
    link = ListingLink(_numbered(listed))
    found = [("turn-1", "asked"), ("turn-1", "answered"), ("turn-1", "asked")]
    assert await _caught_up(thread, link) == found
    assert [entry.id for entry in thread.state.entries] == ["user of turn-1", "item-2", "item-3"]


async def test_several_turns_are_added_in_the_order_in_which_they_happened() -> None:
    thread = _thread()
    link = ListingLink(_listed("turn-2", "second", status="inProgress"), _listed("turn-1", "first"))
    assert await _caught_up(thread, link) == [("turn-1", "first"), ("turn-2", "second")]
    assert [turn.status for turn in thread.state.turns] == ["completed", "interrupted"]


async def test_turns_before_the_compaction_that_began_the_session_do_not_count_as_missed() -> None:
    compaction = {
        "id": "turn-c",
        "status": "completed",
        "items": [{"type": "contextCompaction", "id": "c"}],
    }
    link = ListingLink(_listed("turn-2", "asked"), compaction, _listed("turn-1", "came with it"))
    thread = _thread()
    thread.write(
        ev.GenerationOpened(2, "compact", "provider"), ev.ProviderThreadBound(2, "provider-1", None)
    )
    assert await _caught_up(thread, link) == [("turn-2", "asked")]


async def test_a_prompt_that_codex_has_in_its_rollout_but_does_not_list_yet_is_reported(
    tmp_path: Path,
) -> None:
    thread = _thread()
    _broken_turn(thread, "turn-1")
    rollout = tmp_path / "rollout.jsonl"
    rollout.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in _rollout("turn-1")))
    thread.write(ev.ProviderThreadBound(1, "provider-1", str(rollout)))
    assert await _caught_up(thread, ListingLink(_listed("turn-1", status="interrupted"))) == [
        ("turn-1", "asked")
    ]


def _rollout(turn_id: str) -> list[dict[str, Any]]:
    texts = (
        "<environment_context>here</environment_context>",
        "asked",
        "<turn_aborted>stopped</turn_aborted>",
    )
    messages = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        for text in texts
    ]
    begun = {"type": "event_msg", "payload": {"type": "task_started", "turn_id": turn_id}}
    return [begun, *({"type": "response_item", "payload": message} for message in messages)]


async def test_a_turn_of_which_nothing_is_known_at_all_is_not_added() -> None:
    thread = _thread()
    assert await _caught_up(thread, ListingLink(_listed("turn-1", status="interrupted"))) == []
    assert thread.state.turns == []


async def test_a_codex_that_lists_no_turns_adds_nothing() -> None:
    assert (
        await catch_up(ListingLink(refuses=True), _thread().state, _thread().state.generation)
        == Missed()
    )  # type: ignore[arg-type]


def test_a_thread_may_have_missed_something_from_a_broken_turn_until_its_session_is_ready_again() -> (
    None
):
    thread = _thread()
    assert not thread.state.may_have_missed
    _broken_turn(thread, "turn-1")
    assert thread.state.may_have_missed
    thread.write(ev.ProviderThreadBound(1, "provider-1", None), ev.SessionReady(1))
    assert not thread.state.may_have_missed


def test_a_thread_may_have_missed_something_when_a_prompt_was_never_answered_for() -> None:
    thread = _thread()
    thread.report(ev.TurnRequested("request-1"))
    thread.report(ev.TurnRequestEnded("request-1", None, ABANDONED))
    assert thread.state.may_have_missed
