"""Sums the usage reports of Codex, and rates how reliable each one is. Only the projector changes
these sums.

A model call is counted once, and nothing else is counted. Codex repeats its last report whenever a
thread is resumed, a turn fails or a compaction begins, also with the id of a newer turn. It also
sends figures that it computed itself (measured: 0.163, 0.171):

- after its own compaction, an estimate of the context: no parts, and an unchanged running total;
- after an overflow, the running total set to the size of the window: no parts, and `last_total` is
  the number of missing tokens, possibly 0.
"""

from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec
from trimpoint_protocol.lenient import as_dict

from trimpoint.core.model import events as ev

COMPACT_LIMIT = "model_auto_compact_token_limit"
"""Codex's own setting for the number of tokens at which it compacts automatically."""


QUARTER_MS = 15 * 60 * 1000


class SampleSource(StrEnum):
    """The source of a figure: a model call, an estimate of Codex, or an overflow (the context was
    too large to be sent).
    """

    MEASURED = "measured"
    ESTIMATED = "estimated"
    FULL = "full"


class UsageSample(msgspec.Struct, frozen=True):
    """The last usage report. `used` are the tokens in the context, `running_total` is Codex's sum
    over all calls, and `basis` is the source of `used`.
    """

    used: int
    running_total: int
    basis: SampleSource


class ModelCall(msgspec.Struct, frozen=True):
    """A model call: of its `input` tokens, `cached_input` came from the provider's cache. `at_ms`
    are milliseconds since the epoch.
    """

    input: int
    cached_input: int
    at_ms: int


class TokenCounts(msgspec.Struct):
    """Sums of tokens over several model calls."""

    input: int = 0
    cached_input: int = 0
    output: int = 0
    reasoning_output: int = 0
    total: int = 0
    calls: int = 0

    def add(self, event: ev.UsageReported) -> None:
        """Adds the tokens of one model call."""
        self.input += event.input
        self.cached_input += event.cached_input
        self.output += event.output
        self.reasoning_output += event.reasoning_output
        self.total += event.last_total
        self.calls += 1


class Spent(msgspec.Struct, array_like=True):
    """What the calls of one model took in a quarter of an hour, which is counted from the epoch.

    `spared` and `read_anew` are as in `UsageTotals`. `trims` counts trims by their triggers; only a
    catalogue has them.
    """

    quarter: int
    model: str
    calls: int = 0
    input: int = 0
    cached_input: int = 0
    output: int = 0
    spared: int = 0
    read_anew: int = 0
    trims: dict[str, int] = {}


class UsageTotals(msgspec.Struct):
    """The token counts of a thread. `report`, `last_call` and `era` are of the present generation
    (the first two are None before its first report), `thread` is of all generations.

    `overhead` are the tokens of an empty session, measured earlier in this thread or in the one
    that it replaces; 0 if never measured. It counts until a generation after number
    `overhead_until` has measured another. `window` is the size of the model's window in tokens, or
    None if Codex has not reported it for this model. `unreported` are the estimated tokens that
    were added to the context since the report, between turns.

    Of the last trim, `before_trim` is the measured size of the context before it, 0 if it was not
    measured, and `removed` is by how much the first call after it was smaller. `spared` are the
    tokens that all trims have kept from being sent, counted with every call up to the next trim;
    `read_anew` are those that the first calls after them did not find in the cache. `spent` has
    these sums by time and model, in the order of the calls.
    """

    report: UsageSample | None = None
    unreported: int = 0
    window: int | None = None
    era: TokenCounts = msgspec.field(default_factory=TokenCounts)
    thread: TokenCounts = msgspec.field(default_factory=TokenCounts)
    overhead: int = 0
    last_call: ModelCall | None = None
    before_trim: int = 0
    removed: int = 0
    spared: int = 0
    read_anew: int = 0
    overhead_until: int = 0
    spent: list[Spent] = []


