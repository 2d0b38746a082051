"""Threads that are filled, compacted by themselves, and looked at."""

from trimpoint.core.decide.auto_compaction import auto_status
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.operations import Phase
from trimpoint_protocol import readmodel as rm

from tests.core.given import Conversation, started
from tests.core.usage import call, complete

WINDOW = 100_000
COMPACT = Policy(auto="compact", overflow_recovery=True)
NOTHING: tuple[ev.AnyEvent, ...] = ()


def filled(
    *given: int, policy: Policy = COMPACT, thread: Conversation | None = None
) -> Conversation:
    """Returns a thread whose turns had these numbers of input tokens."""
    thread = thread or started(policy=policy)
    for tokens in given:
        turn_id = thread.begin_turn()
        before = (
            thread.state.usage.report.running_total if thread.state.usage.report is not None else 0
        )
        thread.report(call(turn_id, tokens, before + tokens + 10, WINDOW))
        complete(thread, turn_id)
    return thread


def poke(thread: Conversation) -> tuple[ev.AnyEvent, ...]:
    """Returns the events of an automatic compaction that is due, or none."""
    return thread.do(internal.TrimWhenDue()).events


def begins(thread: Conversation) -> bool:
    return bool(poke(thread))


def fail(thread: Conversation, why: str = "the model said nothing.") -> None:
    thread.advance(Phase.FAILED, message=why)


def succeed(thread: Conversation, summary: str | None = "the gist") -> None:
    operation = thread.state.open_operation
    assert operation is not None
    thread.advance(Phase.COMPACTING)
    carrier = "codex-thread-compacted" if summary is None else None
    thread.do(internal.CompleteCompaction(operation.id, summary, 10, carrier))
    thread.settle()


def shown(thread: Conversation, policy: Policy = COMPACT) -> rm.AutoCompaction:
    return auto_status(thread.state, policy)
