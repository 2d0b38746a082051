"""Threads with old output, whose size was measured, so that it may be masked without a request."""

from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import DiscardPolicy, Policy

from tests.core.auto_compaction import WINDOW
from tests.core.discards import work
from tests.core.given import Conversation, started
from tests.core.usage import call, complete

MASK = Policy(auto="mask", min_freed=0.003, discard=DiscardPolicy(floor_tokens=0))
MINUTE_MS = 60_000


def worked(turns: int = 7, *, policy: Policy = MASK) -> Conversation:
    thread = started(policy=policy)
    for number in range(turns):
        work(thread, f"w{number}")
    return thread


def measured(thread: Conversation, used: int) -> Conversation:
    """Runs a turn whose model call has `used` tokens of input."""
    turn_id = thread.begin_turn("go on")
    before = thread.state.usage.report.running_total if thread.state.usage.report else 0
    thread.report(call(turn_id, used, before + used + 10, WINDOW))
    complete(thread, turn_id)
    return thread


def trims(thread: Conversation) -> list[ev.ContextMasked]:
    events = thread.do(internal.TrimWhenDue()).events
    return [event for event in events if isinstance(event, ev.ContextMasked)]
