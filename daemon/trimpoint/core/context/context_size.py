"""Returns the size of a context in tokens: the reported size, or an estimate if none was reported
(docs/spec/context.md).

Codex's `last.totalTokens` is the size of the context, its `total` is not. A size that was not
measured is marked as an estimate.
"""

from collections.abc import Iterator
from itertools import accumulate
from typing import Literal, NamedTuple

from trimpoint.core.context.active_context import (
    message_item,
    placed_items,
)
from trimpoint.core.context.generations import conversation_items
from trimpoint.core.context.measured_sizes import measured_turn
from trimpoint.core.context.pins import pin_tokens, standing_pins
from trimpoint.core.context.summary_items import (
    standing_summaries,
    summary_item,
    with_summary,
)
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.events import GenerationOpened
from trimpoint.core.model.ledger import Entry, Turn
from trimpoint.core.model.state import Generation, ThreadState
from trimpoint.core.model.tokens import estimate_text_tokens, estimate_tokens, estimate_total
from trimpoint.core.model.usage import SampleSource, UsageTotals, model_in

BASELINE_TOKENS = 12_000
"""The number of tokens that Codex assumes for instructions and tools and leaves out of its
percentage of what is left (measured: 0.163, 0.171).
"""
RAW_WINDOW_PERCENT = 95
"""The percentage of the model's window that Codex reports as `modelContextWindow` (measured: 0.163,
0.171).
"""
PROVIDER_COMPACTS_PERCENT = 90
"""The percentage of the raw window at which Codex compacts by itself, unless it is configured
otherwise (measured: 0.163, 0.171).
"""
# The most turns before a generation's first usage report, as in an adopted thread: with more, the
# overhead cannot be computed.
MAX_WEIGHED_TURNS = 200

NOT_REPORTED = "An estimate: Codex reports the size with its next answer."
NOT_REPORTED_AT_ALL = (
    f"{NOT_REPORTED} Instructions and tools are left out, because their size is not known yet."
)
LAST_KNOWN = "An estimate, as it was when the thread was last used."
INJECTED = "An estimate: a client has put something into the context since Codex reported its size."
_NOTES = {
    SampleSource.ESTIMATED: (
        "An estimate of Codex's own, as it makes it after it has compacted automatically."
    ),
    SampleSource.FULL: "The last turn did not fit into the context, so it counts as full.",
}

Level = Literal["ok", "warning", "critical"]


class ContextSize(NamedTuple):
    """The size of a context in tokens. `is_estimate`: it was not measured. `is_unknown`: nothing
    was reported, so that the whole size is an estimate of the daemon. `note` explains an estimate
    to a person.
    """

    used: int
    is_estimate: bool
    is_unknown: bool
    note: str | None = None


def context_size(state: ThreadState, policy: Policy) -> ContextSize:
    """Returns the size of the thread's context. If nothing was reported yet, the whole context is
    estimated.
    """
    known = reported_size(state.usage, window_of(state.usage, model_in(state.settings), policy))
    return known or estimated_size(state)


def estimated_size(state: ThreadState) -> ContextSize:
    """Returns the size of the thread's context, estimated whatever Codex has reported."""
    overhead = overhead_tokens(state)
    used = overhead + estimate_total(conversation_items(state))
    if state.generation.reason == "undo":
        used = max(used, _size_since_measured(state, state.generation.number, state.active_turns))
    return ContextSize(
        used,
        is_estimate=True,
        is_unknown=True,
        note=NOT_REPORTED if overhead else NOT_REPORTED_AT_ALL,
    )


def window_of(usage: UsageTotals, model: str | None, policy: Policy) -> int | None:
    """Returns the size of the model's window in tokens: as reported, else as configured for the
    model, else None.
    """
    return usage.window or policy.model_windows.get(model or "")


def reported_size(usage: UsageTotals, window: int | None) -> ContextSize | None:
    """Returns the size that Codex reported, or None. A context that overflowed counts as filling
    the window.
    """
    if usage.report is None:
        return None
    basis = usage.report.basis
    used = (
        window
        if basis is SampleSource.FULL and window is not None
        else usage.report.used + usage.unreported
    )
    note = _NOTES.get(basis) or (INJECTED if usage.unreported > 0 else None)
    return ContextSize(used, is_estimate=note is not None, is_unknown=False, note=note)


