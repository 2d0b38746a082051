"""Folds the provider's token reports, and rates how far each can be trusted. Folded by the
projector alone.

Always true: only a model call is counted, and each once. Codex repeats its last report whenever a
thread is resumed, a turn fails or a compaction begins, also under the name of a newer turn, and
puts figures of its own making in between (measured: 0.163, 0.171):

- after its own compaction, an estimate of what the context holds: no parts, the running total
  unchanged;
- after an overflow, the running total overwritten with the window: no parts, and `last_total` is
  what was missing, even 0.
"""

from enum import StrEnum
from typing import Any

import msgspec

from trimpoint.core.model import events as ev
from trimpoint.core.model.lenient import as_dict

COMPACT_LIMIT = "model_auto_compact_token_limit"
"""Codex's own setting of when it compacts automatically."""


class SampleSource(StrEnum):
    """The source of a figure: a model call, the provider's estimate, or an overflow (the context
    was too full to be sent).
    """

    MEASURED = "measured"
    ESTIMATED = "estimated"
    FULL = "full"


class UsageSample(msgspec.Struct, frozen=True):
    """The last usage report. `used`: tokens in the context; `running_total`: the provider's count
    of all calls.
    """

    used: int
    running_total: int
    basis: SampleSource


class TokenCounts(msgspec.Struct):
    """Sums over model calls."""

    input: int = 0
    cached_input: int = 0
    output: int = 0
    reasoning_output: int = 0
    total: int = 0

    def add(self, event: ev.UsageReported) -> None:
        """Adds one more call."""
        self.input += event.input
        self.cached_input += event.cached_input
        self.output += event.output
        self.reasoning_output += event.reasoning_output
        self.total += event.last_total


class UsageTotals(msgspec.Struct):
    """`report` is of the present generation and None until it has one; `era` counts it alone,
    `thread` all of them.

    `overhead`: tokens of an empty session, measured in turns that are gone or in the thread that
    this one takes the place of; 0 if never. `window` is None when the provider did not say, or said
    it of another model. `unreported`: tokens, by estimate, of what was put into the context since
    the report, between turns.
    """

    report: UsageSample | None = None
    unreported: int = 0
    window: int | None = None
    era: TokenCounts = msgspec.field(default_factory=TokenCounts)
    thread: TokenCounts = msgspec.field(default_factory=TokenCounts)
    overhead: int = 0


def add_report(usage: UsageTotals, event: ev.UsageReported, *, is_live: bool) -> None:
    """Take one report; `is_live`: it is of the turn that runs."""
    if _is_new_call(event, usage.report, is_live=is_live):
        usage.era.add(event)
        usage.thread.add(event)
    if not _repeats(event, usage.report):
        usage.unreported = 0
    usage.report = UsageSample(event.last_total, event.total, _basis(event, usage.report))
    usage.window = event.window


def is_repetition(usage: UsageTotals, event: ev.UsageReported) -> bool:
    """Returns whether the report repeats the last one."""
    return event.window == usage.window and _repeats(event, usage.report)


def overflowed(usage: UsageTotals) -> None:
    """The provider could not fit the context into the window; whatever it reported of it is no
    measure.
    """
    last = usage.report
    usage.report = (
        UsageSample(0, 0, SampleSource.FULL)
        if last is None
        else msgspec.structs.replace(last, basis=SampleSource.FULL)
    )


def begin_era(usage: UsageTotals) -> None:
    """A new generation: nothing is reported of its context yet. The window stays, being the
    model's.
    """
    usage.report, usage.unreported, usage.era = None, 0, TokenCounts()


def model_in(settings: bytes) -> str | None:
    """Returns the model that a thread's settings (`trimpoint.operations.provider.settings`) name,
    if they do.
    """
    stored: dict[str, Any] = as_dict(msgspec.json.decode(settings))
    named = (
        as_dict(stored.get("current")).get("model")
        or as_dict(stored.get("start")).get("model")
        or stored.get("model")
    )
    return str(named) if named else None


def compact_limit_in(settings: bytes) -> int | None:
    """Returns the number of tokens at which the thread was started to be compacted by Codex itself,
    if it was told one.
    """
    config = as_dict(as_dict(as_dict(msgspec.json.decode(settings)).get("start")).get("config"))
    limit = config.get(COMPACT_LIMIT)
    return limit if isinstance(limit, int) else None


def _has_parts(event: ev.UsageReported) -> bool:
    return event.input > 0 or event.output > 0


def _is_new_call(event: ev.UsageReported, before: UsageSample | None, *, is_live: bool) -> bool:
    if not _has_parts(event):
        return False
    # Of a thread that was taken over, the first report is of a call of another program.
    return is_live if before is None else event.total != before.running_total


def _basis(event: ev.UsageReported, before: UsageSample | None) -> SampleSource:
    if before is not None and _repeats(event, before):
        return before.basis  # of what was found too full, too
    if _has_parts(event):
        return SampleSource.MEASURED
    goes_on = before is not None and event.total == before.running_total
    return (
        SampleSource.FULL if event.total == event.window and not goes_on else SampleSource.ESTIMATED
    )


def _repeats(event: ev.UsageReported, before: UsageSample | None) -> bool:
    return before is not None and (event.last_total, event.total) == (
        before.used,
        before.running_total,
    )
