"""Records the outcome of automatic compactions, from which `core/decide/auto_compaction.py` decides
when to stop.

Only numbers are recorded: which outcome is useless depends on the configuration, and the state must
not.
"""

from trimpoint.core.model import events as ev
from trimpoint.core.model.state import CompactionAttempt, ThreadState
from trimpoint.core.model.usage import SampleSource

AUTO = "auto"
"""The trigger of an automatic compaction."""
REMEMBERED = 3
_TRIMS = frozenset({"clear", "compact"})


def note_trim(state: ThreadState) -> None:
    """Records a clear or compaction: an automatic compaction is an attempt, and one by a person
    forgets all attempts. Trim points that a fork inherits belong to no operation and change
    nothing.

    The operation decides which of them it is, not the trim point's `trigger`, because clients may
    choose that text.
    """
    operation = state.operation
    if operation is None or operation.kind not in _TRIMS:
        return
    if operation.compaction_trigger == AUTO:
        _remember(state, None)
    else:
        state.auto_attempts.clear()


def note_failure(state: ThreadState, event: ev.CompactionFailed, at_ms: int) -> None:
    """Records a failed automatic compaction as an attempt."""
    if state.operation is not None and state.operation.compaction_trigger == AUTO:
        _remember(state, event.message)


def note_lowest(state: ThreadState) -> None:
    """Records a new report of the context's size for the last attempt."""
    report = state.usage.report
    if state.auto_attempts and report is not None and report.basis is not SampleSource.FULL:
        last = state.auto_attempts[-1]
        last.lowest = report.used if last.lowest is None else min(last.lowest, report.used)


def note_turn_end(state: ThreadState) -> None:
    """Records the size of the context at the end of a turn for the last attempt. It decides whether
    the attempt won a turn.
    """
    report = state.usage.report
    if state.auto_attempts and report is not None and report.basis is not SampleSource.FULL:
        last = state.auto_attempts[-1]
        known = last.lowest_at_turn_end
        last.lowest_at_turn_end = report.used if known is None else min(known, report.used)


def _remember(state: ThreadState, failure: str | None) -> None:
    used = state.usage.report.used if state.usage.report is not None else 0
    state.auto_attempts = [*state.auto_attempts, CompactionAttempt(used, failure)][-REMEMBERED:]
