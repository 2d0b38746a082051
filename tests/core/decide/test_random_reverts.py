"""Random lives of a thread with reverts in them: each revert brings back what the thread was then."""

from itertools import product
from typing import Any, NamedTuple

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from trimpoint.core.context.active_context import active_message_count
from trimpoint.core.decide.decider import decide
from trimpoint.core.model.state import ThreadState
from trimpoint_protocol.errors import Reason

from tests.core.given import (
    Conversation,
    assistant,
    compact,
    started,
    trim,
)
from tests.core.reverting import revert


class Seen(NamedTuple):
    """The state of a thread at one time: its ledger, trim points and context."""

    turns: tuple[str, ...]
    entries: tuple[str, ...]
    points: tuple[str, ...]
    boundaries: tuple[int, ...]
    active: tuple[str, ...]
    summary: str | None
    messages: int


def seen(state: ThreadState) -> Seen:
    points = state.trim_points
    return Seen(
        tuple(turn.id for turn in state.turns),
        tuple(entry.id for entry in state.entries),
        tuple(point.id for point in points),
        tuple(point.entry_index for point in points),
        tuple(turn.id for turn in state.active_turns),
        points[-1].summary if points else None,
        active_message_count(state),
    )


TRIMS = ("clear", "clear 1", "clear 2", "compact", "compact 1")


def apply_trim(thread: Conversation, name: str) -> None:
    verb, _, keep = name.partition(" ")
    if verb == "clear":
        thread.clear(int(keep or 0))
    else:
        thread.compact(f"summary {len(thread.records)}", int(keep or 0))


def life(trims: tuple[str, ...]) -> tuple[Conversation, list[Seen]]:
    """Runs three turns before each trim and three after the last, and returns the thread and its
    state after each turn.
    """
    thread = started()
    history = [seen(thread.state)]
    for step in (*trims, None):
        for _ in range(3):
            thread.turn()
            history.append(seen(thread.state))
        if step is not None:
            apply_trim(thread, step)
    return thread, history


@pytest.mark.parametrize("trims", list(product(TRIMS, repeat=2)))
def test_a_revert_to_any_turn_brings_back_what_the_thread_was_then(trims: tuple[str, ...]) -> None:
    _, history = life(trims)
    for count in range(len(history)):
        thread, _ = life(trims)
        if (
            thread.when(revert(turn_count=count, scope="context")).decision[0]
            is Reason.NOTHING_TO_REVERT
        ):
            assert seen(thread.state) == history[count]
            continue
        before = seen(thread.state)
        thread.revert(turn_count=count)
        assert seen(thread.state) == history[count]
        assert thread.replayed() == thread.state
        thread.revert(undo=True)
        assert seen(thread.state) == before
        thread.revert(undo=True)
        assert seen(thread.state) == history[count]


def in_time(entries: tuple[str, ...]) -> list[str]:
    """Returns the entries without those that came after their turn had been recorded."""
    return [entry for entry in entries if "/late " not in entry]


@drawn(
    st.lists(st.sampled_from(["turn", *TRIMS, "revert", "undo", "late entry"]), max_size=25),
    st.randoms(use_true_random=False),
)
def test_any_life_with_reverts_in_it(steps: list[str], chance: Any) -> None:
    thread = started()
    then: dict[tuple[str, ...], Seen] = {(): seen(thread.state)}
    for step in steps:
        state = thread.state
        match step:
            case "turn":
                thread.turn()
                then[tuple(turn.id for turn in thread.state.turns)] = seen(thread.state)
            case "revert":
                count = chance.randint(0, len(state.turns))
                target = then[tuple(turn.id for turn in state.turns[:count])]
                decision = decide(
                    state, revert(turn_count=count, scope="context"), thread.stamp(), thread.policy
                )
                if decision[0] is not Reason.NOTHING_TO_REVERT:
                    thread.revert(turn_count=count)
                now = seen(thread.state)
                assert (now.turns, now.points, now.active, now.summary) == (
                    target.turns,
                    target.points,
                    target.active,
                    target.summary,
                )
                assert in_time(now.entries) == in_time(target.entries)
            case "undo" if state.undo_state is not None:
                before = seen(state)
                thread.revert(undo=True)
                thread.revert(undo=True)
                assert seen(thread.state) == before
            case "late entry" if state.turns:
                turn_id = chance.choice(state.turns).id
                thread.report(assistant(turn_id, f"late {len(thread.records)}"))
            case "undo" | "late entry":
                pass
            case _:
                command = (
                    trim(int(step[-1]) if step[-1].isdigit() else 0)
                    if "clear" in step
                    else compact(force=True)
                )
                if not isinstance(decide(state, command, thread.stamp(), thread.policy)[0], Reason):
                    apply_trim(thread, step if "clear" in step else "compact")
        assert thread.replayed() == thread.state
        for point in thread.state.trim_points:
            assert point.before_entry_id == (
                thread.state.entries[point.entry_index - 1].id if point.entry_index else None
            )
