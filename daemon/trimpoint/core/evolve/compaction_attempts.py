"""What became of automatic compactions: folds of the projector, for the loop guard of
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
    """A context was trimmed: by us, or by a person, who has looked after it. What a fork inherits
    belongs to no operation.

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
    """A compaction failed."""
    if state.operation is not None and state.operation.compaction_trigger == AUTO:
        _remember(state, event.message)


def note_lowest(state: ThreadState) -> None:
    """Something new is known of what the context holds."""
    report = state.usage.report
    if state.auto_attempts and report is not None and report.basis is not SampleSource.FULL:
        last = state.auto_attempts[-1]
        last.lowest = report.used if last.lowest is None else min(last.lowest, report.used)


def note_turn_end(state: ThreadState) -> None:
    """A turn has ended: whether it ended below the critical level tells what the last attempt
    won.
    """
    report = state.usage.report
    if state.auto_attempts and report is not None and report.basis is not SampleSource.FULL:
        last = state.auto_attempts[-1]
        known = last.lowest_at_turn_end
        last.lowest_at_turn_end = report.used if known is None else min(known, report.used)


def _remember(state: ThreadState, failure: str | None) -> None:
    used = state.usage.report.used if state.usage.report is not None else 0
    state.auto_attempts = [*state.auto_attempts, CompactionAttempt(used, failure)][-REMEMBERED:]
