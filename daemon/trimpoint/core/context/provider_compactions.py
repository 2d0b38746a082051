"""Derives which turns the model still sees after Codex has compacted the context by itself.

Such a compaction makes no trim point: the ledger continues, but the model sees a summary of Codex
instead of the turns before. A trim injects whole turns, so a trim that keeps such turns would bring
them back and make the context larger.

One that a person asked plain Codex for is a turn of its own there, without a prompt. In the ledger
it is the last entry of the turn before it, with the id of Codex's turn.
"""

from typing import NamedTuple

from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint

from trimpoint.core.model.decision import Rejected, counted
from trimpoint.core.model.ledger import Entry, Turn
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.tokens import estimate_text_tokens, estimate_tokens

COMPACTION = "contextCompaction"
COMPACTED = "The oldest part of the context was summarized to make room"
"""The title of the entry that a recovery from an overflow writes, which has the same role."""
ASKED_FOR = "Codex compacted the context when it was asked to"
"""The title of the entry of a compaction that another program asked Codex for."""
NOTABLE_TOKENS = 1_000
"""A context that grows by fewer tokens is not refused; the figures are estimates."""


class OwnCompaction(NamedTuple):
    """Codex's newest own compaction in the present context: the position of its turn and of its
    entry in the ledger, and whether it came behind that turn.
    """

    turn_index: int
    entry_index: int
    is_behind: bool

    @property
    def seen_from(self) -> int:
        """Returns the position of the first turn of which the model sees anything."""
        return self.turn_index + self.is_behind

    @property
    def description(self) -> str:
        """Returns the beginning of a sentence about it."""
        number = self.turn_index + 1
        if self.is_behind:
            return f"Codex was asked to compact the context after turn {number}"
        return f"Codex compacted the context automatically in turn {number}"


def newest_own_compaction(state: ThreadState) -> OwnCompaction | None:
    """Returns the newest compaction that Codex made by itself in the present context, or None."""
    within = max((state.turn_index.get(turn_id, -1) for turn_id in state.compacted_in), default=-1)
    behind = max((state.turn_index.get(one, -1) for one in state.compacted_behind), default=-1)
    index = max(within, behind)
    if index < state.active_from_turn:
        return None
    turn, since = state.turns[index], _filled_since(state)
    is_behind = index == behind and state.compacted_behind[turn.id] >= since
    if not is_behind and (index != within or turn.generation < since):
        return None
    start = turn.first_entry_index
    entries = state.entries[start : state.entries_end(index)]
    found = [at for at, one in enumerate(entries, start) if is_own_compaction(one)]
    return OwnCompaction(index, found[-1], is_behind)


def entry_behind(state: ThreadState, turn: Turn) -> Entry | None:
    """Returns the entry of the newest compaction behind the turn that another program asked for."""
    entries = state.entries_of(turn) if turn.id in state.compacted_behind else []
    return next((one for one in reversed(entries) if one.text == ASKED_FOR), None)


def is_own_compaction(entry: Entry) -> bool:
    """Returns whether the entry records a compaction that Codex made by itself, not one of a
    recovery from an overflow.
    """
    return entry.role == COMPACTION and entry.text != COMPACTED


def _filled_since(state: ThreadState) -> int:
    """Returns the number of the last generation that was given its turns in full, or that of the
    first one. Compactions by Codex before it have no effect any more.

    A fork, as a revert makes one, continues with the context of the generation that it was forked
    from.
    """
    trimmed = {point.generation for point in state.trim_points}
    number = state.generation.number
    while (
        number > 1
        and state.generations[number - 1].bootstrap == "provider"
        and number not in trimmed
    ):
        before = (turn.generation for turn in reversed(state.turns) if turn.generation < number)
        number = next(before, 0)
    return number


def seen_turns(state: ThreadState) -> int:
    """Returns the number of active turns that the model sees: the turn in which Codex compacted
    last, and those after it.
    """
    compaction = newest_own_compaction(state)
    return (
        state.active_turn_count if compaction is None else len(state.turns) - compaction.seen_from
    )


def larger_again(state: ThreadState, keep: int, command: str) -> Rejected | None:
    """Returns a rejection if keeping `keep` turns would bring back turns that Codex has compacted,
    so that `--force` is needed; else None.
    """
    compaction = newest_own_compaction(state)
    if compaction is None or keep == 0 or keep >= state.active_turn_count:
        return None
    seen, where = len(state.turns) - compaction.seen_from, compaction.description
    insist = (CommandHint(f"{command} --force", "does it all the same"),)
    if keep > seen:
        back = counted(keep - seen, "turn")
        sees = f"the model sees {counted(seen, 'turn')} and Codex's summary of what came before"
        return Rejected(
            Reason.NOTHING_TO_TRIM,
            f"Nothing to trim: {where}, so {sees}. To keep {keep} would bring {back} back word for "
            "word and make the context larger.",
            hints=insist,
        )
    is_divided = keep == seen and not compaction.is_behind
    growth = _compacted_tokens(state, compaction) if is_divided else 0
    used = state.usage.report.used if state.usage.report is not None else 0
    if growth <= used + NOTABLE_TOKENS:
        return None
    return Rejected(
        Reason.NOTHING_TO_TRIM,
        f"Nothing to trim: {where}, while it ran. To keep that turn would bring its beginning back "
        f"word for word, about {growth:,} tokens where the whole context has {used:,}.",
        hints=insist,
    )


def _compacted_tokens(state: ThreadState, compaction: OwnCompaction) -> int:
    """Returns the estimated tokens of the part of the turn that the compaction replaced."""
    start = state.turns[compaction.turn_index].first_entry_index
    done = state.entries[start : compaction.entry_index]
    return sum(
        estimate_tokens(one.detail) if one.detail else estimate_text_tokens(one.text)
        for one in done
    )


def turns_brought_back(state: ThreadState) -> int:
    """Returns how many turns that Codex had compacted the present generation was given in full."""
    kept = state.generation.turn_ids
    compacted = [kept.index(turn_id) for turn_id in state.compacted_in if turn_id in kept]
    behind = [
        kept.index(turn_id) + 1
        for turn_id, generation in state.compacted_behind.items()
        if turn_id in kept and generation < state.generation.number
    ]
    return max([*compacted, *behind], default=0)
