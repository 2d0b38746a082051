"""Folds the outcome of automatic compactions, for the loop guard of
`core/decide/auto_compaction.py`.

Numbers only: what counts as in vain is configured, and the state must not depend on the
configuration.
"""

from trimpoint.core.model import events as ev
from trimpoint.core.model.state import CompactionAttempt, ThreadState
from trimpoint.core.model.usage import SampleSource

AUTO = "auto"
"""The trigger of what the daemon does about a critical context by itself."""
REMEMBERED = 3
_TRIMS = frozenset({"clear", "compact"})


def note_trim(state: ThreadState) -> None:
    """Folds a trim of the context: by us, or by a person, who has looked after it. What a fork
    inherits belongs to no operation.

    The operation tells, and not the trim point's `trigger`, in which a client may write what it
    likes.
    """
    operation = state.operation
    if operation is None or operation.kind not in _TRIMS:
        return
    if operation.compaction_trigger == AUTO:
        _remember(state, None)
    else:
        state.auto_attempts.clear()


def note_failure(state: ThreadState, event: ev.CompactionFailed, at_ms: int) -> None:
    """Folds a failed compaction."""
    if state.operation is not None and state.operation.compaction_trigger == AUTO:
        _remember(state, event.message)


def note_lowest(state: ThreadState) -> None:
    """Folds a new figure of the context's size."""
    report = state.usage.report
    if state.auto_attempts and report is not None and report.basis is not SampleSource.FULL:
        last = state.auto_attempts[-1]
        last.lowest = report.used if last.lowest is None else min(last.lowest, report.used)


def note_turn_end(state: ThreadState) -> None:
    """Folds the end of a turn: whether it ended below the critical level tells what the last
    attempt won.
    """
    report = state.usage.report
    if state.auto_attempts and report is not None and report.basis is not SampleSource.FULL:
        last = state.auto_attempts[-1]
        known = last.lowest_at_turn_end
        last.lowest_at_turn_end = report.used if known is None else min(known, report.used)


def _remember(state: ThreadState, failure: str | None) -> None:
    used = state.usage.report.used if state.usage.report is not None else 0
    state.auto_attempts = [*state.auto_attempts, CompactionAttempt(used, failure)][-REMEMBERED:]
