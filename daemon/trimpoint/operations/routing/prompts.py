"""Keeps the parameters of `turn/start` while the turn may be repeated, because the ledger has only
the prompt and not all options. Codex forgets the prompt of a turn that is interrupted at once.
"""

from typing import Any

import msgspec
from msgspec import Raw

from trimpoint.codex.notifications.translate import entry_of
from trimpoint.core.decide.new_facts import CUT_SHORT
from trimpoint.core.decide.overflow import prompt_of
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState
from trimpoint.operations.routing.cut_short import end_in, put_before

MAX_THREADS = 256


class Prompts:
    """The prompt of each thread's running turn, for at most `MAX_THREADS` threads, because a prompt
    can be large.
    """

    def __init__(self) -> None:
        self._newest: dict[str, tuple[str, bytes]] = {}

    def note(self, thread_id: str, turn_id: str, params: dict[str, Raw]) -> None:
        """Keeps a client's `turn/start` that Codex accepted, unless it only added to the running
        turn.
        """
        newest = self._newest.get(thread_id)
        if newest is None or newest[0] != turn_id:
            self._newest.pop(thread_id, None)
            self._newest[thread_id] = (turn_id, msgspec.json.encode(params))
            if len(self._newest) > MAX_THREADS:
                del self._newest[next(iter(self._newest))]

    def forget(self, thread_id: str) -> None:
        """Removes the prompt of a turn that can no longer be repeated."""
        self._newest.pop(thread_id, None)

    def before_end(
        self, state: ThreadState, facts: tuple[ev.AnyEvent, ...]
    ) -> tuple[ev.AnyEvent, ...]:
        """Returns `facts`; if they cut short a turn whose prompt Codex has not taken up, with the
        prompt before that. The person has written it, and the model is not sent it.
        """
        ending = end_in(facts)
        newest = self._newest.get(state.id)
        if ending is None or ending.status not in CUT_SHORT or newest is None:
            return facts
        turn_id, (known_id, params) = ending.turn_id, newest
        if turn_id != known_id or _has_prompt(state, turn_id, facts):
            return facts
        said = msgspec.json.decode(params).get("input")
        if not said:
            return facts
        item: dict[str, Any] = {"type": "userMessage", "id": f"prompt-{turn_id}"}
        item["content"] = said
        entry = entry_of(turn_id, item, msgspec.json.encode(item))
        return put_before(facts, ending, [msgspec.structs.replace(entry, extent=ev.PART)])

    def of(self, state: ThreadState, turn_id: str) -> dict[str, Any]:
        """Returns the parameters to repeat the turn with. If they were not kept, they have only the
        prompt from the ledger.
        """
        newest = self._newest.get(state.id)
        if newest is not None and newest[0] == turn_id:
            sent: dict[str, Any] = msgspec.json.decode(newest[1])
            return sent
        return {"input": prompt_of(state, turn_id)}


def _has_prompt(state: ThreadState, turn_id: str, facts: tuple[ev.AnyEvent, ...]) -> bool:
    at = state.turn_index.get(turn_id)
    known = () if at is None else state.entries_of(state.turns[at])
    new = (one for one in facts if isinstance(one, ev.EntryRecorded) and one.turn_id == turn_id)
    return any(entry.role == "user" for entry in (*known, *new))
