"""Derives what the model still sees of the turns after Codex compacted the context automatically.

Such a compaction makes no trim point: the ledger goes on, but the model sees a summary of Codex's
own instead of the turns before. A trim injects turns whole, so one that keeps such turns would
bring them back and make the context larger.
"""

from typing import NamedTuple

from trimpoint_protocol.errors import Reason

from trimpoint.core.model.decision import Rejected, counted
from trimpoint.core.model.ledger import Entry
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.tokens import estimate_text_tokens, estimate_tokens

COMPACTION = "contextCompaction"
COMPACTED = "The oldest part of the context was summarized to make room"
"""The entry of a recovery from an overflow, which is of the same kind."""
NOTABLE_TOKENS = 1_000
"""A context that grows by less is not worth a refusal; the figures are estimates."""


class OwnCompaction(NamedTuple):
    """The newest one in the present context: in which turn, and at which entry of the ledger."""

    turn_index: int
    entry_index: int


def newest_own_compaction(state: ThreadState) -> OwnCompaction | None:
    """Returns the newest compaction that Codex made by itself in the context as it is now."""
    index = max((state.turn_index.get(turn_id, -1) for turn_id in state.compacted_in), default=-1)
    if index < state.active_from_turn or state.turns[index].generation < _filled_since(state):
        return None
    start = state.turns[index].first_entry_index
    entries = state.entries[start : state.entries_end(index)]
    return OwnCompaction(
        index, max(at for at, one in enumerate(entries, start) if is_own_compaction(one))
    )


def is_own_compaction(entry: Entry) -> bool:
    """Returns whether Codex compacted automatically; False for what a recovery from an overflow
    wrote.
    """
    return entry.role == COMPACTION and entry.text != COMPACTED


def _filled_since(state: ThreadState) -> int:
    """Returns the generation that was last given its turns whole, 0 for none: what Codex compacted
    before is undone by that.

    A fork, as a revert makes one, goes on with the context of the generation that it was taken
    from.
    """
    trimmed = {point.generation for point in state.trim_points}
    number = state.generation.number
    while (
        number and state.generations[number - 1].bootstrap == "provider" and number not in trimmed
    ):
        before = (turn.generation for turn in reversed(state.turns) if turn.generation < number)
        number = next(before, 0)
    return number


def seen_turns(state: ThreadState) -> int:
    """Returns the number of turns the model sees: the one that Codex compacted in, and those after
    it.
    """
    compaction = newest_own_compaction(state)
    return (
        state.active_turn_count if compaction is None else len(state.turns) - compaction.turn_index
    )


def larger_again(state: ThreadState, keep: int, command: str) -> Rejected | None:
    """Returns why keeping `keep` turns needs `--force`: it would bring back what Codex has
    compacted.
    """
    compaction = newest_own_compaction(state)
    if compaction is None or keep == 0 or keep >= state.active_turn_count:
        return None
    seen = len(state.turns) - compaction.turn_index
    where = f"Codex compacted the context automatically in turn {compaction.turn_index + 1}"
    insist = f"{command} --force does it all the same."
    if keep > seen:
        back = counted(keep - seen, "turn")
        sees = f"the model sees {counted(seen, 'turn')} and Codex's summary of what came before"
        return Rejected(
            Reason.NOTHING_TO_TRIM,
            f"Nothing to trim: {where}, so {sees}. To keep {keep} would bring {back} back word for "
            "word"
            f" and make the context larger; {insist}",
        )
    growth = _compacted_tokens(state, compaction) if keep == seen else 0
    used = state.usage.report.used if state.usage.report is not None else 0
    if growth <= used + NOTABLE_TOKENS:
        return None
    return Rejected(
        Reason.NOTHING_TO_TRIM,
        f"Nothing to trim: {where}, while it ran. To keep that turn would bring its beginning back "
        "word for"
        f" word, about {growth:,} tokens where the whole context has {used:,}; {insist}",
    )


def _compacted_tokens(state: ThreadState, compaction: OwnCompaction) -> int:
    """Returns what the turn had done before the compaction, by estimate."""
    start = state.turns[compaction.turn_index].first_entry_index
    done = state.entries[start : compaction.entry_index]
    return sum(
        estimate_tokens(one.detail) if one.detail else estimate_text_tokens(one.text)
        for one in done
    )


def turns_brought_back(state: ThreadState) -> int:
    """Returns how many of the turns that the present generation was given had been compacted by
    Codex.
    """
    kept = state.generation.turn_ids
    compacted = [kept.index(turn_id) for turn_id in state.compacted_in if turn_id in kept]
    return max(compacted, default=0)
