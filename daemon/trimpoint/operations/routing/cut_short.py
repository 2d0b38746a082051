"""Reads from Codex's notifications which items are not finished, and records those of a turn that
ends in the middle of them: an answer as far as it was said, a command or an edit as declined if a
person was asked about it and has not allowed it, else as failed.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import msgspec

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.codex.notifications.translate import entry_of
from trimpoint.core.decide.new_facts import CUT_SHORT
from trimpoint.core.model import events as ev
from trimpoint.core.model.asked import APPROVAL
from trimpoint.threads.unfinished_items import UnfinishedItem, UnfinishedItems

STARTED, COMPLETED = "item/started", "item/completed"
ANSWER_DELTA, OUTPUT_DELTA = "item/agentMessage/delta", "item/commandExecution/outputDelta"
DELTAS = frozenset({ANSWER_DELTA, OUTPUT_DELTA})


class CutShort:
    """The unfinished items of one Codex, which `items` keeps."""

    def __init__(self, items: UnfinishedItems) -> None:
        self._items = items

    def note(self, thread_id: str, message: CodexMessage) -> None:
        """Records what a notification of Codex says about an item."""
        if message.method in DELTAS:
            self._items.add(thread_id, [message.line])
        elif message.method == STARTED:
            item = message.object("item")
            turn_id, item_id = str(message.member("turnId")), str(item.get("id"))
            if item.get("type") == "agentMessage":
                said = partial(_answer, turn_id, item_id)
                self._items.begin(thread_id, item_id, UnfinishedItem(turn_id, True, said))
            elif "status" in item:
                done = partial(_activity, turn_id, item)
                self._items.begin(thread_id, item_id, UnfinishedItem(turn_id, False, done))
        elif message.method == COMPLETED:
            self._items.remove(thread_id, str(message.object("item").get("id")))

    def note_run(self, thread_id: str, method: str, lines: list[bytes]) -> None:
        """Records a run of notifications of one method."""
        if method in DELTAS:
            self._items.add(thread_id, lines)

    def before_end(self, thread_id: str, facts: tuple[ev.AnyEvent, ...]) -> tuple[ev.AnyEvent, ...]:
        """Returns `facts`, with the approval of what a person has allowed; if they end a turn and
        cut it short, with what was unfinished in it before that.
        """
        facts = tuple(self._with_approval(thread_id, one) for one in facts)
        ending = end_in(facts)
        if ending is None:
            return facts
        items = self._items.take(thread_id, ending.turn_id)
        if ending.status not in CUT_SHORT:
            return facts
        cut = (item.fact(is_declined=item.is_waiting) for item in items)
        return put_before(facts, ending, filter(None, cut))

    def _with_approval(self, thread_id: str, fact: ev.AnyEvent) -> ev.AnyEvent:
        if not isinstance(fact, ev.EntryRecorded) or fact.kind != "activity":
            return fact
        if not self._items.is_allowed(thread_id, fact.entry_id):
            return fact
        item = {**msgspec.json.decode(fact.detail), APPROVAL: "allowed"}
        return msgspec.structs.replace(fact, detail=msgspec.json.encode(item))

    def take(self, thread_id: str) -> tuple[ev.AnyEvent, ...]:
        """Returns the facts of what is unfinished in the thread, and forgets it."""
        return tuple(filter(None, (item.fact() for item in self._items.take(thread_id))))


def end_in(facts: Sequence[ev.AnyEvent]) -> ev.TurnCompleted | None:
    """Returns the end of a turn among facts, or None."""
    return next((one for one in facts if isinstance(one, ev.TurnCompleted)), None)


def put_before(
    facts: tuple[ev.AnyEvent, ...], ending: ev.TurnCompleted, more: Iterable[ev.AnyEvent]
) -> tuple[ev.AnyEvent, ...]:
    """Returns facts with `more` before the end of the turn that is among them."""
    at = facts.index(ending)
    return (*facts[:at], *more, *facts[at:])


def _answer(turn_id: str, item_id: str, text: str, is_declined: bool) -> ev.EntryRecorded | None:
    del is_declined  # nobody is asked whether the model may speak
    if not text.strip():
        return None
    return ev.EntryRecorded(turn_id, item_id, "message", "assistant", text, extent=ev.PART)


def _activity(
    turn_id: str, item: dict[str, Any], output: str, is_declined: bool
) -> ev.EntryRecorded:
    ended = {**item, "status": "declined" if is_declined else "failed"}
    if output:
        ended["aggregatedOutput"] = output
    entry = entry_of(turn_id, ended, msgspec.json.encode(ended))
    return msgspec.structs.replace(entry, extent=ev.PART)
