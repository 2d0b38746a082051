"""Reads messages of Codex about a thread, and composes those that end a turn in Codex's place."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
import structlog

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.codex.notifications.translate import RECORDED, translate
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState
from trimpoint.operations.routing.routes import Route
from trimpoint.operations.routing.sub_agents import SUB_AGENT_RESTS, status_in
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

RAW_ITEM = "rawResponseItem/completed"
# The statuses in which Codex is not working on a thread.
RESTING = frozenset({"idle", "systemError", "notLoaded"})

WENT_AWAY = "Codex went away"
"""With this begins the error of a turn whose Codex has ended."""


def interrupted(thread_id: str, turn_id: str, reason: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the method and parameters of the notifications that end a turn as interrupted, for a
    Codex that has ended.
    """
    yield idle(thread_id)
    yield ended_as_interrupted(thread_id, turn_id, reason)


def facts_in(message: CodexMessage, route: Route, writer: ThreadWriter) -> tuple[ev.AnyEvent, ...]:
    """Returns the facts in a notification about the writer's thread, none if it lacks an essential
    member.
    """
    try:
        if _was_given(message, writer):
            return ()
        return translate(message, route.generation, writer.state.settings)
    except msgspec.MsgspecError as error:
        log.warning(
            "notification_not_understood",
            method=message.method,
            thread_id=route.thread_id,
            detail=str(error),
        )
        return ()


def _was_given(message: CodexMessage, writer: ThreadWriter) -> bool:
    """Returns whether Codex tells of an item that it was given, which is of no turn. It tells of
    each item of a context that it is given, and the loop has no time to decide about each.
    """
    # A turn that the disk has refused so far is one that the thread will have.
    if message.method != RAW_ITEM or not writer.is_quiescent:
        return False
    turn_id, state = message.member("turnId"), writer.state
    return (
        isinstance(turn_id, str)
        and turn_id not in state.turn_index
        and turn_id not in state.turn_aliases
    )


def alike(message: CodexMessage, writer: ThreadWriter | None) -> bytes | None:
    """Returns the beginning by which messages like this one are known that need no decoding: more
    deltas of the thread, or more items that Codex was given; None if there are none.
    """
    begins = None if message.leading_thread_id is None else message.leading_part
    if begins is None or message.method != RAW_ITEM:
        is_read = message.method in RECORDED or message.method in SUB_AGENT_RESTS
        return None if is_read else begins
    with suppress(msgspec.MsgspecError):
        if writer is not None and _was_given(message, writer):
            begins += b',"turnId":' + bytes(message.raw("turnId") or b"")
            return begins if message.line.startswith(begins) else None
    return None


def own_warning(message: str) -> dict[str, Any]:
    """Returns the parameters of a `warning` of trimpoint's. Our clients show no other: Codex's,
    such as that it does not know a model, come with each thread.
    """
    return {"message": message, "from": "trimpoint"}


def idle(thread_id: str) -> tuple[str, dict[str, Any]]:
    """Returns the method and parameters of the notification that a thread is idle."""
    return "thread/status/changed", {"threadId": thread_id, "status": {"type": "idle"}}


def ended_as_interrupted(thread_id: str, turn_id: str, reason: str) -> tuple[str, dict[str, Any]]:
    """Returns the method and parameters of the notification that a turn has ended as
    interrupted.
    """
    error = {"message": reason, "codexErrorInfo": None, "additionalDetails": None}
    turn: dict[str, Any] = {
        "id": turn_id,
        "items": [],
        "itemsView": "notLoaded",
        "status": "interrupted",
        "error": error,
        "startedAt": None,
        "completedAt": None,
        "durationMs": None,
    }
    return "turn/completed", {"threadId": thread_id, "turn": turn}


def turn_named_in(message: CodexMessage) -> str | None:
    """Returns Codex's id of the turn that a message is about, or None if it names none."""
    turn_id = message.object("turn").get("id") or message.member("turnId")
    return turn_id if isinstance(turn_id, str) else None


def has_ended(state: ThreadState, turn_id: str | None) -> bool:
    """Returns whether the ledger has the turn with this id of Codex's and its end; True for no
    id.
    """
    at = state.turn_index.get(state.turn_aliases.get(turn_id, turn_id)) if turn_id else None
    return turn_id is None or (at is not None and state.turns[at].status != "running")


def rests(message: CodexMessage) -> bool:
    return message.method == "thread/closed" or (
        message.method == "thread/status/changed" and is_resting(status_in(message))
    )


def is_resting(status: Any) -> bool:
    """Returns whether a status that Codex gave, of whatever shape, says that a thread rests."""
    return isinstance(status, str) and status in RESTING


def provider_thread_of(message: CodexMessage) -> str | None:
    """Returns the id of the provider thread that a message names, or None if it names none."""
    if message.method == "thread/started":
        with suppress(msgspec.MsgspecError):
            if thread := message.object("thread"):
                return str(thread.get("id"))
    return message.thread_id