def add_report(
    usage: UsageTotals, event: ev.UsageReported, at_ms: int, settings: bytes, *, is_live: bool
) -> None:
    """Adds one usage report. `is_live` says that it belongs to the running turn; `settings` are
    those of the thread.
    """
    if _is_new_call(event, usage.report, is_live=is_live):
        usage.era.add(event)
        usage.thread.add(event)
        before = usage.spared, usage.read_anew
        if event.input > 0:
            _count_trim(usage, event)
            usage.last_call = ModelCall(event.input, event.cached_input, at_ms)
        spent = _spent_at(usage, at_ms, _model_of(settings) or "")
        spent.calls += 1
        spent.input += event.input
        spent.cached_input += event.cached_input
        spent.output += event.output
        spent.spared += usage.spared - before[0]
        spent.read_anew += usage.read_anew - before[1]
    if not _repeats(event, usage.report):
        usage.unreported = 0
    usage.report = UsageSample(event.last_total, event.total, _basis(event, usage.report))
    usage.window = event.window


def quarter_of(at_ms: int) -> int:
    """Returns the quarter of an hour that a time is in. Days begin with one in each time zone."""
    return at_ms // QUARTER_MS


def _spent_at(usage: UsageTotals, at_ms: int, model: str) -> Spent:
    quarter = quarter_of(at_ms)
    last = usage.spent[-1] if usage.spent else None
    if last is None or (last.quarter, last.model) != (quarter, model):
        last = Spent(quarter, model)
        usage.spent.append(last)
    return last


def _count_trim(usage: UsageTotals, event: ev.UsageReported) -> None:
    if usage.last_call is None and usage.before_trim:
        usage.removed = max(0, usage.before_trim - event.input)
        usage.read_anew += event.input - event.cached_input if usage.removed else 0
    usage.spared += usage.removed


def is_repetition(usage: UsageTotals, event: ev.UsageReported) -> bool:
    """Returns whether the report is the same as the last one."""
    return event.window == usage.window and _repeats(event, usage.report)


def overflowed(usage: UsageTotals) -> None:
    """Marks the last report as `FULL`: the context did not fit into the window, so the reported
    size is no measure.
    """
    last = usage.report
    usage.report = (
        UsageSample(0, 0, SampleSource.FULL)
        if last is None
        else msgspec.structs.replace(last, basis=SampleSource.FULL)
    )


def begin_era(usage: UsageTotals) -> None:
    """Starts the counts of a new generation: no report and zero tokens. The size of the window
    stays, because it belongs to the model.
    """
    last = usage.report
    is_measured = last is not None and last.basis is SampleSource.MEASURED
    usage.before_trim, usage.removed = last.used if last and is_measured else 0, 0
    usage.report, usage.unreported, usage.era = None, 0, TokenCounts()
    usage.last_call = None


def has_agent_tools(settings: bytes) -> bool:
    """Returns whether a thread's settings give the agent the tools with which it can reduce its
    context and read what has left it.
    """
    return bool(as_dict(msgspec.json.decode(settings or b"{}")).get("agentTools"))


def model_in(settings: bytes) -> str | None:
    """Returns the model that a thread's settings name (`trimpoint.operations.provider.settings`),
    or None.
    """
    stored: dict[str, Any] = as_dict(msgspec.json.decode(settings))
    named = (
        as_dict(stored.get("current")).get("model")
        or as_dict(stored.get("start")).get("model")
        or stored.get("model")
    )
    return str(named) if named else None


# Read with each report, and seldom another one.
_model_of = lru_cache(64)(model_in)


def compact_limit_in(settings: bytes) -> int | None:
    """Returns the number of tokens at which Codex compacts the thread by itself, as given when the
    thread was started, or None.
    """
    config = as_dict(as_dict(as_dict(msgspec.json.decode(settings)).get("start")).get("config"))
    limit = config.get(COMPACT_LIMIT)
    return limit if isinstance(limit, int) else None


def _has_parts(event: ev.UsageReported) -> bool:
    return event.input > 0 or event.output > 0


def _is_new_call(event: ev.UsageReported, before: UsageSample | None, *, is_live: bool) -> bool:
    if not _has_parts(event):
        return False
    # The first report of an adopted thread may be of a call that another program made.
    return is_live if before is None else event.total != before.running_total


def _basis(event: ev.UsageReported, before: UsageSample | None) -> SampleSource:
    if before is not None and _repeats(event, before):
        return before.basis  # also if that is FULL
    if _has_parts(event):
        return SampleSource.MEASURED
    same_sum = before is not None and event.total == before.running_total
    return (
        SampleSource.FULL
        if event.total == event.window and not same_sum
        else SampleSource.ESTIMATED
    )


def _repeats(event: ev.UsageReported, before: UsageSample | None) -> bool:
    return before is not None and (event.last_total, event.total) == (
        before.used,
        before.running_total,
    )
