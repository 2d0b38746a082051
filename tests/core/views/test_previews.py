"""A preview tells the size that the command leaves, for each command in each kind of thread."""

from collections.abc import Callable

import pytest
from trimpoint.core.context.context_size import context_size, overhead_tokens
from trimpoint.core.decide.decider import decide
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Accepted, Policy
from trimpoint.core.model.state import Reverting, ThreadState
from trimpoint.core.views.trim_outcome import planned_change, planned_revert_change
from trimpoint.operations.history.adoption import as_it_was, inherited_history
from trimpoint_protocol import commands as wire

from tests.core.given import Conversation, assistant, client, raw_turn, started, trim
from tests.core.pinning import pin
from tests.core.usage import call, complete

POLICY = Policy()
Act = Callable[[Conversation], None]
Previewed = wire.TrimContext | wire.UndoTrim | wire.RevertToCheckpoint


def told(thread: Conversation) -> None:
    """Runs a turn of one model call, with a size that says little of what there is."""
    size = 40 * len(thread.records)
    turn_id = thread.begin_turn("x" * size)
    thread.report(call(turn_id, 5_000, 10 * len(thread.records)))
    thread.report(assistant(turn_id, "answered"))
    thread.report(ev.ContextItemsRecorded(turn_id, raw_turn("x" * size, "answered")))
    complete(thread, turn_id)


def clear(keep: int | None) -> Act:
    def act(thread: Conversation) -> None:
        thread.clear(keep)

    return act


def compact(thread: Conversation) -> None:
    thread.compact(keep=1)


def undo(thread: Conversation) -> None:
    thread.do(client(wire.UndoTrim))
    thread.settle()


def revert(count: int) -> Act:
    return lambda thread: thread.revert(turn_count=count)


def revert_back(thread: Conversation) -> None:
    thread.revert(undo=True)


def note(thread: Conversation) -> None:
    pin(thread, note="Python 3.8 only")


def fork(thread: Conversation) -> None:
    """Goes on as a fork of the thread."""
    parent = as_it_was(
        thread.state, len(thread.state.turns), thread.state.generation.pins, now=True
    )
    facts = inherited_history(parent, "fork")
    given = tuple(turn.id for turn in parent.turns)
    overhead = overhead_tokens(thread.state)
    thread.state = ThreadState()
    thread.do(
        internal.CreateThread(
            "fork", "/work", "forked", b"{}", "codex-fork", "/rollouts/fork",
            inherited_turn_ids=given, overhead_tokens=overhead,
        )
    )  # fmt: skip
    thread.report(*facts)


LIVES: dict[str, tuple[Act, ...]] = {
    "turns alone": (told, told, told),
    "a clear": (told, told, told, clear(1), told),
    "a clear to nothing": (told, told, clear(None), told, told),
    "a compaction": (
        told,
        told,
        told,
        compact,
        told,
    ),
    "a clear undone": (told, told, told, clear(1), undo, told),
    "a clear undone, nothing since": (told, told, told, clear(1), told, clear(1), undo),
    "a revert": (told, told, told, revert(1), told),
    "a revert, nothing since": (told, told, told, revert(1)),
    "a revert behind a clear": (told, told, told, clear(1), told, revert(2)),
    "a fork": (told, told, fork, told, told),
    "a fork, nothing since": (told, told, fork),
    "a fork behind a clear": (told, told, told, clear(1), told, fork, told, told),
    "a fork behind a clear to nothing": (told, told, clear(None), fork, told, told),
    "a fork with a revert": (told, told, told, clear(2), fork, told, told, revert(3)),
    "a revert, and back": (told, told, told, revert(1), told, revert_back),
    "a note": (told, told, note, told, clear(1), told),
}
COMMANDS: dict[str, Previewed] = {
    "clear": trim(),
    "clear 1": trim(1),
    "clear 2": trim(2),
    "undo": wire.UndoTrim(command_id="p", thread_id="thread-1"),
    "redo": wire.UndoTrim(command_id="p", thread_id="thread-1", redo=True),
    **{
        f"revert {n}": wire.RevertToCheckpoint(
            command_id="p", thread_id="thread-1", turn_count=n, scope="context"
        )
        for n in (0, 1, 2)
    },
    "revert back": wire.RevertToCheckpoint(
        command_id="p", thread_id="thread-1", undo=True, scope="context"
    ),
}


def previewed(thread: Conversation, command: Previewed) -> int | None:
    if not isinstance(command, wire.RevertToCheckpoint):
        return planned_change(thread.state, command, POLICY).after
    count = command.turn_count or 0
    turn_id = thread.state.turns[count - 1].id if count else None
    reverting = Reverting(turn_id, "context", command.undo, False, "", "")
    return planned_revert_change(thread.state, reverting, POLICY).after


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.parametrize("life", LIVES.values(), ids=LIVES.keys())
def test_the_size_of_a_preview_is_the_size_afterwards(
    life: tuple[Act, ...], command: Previewed
) -> None:
    thread = started()
    for act in life:
        act(thread)
    if not isinstance(decide(thread.state, command, thread.stamp(), POLICY), Accepted):
        return
    preview = previewed(thread, command)
    thread.do(command)
    if isinstance(command, wire.RevertToCheckpoint):
        thread.finish_revert()
    else:
        thread.settle()
    assert preview == context_size(thread.state, POLICY).used
