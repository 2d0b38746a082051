"""A thread with work to discard, and discards of it."""

from typing import Any

from trimpoint.core.context.generations import bootstrap_items
from trimpoint.core.context.segments import context_segments
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import DiscardPolicy, Policy
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.timeline import Timeline
from trimpoint_protocol import commands as wire
from trimpoint_protocol.readmodel import TimelineActivity, TimelineMessage

from tests.core.given import Conversation, client, started
from tests.core.items import call, output, ran, thought, turn

SMALL = Policy(discard=DiscardPolicy(floor_tokens=50, target_tokens=400))


def at_work(*words: str, policy: Policy = SMALL) -> Conversation:
    """Returns a thread with a turn for each word: a prompt, a long command output and an answer."""
    thread = started(policy=policy)
    for word in words:
        work(thread, word)
    return thread


def work(thread: Conversation, word: str, actions: str = "unknown") -> str:
    step = (
        thought(f"rs_{word}"),
        call(word, f"cat {word}"),
        output(word, f"{word} " * 100),
        ran("", word, f"cat {word}", [actions]),
    )
    return turn(thread, f"{word}?", f"{word}!", step)


def discard(*entry_ids: str, **arguments: Any) -> Any:
    return client(wire.DiscardContext, entry_ids=list(entry_ids) or None, **arguments)


def compress(target: int) -> Any:
    return client(wire.DiscardContext, target_tokens=target)


def entry_of(state: ThreadState, shown: str) -> str:
    [unit] = [unit for unit in context_segments(state) if unit.preview == shown]
    return unit.entry_ids[0]


def active(state: ThreadState) -> list[bytes]:
    """Returns the items that the generation would begin with if its session were prepared again."""
    return bootstrap_items(state, state.generation)


def took(thread: Conversation, *shown: str) -> ev.ContextDiscarded:
    decision = thread.do(discard(*(entry_of(thread.state, one) for one in shown)))
    thread.settle()
    [event] = [event for event in decision.events if isinstance(event, ev.ContextDiscarded)]
    return event


def shown(thread: Conversation, *expanded: str) -> list[TimelineMessage | TimelineActivity]:
    entries = Timeline(thread.state, frozenset(expanded))
    return [entry for entry in entries if isinstance(entry, TimelineMessage | TimelineActivity)]