def reported_level(state: ThreadState, policy: Policy) -> Level | None:
    """Returns the level of the reported size, or None if nothing was reported. An estimate of the
    daemon's own has no level.
    """
    window = window_of(state.usage, model_in(state.settings), policy)
    size = reported_size(state.usage, window)
    return level_of(size.used, window, policy) if size is not None and window is not None else None


def used_percent(used: int, window: int) -> float:
    """Returns the percentage of the window that is used, rounded to one decimal, as clients receive
    it.
    """
    return round(used * 100 / window, 1)


def percent_text(percent: float) -> str:
    """Returns a percentage as text without decimals: `74%`.

    Halves are rounded up, as in the web page and the Neovim plugin, so that all of them show the
    same number.
    """
    return f"{int(percent + 0.5)}%"


def share_text(used: int, window: int) -> str:
    """Returns the share of the window that `used` tokens take, as text: `74%`."""
    return percent_text(used_percent(used, window))


def left_percent(used: int, window: int) -> int:
    """Returns the percentage that Codex's own interface shows as left."""
    if window <= BASELINE_TOKENS:
        return 0
    usable = window - BASELINE_TOKENS
    left = usable - max(0, used - BASELINE_TOKENS)
    return int(max(0, left) * 100 / usable + 0.5)


def provider_compacts_at(window: int, configured: int | None) -> int:
    """Returns the number of tokens at which Codex compacts by itself. `configured` lowers it but
    cannot raise it.
    """
    own = window * PROVIDER_COMPACTS_PERCENT // RAW_WINDOW_PERCENT
    return own if configured is None else min(own, configured)


def level_of(used: int, window: int, policy: Policy) -> Level:
    """Returns the level of the meter: ok, warning or critical."""
    share = used / window
    return (
        "critical"
        if share >= policy.critical_at
        else "warning"
        if share >= policy.warning_at
        else "ok"
    )


def opened_tokens(state: ThreadState, opened: GenerationOpened) -> int:
    """Returns the estimated tokens of the context in the generation that the event `opened`
    opens.
    """
    estimated = overhead_tokens(state) + sum(opened_weights(state, opened))
    if opened.reason != "undo":
        return estimated
    given = frozenset(opened.turn_ids)
    turns = [turn for turn in state.active_turns if turn.id in given]
    return max(estimated, _size_since_measured(state, opened.generation, turns))


def _size_since_measured(state: ThreadState, number: int, turns: list[Turn]) -> int:
    """Returns the size of a context that begins the generation `number` as it was measured before
    the trims that were undone since, and the estimated size of what has come into it since; 0 if it
    was not measured.
    """
    measured = measured_turn(state, number)
    if measured is None or measured.report is None:
        return 0
    ids = [turn.id for turn in turns]
    later = tuple(ids[ids.index(measured.id) + 1 :]) if measured.id in ids else ()
    since = sum(opened_weights(state, GenerationOpened(number, "undo", "turns", later)))
    return measured.report.used + estimate_total(measured.injected_items) + since


def exceeds(state: ThreadState, opened: GenerationOpened, window: int) -> bool:
    """Returns whether the context of the generation that `opened` opens would be larger than
    `window` tokens. Reads only as many turns as are needed to decide.
    """
    sums = accumulate(opened_weights(state, opened), initial=overhead_tokens(state))
    return any(tokens > window for tokens in sums)


def opened_weights(state: ThreadState, opened: GenerationOpened) -> Iterator[int]:
    """Yields the estimated tokens of each part that the opened generation is given: summary, pins,
    turns.
    """
    if opened.summary is not None:
        yield estimate_tokens(summary_item(opened.summary, opened.summarized_messages))
    yield from _pin_weights(state, opened.pins)
    skipped, given = opened.skipped_items, frozenset(opened.turn_ids)
    turns = [turn for turn in state.active_turns if turn.id in given]
    summaries = standing_summaries(state.discards, turns)
    for turn in turns:
        yield estimate_total(turn.injected_before)
        if turn.items:
            placed = with_summary(placed_items(state, turn), summaries.get(turn.id))
            yield estimate_total(item for at, item in placed if at >= skipped)
        else:  # the items are read from the rollout only when they are needed
            entries = (entry for entry in state.entries_of(turn) if not entry.is_part)
            yield sum(map(_unrecorded_tokens, entries))
        skipped = 0
    yield estimate_total(state.active_injected)


