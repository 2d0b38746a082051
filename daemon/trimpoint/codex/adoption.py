"""A conversation that Codex has and we have not: its turns as facts for a new ledger (spec §3, "adopted")."""

from collections.abc import Iterator
from typing import Any

import anyio
import msgspec

from trimpoint.codex.rollout import items_by_turn, whole_conversation
from trimpoint.codex.translate import entry_of
from trimpoint.core import events as ev
from trimpoint.core.loose import members, rows


async def imported_turns(thread: dict[str, Any], turns: list[dict[str, Any]]) -> tuple[ev.AnyEvent, ...]:
    """The facts of `turns` (Codex's display form, oldest first) with the raw items of the thread's rollout."""
    path = thread.get("path")
    lines = await anyio.to_thread.run_sync(whole_conversation, str(path)) if path else []
    items = items_by_turn(lines)
    return tuple(fact for turn in turns for fact in turn_facts(turn, 1, items.get(str(turn["id"]), [])))


def turn_facts(turn: dict[str, Any], generation: int, items: list[bytes]) -> Iterator[ev.AnyEvent]:
    """All that is known of a turn in Codex's display form; `items` are its raw ones, when they are at hand."""
    turn_id = str(turn["id"])
    status = str(turn.get("status", "completed"))
    yield ev.TurnStarted(turn_id, generation)
    for item in rows(turn.get("items")):
        yield entry_of(turn_id, msgspec.json.encode(item))
    if items:
        yield ev.ContextItemsRecorded(turn_id, tuple(items), "rollout")
    error = members(turn.get("error")).get("message")
    yield ev.TurnCompleted(turn_id, "interrupted" if status == "inProgress" else status, error, items_heard=False)
