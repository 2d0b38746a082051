"""What a person is told of `/undo`: before it, and in its answer."""

import pytest
from trimpoint.core.context.context_size import context_size
from trimpoint.core.decide.undoing import REDO_ENDS, newest_boundary
from trimpoint.core.model import events as ev
from trimpoint.core.views.trim_outcome import (
    called,
    came_back,
    planned_change,
    planned_text,
    undo_command,
)
from trimpoint_protocol import commands as wire

from tests.core.given import (
    THREAD,
    Conversation,
    client,
    started,
)
from tests.core.undoing import FREE, undo


def planned(thread: Conversation, **arguments: object) -> tuple[str, int | None]:
    """Returns the text of a dry run, and the tokens after it."""
    command = client(wire.UndoTrim, **arguments)
    assert isinstance(command, wire.UndoTrim)
    change = planned_change(thread.state, command, thread.policy)
    return planned_text(thread.state, command), change.after


def test_a_dry_run_of_a_clear_that_takes_no_turn_says_so() -> None:
    command = wire.TrimContext(command_id="c", thread_id="t", keep_last_n_turns=3)
    assert "what the context begins with" in planned_text(started(turns=1).state, command)


def test_a_dry_run_says_what_comes_back_and_how_large_the_context_becomes() -> None:
    thread = started(turns=3)
    thread.compact("in short", 2)
    thread.clear(1)
    text, after = planned(thread)
    back = "2 messages in 1 turn would be in the context again"
    assert text == f"Would undo /clear: {back}; the context would hold 2 turns."
    undo(thread)
    assert context_size(thread.state, thread.policy).used == after
    text, after = planned(thread, redo=True)
    assert text == "Would make /clear again; the context would hold 1 turn."
    undo(thread, redo=True)
    assert context_size(thread.state, thread.policy).used == after
    assert planned(thread, redo=True) == (f"Nothing to redo. {REDO_ENDS}", None)


@pytest.mark.parametrize(
    ("trim", "back"),
    [
        ("clear of a summary", "the summary is in the context again"),
        ("discard of one", "1 entry of about 10 tokens is in the context again"),
        ("discard of two", "2 entries of about 20 tokens are in the context again"),
        ("clear", "2 messages in 1 turn are in the context again"),
    ],
)
def test_the_answer_to_undo_counts_what_came_back(trim: str, back: str) -> None:
    thread = started(turns=2, policy=FREE)
    match trim:
        case "clear of a summary":
            thread.compact()
            thread.clear()
        case "clear":
            thread.clear(1)
        case _:
            names = ["turn-1/user/prompt of turn-1", "turn-1/assistant/answer of turn-1"]
            chosen = names[: 1 if trim.endswith("one") else 2]
            count = len(chosen)
            thread.write(
                ev.ContextDiscarded(
                    THREAD, "d", 0, tuple(chosen), (("turn-1", (0, 1)),), 2, "discard", 10 * count
                )
            )
    boundary = newest_boundary(thread.state)
    assert boundary is not None
    assert came_back(thread.state, boundary) == back


def test_the_way_back_is_an_undo_a_redo_or_a_revert() -> None:
    thread = started(turns=3)
    assert undo_command(started().state) is None
    thread.clear(1)
    assert undo_command(thread.state) == "/undo"
    undo(thread)
    assert undo_command(thread.state, of_undo=True) == "/undo --redo"
    thread.compact(None)
    thread.turns(2)
    thread.clear(1)
    assert undo_command(thread.state) == "/revert 5 --context"
    assert undo_command(started(turns=1).state, of_undo=True) is None


def test_a_trim_is_called_as_it_was_made() -> None:
    thread = started(turns=2)
    thread.clear(1, trigger="a client of its own kind")
    assert called(thread.state.trim_points[0]) == "the trim"