def _pin_weights(state: ThreadState, pin_ids: tuple[str, ...]) -> Iterator[int]:
    pins = (pin for pin in standing_pins(state) if pin.id in pin_ids) if pin_ids else ()
    yield from (pin_tokens(state, pin) for pin in pins)


def _unrecorded_tokens(entry: Entry) -> int:
    is_message = entry.kind == "message"
    return estimate_tokens(message_item(entry)) if is_message else _entry_tokens(entry)


def overhead_tokens(state: ThreadState) -> int:
    """Returns the tokens of an empty session (instructions, tools) as last measured, or 0 if never
    measured.

    The overhead is the input of a generation's first call minus its bootstrap and prompt. A
    generation that began with kept turns is used only if there is no other, because the size of
    their items is known only roughly after they are pruned.
    """
    roughly: Generation | None = None
    for generation in reversed(state.generations[state.usage.overhead_until :]):
        if _is_measured(state, generation):
            if _begins_clean(generation):
                return _measured_overhead(state, generation)
            roughly = roughly or generation
    return state.usage.overhead if roughly is None else _measured_overhead(state, roughly)


def _measured_overhead(state: ThreadState, generation: Generation) -> int:
    assert generation.first_call is not None
    return max(
        0, generation.first_call.input_tokens - sum(_weights_at_first_call(state, generation))
    )


def _is_measured(state: ThreadState, generation: Generation) -> bool:
    first = generation.first_call
    if first is None or not all(
        turn_id in state.turn_index for turn_id in (first.turn_id, *generation.turn_ids)
    ):
        return False
    return len(_turns_before_first_call(state, generation)) <= MAX_WEIGHED_TURNS


def _begins_clean(generation: Generation) -> bool:
    return not generation.turn_ids and generation.bootstrap != "provider"


def _turns_before_first_call(state: ThreadState, generation: Generation) -> range:
    """Returns the positions of the generation's own turns before the turn of its first call, at
    most one more than `MAX_WEIGHED_TURNS`.
    """
    assert generation.first_call is not None
    first = start = state.turn_index[generation.first_call.turn_id]
    given = set(generation.turn_ids)
    while (
        start > 0
        and first - start <= MAX_WEIGHED_TURNS
        and state.turns[start - 1].generation == generation.number
        and state.turns[start - 1].id not in given
    ):
        start -= 1
    return range(start, first)


def _weights_at_first_call(state: ThreadState, generation: Generation) -> Iterator[int]:
    if generation.summary is not None:
        yield estimate_tokens(summary_item(generation.summary, generation.summarized_messages))
    yield from _pin_weights(state, generation.pins)
    before = _turns_before_first_call(state, generation)
    # The turns of a fork include the pruned turns of its parent.
    given = (state.turn_index[turn_id] for turn_id in generation.turn_ids)
    points = (one for one in state.trim_points if one.generation <= generation.number)
    begun = max((one.turn_index for one in points), default=0)
    kept = [index for index in given if index >= begun]
    for index in (*kept, *before):
        yield _injected_tokens(state, index)
        yield sum(_entry_tokens(entry) for entry in _entries(state, index))
    yield _injected_tokens(state, before.stop)
    yield sum(
        _entry_tokens(entry) for entry in _entries(state, before.stop) if entry.role == "user"
    )


def _injected_tokens(state: ThreadState, turn_index: int) -> int:
    """Returns the estimated tokens of the items that were injected before a turn, without those
    that were trimmed before the turn began.
    """
    pruned = (one.pruned_injected for one in state.trim_points if one.turn_index == turn_index)
    left = state.turns[turn_index].injected_before[max(pruned, default=0) :]
    return estimate_total(left)


def _entries(state: ThreadState, turn_index: int) -> list[Entry]:
    """Returns the entries of a turn that the model has."""
    entries = state.entries_of(state.turns[turn_index])
    return [entry for entry in entries if not entry.is_part]


def _entry_tokens(entry: Entry) -> int:
    return estimate_tokens(entry.detail) if entry.detail else estimate_text_tokens(entry.text)
