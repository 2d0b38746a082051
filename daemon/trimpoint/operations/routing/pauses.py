"""Turns that the daemon ends itself, to go on with their work in the next one. Such a turn counts
as completed, because nobody has stopped it. Codex's notice to the model that it was interrupted is
not recorded, so the next turn is not given it.
"""

from collections.abc import Iterator

import msgspec

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.context.active_context import INTERRUPTION
from trimpoint.core.context.groups import message_text
from trimpoint.core.model import events as ev

_NOTICE_WITHIN = 1_000


class Pauses:
    """The turns that are being paused, at most one of each thread."""

    def __init__(self) -> None:
        self._turns: dict[str, str] = {}

    def begin(self, thread_id: str, turn_id: str) -> None:
        """Takes the turn's interruption, from now on, for a pause."""
        self._turns[thread_id] = turn_id

    def end(self, thread_id: str) -> None:
        """Takes an interruption for what it is again."""
        self._turns.pop(thread_id, None)

    def facts(self, thread_id: str, facts: tuple[ev.AnyEvent, ...]) -> tuple[ev.AnyEvent, ...]:
        """Returns facts, those of an interruption as those of a pause."""
        turn_id = self._turns.get(thread_id)
        return facts if turn_id is None else tuple(_paused(turn_id, facts))

    def told(self, thread_id: str, message: CodexMessage) -> CodexMessage:
        """Returns what clients are told of the end of a turn."""
        turn_id = self._turns.get(thread_id)
        if turn_id is None or message.method != "turn/completed":
            return message
        turn = message.object("turn")
        if turn.get("id") != turn_id or turn.get("status") != "interrupted":
            return message
        return message.with_member("turn", {**turn, "status": "completed", "error": None})


def _paused(turn_id: str, facts: tuple[ev.AnyEvent, ...]) -> Iterator[ev.AnyEvent]:
    for fact in facts:
        match fact:
            case ev.TurnCompleted(turn_id=ended, status="interrupted") if ended == turn_id:
                yield ev.TurnCompleted(turn_id, "completed", None, fact.items_heard, ev.PAUSED)
            case ev.ContextItemsRecorded(turn_id=of, items=(item,)) if of == turn_id and _is_notice(
                item
            ):
                continue
            case _:
                yield fact


def _is_notice(item: bytes) -> bool:
    # An output may be long, and is none.
    return INTERRUPTION.encode() in item[:_NOTICE_WITHIN] and message_text(
        msgspec.json.decode(item)
    ).startswith(INTERRUPTION)
