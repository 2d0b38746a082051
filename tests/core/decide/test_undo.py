"""`/undo` and `/undo --redo`: the context afterwards, and why a trim is not undone."""

import random
from copy import deepcopy
from dataclasses import dataclass, field

import pytest
from trimpoint.core.context.active_context import pruned_turn_ids, turn_items
from trimpoint.core.context.context_size import context_size
from trimpoint.core.context.generations import bootstrap_items
from trimpoint.core.decide.reverting import target_after
from trimpoint.core.decide.undoing import REDO_ENDS, newest_boundary
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import DiscardPolicy, Policy
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.timeline import derive_timeline_entries
from trimpoint.core.views.trim_outcome import (
    called,
    came_back,
    planned_change,
    planned_text,
    undo_command,
)
from trimpoint.core.views.view import read_model
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.readmodel import ContextTrimPointDivider

from tests.core.given import (
    THREAD,
    Conversation,
    activity,
    client,
    raw_message,
    started,
    texts,
)

WINDOW = Policy(model_windows={"gpt-5": 500})
FREE = Policy(discard=DiscardPolicy(floor_tokens=0))


def undo(thread: Conversation, **arguments: object) -> None:
    """Runs `/undo` until its session is ready."""
    thread.do(client(wire.UndoTrim, **arguments))
    thread.settle()


def refusal(thread: Conversation, reason: Reason, **arguments: object) -> str:
    return thread.when(client(wire.UndoTrim, **arguments)).rejected(reason).message


def shown(state: ThreadState) -> list[str]:
    """Returns the texts of the model's input before the next prompt."""
    generation = state.generation
    given = texts(bootstrap_items(state, generation))
    own = [
        turn
        for turn in state.active_turns
        if turn.generation == generation.number and turn.id not in generation.turn_ids
    ]
    return given + [text for turn in own for text in texts(turn_items(state, turn))]


def said(*numbers: int) -> list[str]:
    return [text for n in numbers for text in (f"prompt of turn-{n}", f"answer of turn-{n}")]


def dividers(state: ThreadState) -> list[str]:
    entries = derive_timeline_entries(state, frozenset())
    return [one.trim_point_id for one in entries if isinstance(one, ContextTrimPointDivider)]


# --- what comes back --------------------------------------------------------------------------


def test_a_clear_is_undone_and_the_turns_since_stay() -> None:
    thread = started(turns=3)
    thread.clear(1)
    thread.turn()
    undo(thread)
    assert shown(thread.state) == said(1, 2, 3, 4)
    assert thread.state.generation.reason == "undo"
    assert (dividers(thread.state), read_model(thread.state, Policy()).context_trim_points) == (
        [],
        [],
    )
    assert thread.replayed() == thread.state


def test_an_undo_is_written_with_its_own_event() -> None:
    thread = started(turns=2)
    point = thread.clear()
    thread.when(client(wire.UndoTrim)).then(
        ev.OperationStarted(thread.stamp().id, "undo"),
        ev.TrimUndone(THREAD, point, 3),
        ev.GenerationOpened(3, "undo", "turns", ("turn-1", "turn-2")),
        ev.SessionStopRequested(2),
        ev.SessionStartRequested(3),
    )


def test_a_compaction_is_undone_also_when_only_the_provider_can_read_its_summary() -> None:
    thread = started(turns=3)
    thread.compact("in short")
    undo(thread)
    assert (shown(thread.state), thread.state.compaction_count) == (said(1, 2, 3), 0)
    thread.compact(None)
    thread.turn()
    undo(thread)
    assert shown(thread.state) == said(1, 2, 3, 4)


def test_the_summary_that_a_clear_took_comes_back() -> None:
    thread = started(turns=3)
    thread.compact("in short", 1)
    summary = shown(thread.state)[0]
    thread.clear()
    thread.turn()
    undo(thread)
    assert shown(thread.state) == [summary, *said(3, 4)]


def test_a_discard_is_undone() -> None:
    thread = started(turns=3, policy=FREE)
    thread.do(client(wire.DiscardContext, entry_ids=["turn-1/user/prompt of turn-1"]))
    thread.settle()
    assert shown(thread.state) == ["answer of turn-1", *said(2, 3)]
    undo(thread)
    assert (shown(thread.state), thread.state.discards) == (said(1, 2, 3), [])
    undo(thread, redo=True)
    assert shown(thread.state) == ["answer of turn-1", *said(2, 3)]
    assert thread.replayed() == thread.state


def test_an_overflow_is_undone_where_it_is_asked_for_twice() -> None:
    thread = started(turns=6)
    thread.overflow()
    thread.retry()
    thread.report(ev.ContextItemsRecorded("turn-7", (raw_message("user", "prompt of turn-7"),)))
    thread.report(ev.TurnCompleted("turn-7", "completed"))
    undo(thread, force=True)
    assert shown(thread.state) == [*said(1, 2, 3, 4, 5, 6), "prompt of turn-7"]


def test_again_takes_back_the_one_before() -> None:
    thread = started(turns=3)
    thread.clear(2)
    thread.clear(1)
    undo(thread)
    assert shown(thread.state) == said(2, 3)
    undo(thread)
    assert shown(thread.state) == said(1, 2, 3)
    assert (
        refusal(thread, Reason.NOTHING_TO_UNDO)
        == "Nothing to undo: no trim is in effect on this thread."
    )


# --- redo -------------------------------------------------------------------------------------


def test_redo_makes_the_trims_again_in_their_order() -> None:
    thread = started(turns=3)
    thread.compact("in short", 2)
    thread.clear(1)
    before = (shown(thread.state), dividers(thread.state), thread.state.trim_points)
    undo(thread)
    undo(thread)
    undo(thread, redo=True)
    assert (len(dividers(thread.state)), thread.state.compaction_count) == (1, 1)
    undo(thread, redo=True)
    assert (shown(thread.state), dividers(thread.state), thread.state.trim_points) == before
    assert thread.state.generation.reason == "redo"
    assert "Nothing to redo." in refusal(thread, Reason.NOTHING_TO_UNDO, redo=True)
    assert thread.replayed() == thread.state


@pytest.mark.parametrize("what", ["turn", "clear", "discard", "revert", "rollback"])
def test_something_else_ends_what_can_be_redone(what: str) -> None:
    thread = started(turns=3, policy=FREE)
    thread.clear(2)
    undo(thread)
    match what:
        case "turn":
            thread.turn()
        case "clear":
            thread.clear(1)
        case "discard":
            thread.do(client(wire.DiscardContext, entry_ids=["turn-2/user/prompt of turn-2"]))
            thread.settle()
        case "revert":
            thread.revert(turn_count=2)
        case _:
            thread.do(internal.RollBackTurns("turn-3", provider_did=True))
    refusal(thread, Reason.NOTHING_TO_UNDO, redo=True)


def test_an_entry_that_comes_late_does_not_move_the_boundary_of_a_redone_trim() -> None:
    thread = started(turns=3)
    thread.clear(1)
    undo(thread)
    thread.report(activity("turn-1", "a command that outlived its turn"))
    undo(thread, redo=True)
    [point] = thread.state.trim_points
    assert thread.state.entries[point.entry_index].turn_id == "turn-3"
    assert point.before_entry_id == thread.state.entries[point.entry_index - 1].id


def test_a_sealed_compaction_cannot_be_redone() -> None:
    thread = started(turns=3)
    thread.compact(None)
    undo(thread)
    assert "/compact summarizes once more" in refusal(thread, Reason.NOT_SUPPORTED, redo=True)


# --- refusals ---------------------------------------------------------------------------------


def test_a_busy_thread_undoes_nothing() -> None:
    thread = started(turns=2)
    thread.clear(1)
    thread.begin_turn()
    refusal(thread, Reason.TURN_IN_PROGRESS)


def test_of_two_clients_that_undo_at_once_one_is_told_that_it_is_under_way() -> None:
    thread = started(turns=3)
    thread.clear(2)
    thread.clear(1)
    thread.do(client(wire.UndoTrim))
    refusal(thread, Reason.ALREADY_IN_PROGRESS)


def test_a_client_that_names_the_trim_undoes_no_other() -> None:
    thread = started(turns=3)
    first, second = thread.clear(2), thread.clear(1)
    assert second in refusal(thread, Reason.NOTHING_TO_UNDO, trim_point_id=first)
    undo(thread, trim_point_id=second)
    assert shown(thread.state) == said(2, 3)


def test_a_trim_before_which_only_the_provider_has_the_summary_cannot_be_undone() -> None:
    thread = started(turns=3)
    thread.compact(None)
    thread.turns(2)
    thread.clear(1)
    assert "Only Codex can read" in refusal(thread, Reason.NOT_SUPPORTED, force=True)


def test_a_trim_that_a_fork_inherited_is_undone_in_its_origin() -> None:
    thread = started(turns=2)
    thread.write(ev.TrimPointCreated(THREAD, "t", 0, None, 2, ("turn-1",), "turn-2", 1, "clear"))
    assert "forked from" in refusal(thread, Reason.NOTHING_TO_UNDO)


def test_undo_of_a_context_beyond_the_window_needs_force() -> None:
    thread = started(turns=1, policy=WINDOW)
    thread.turn("word " * 600)
    thread.clear(0)
    thread.turn()
    assert "500 tokens" in refusal(thread, Reason.DOES_NOT_FIT)
    undo(thread, force=True)
    assert len(shown(thread.state)) == 6


def test_pruned_turns_whose_items_are_not_at_hand_are_weighed_by_their_entries() -> None:
    thread = started(policy=WINDOW)
    thread.turn(activities=["word " * 600])
    thread.clear(0)
    assert not thread.state.turns[0].items
    refusal(thread, Reason.DOES_NOT_FIT)


def test_turns_that_codex_had_compacted_come_back_only_by_force() -> None:
    thread = started(turns=2)
    turn_id = thread.begin_turn()
    thread.report(ev.EntryRecorded(turn_id, "c", "activity", "contextCompaction", "compacted"))
    thread.report(ev.TurnCompleted(turn_id, "completed"))
    thread.turn()
    thread.clear(1)
    assert "in turn 3" in refusal(thread, Reason.DOES_NOT_FIT)
    undo(thread, force=True)
    assert len(thread.state.active_turns) == 4


def test_a_compaction_of_codex_since_the_trim_needs_force_too() -> None:
    thread = started(turns=2)
    thread.clear(1)
    turn_id = thread.begin_turn()
    thread.report(ev.EntryRecorded(turn_id, "c", "activity", "contextCompaction", "compacted"))
    thread.report(ev.TurnCompleted(turn_id, "completed"))
    assert "in turn 3" in refusal(thread, Reason.DOES_NOT_FIT)


# --- with reverts -----------------------------------------------------------------------------


def test_a_revert_to_a_turn_of_an_undone_trim_is_not_taken_from_its_provider_thread() -> None:
    thread = started(turns=3)
    thread.clear(1)
    thread.turns(2)
    undo(thread)
    thread.turn()
    assert target_after(thread.state, 4).generation is None
    assert target_after(thread.state, 3).generation == 1
    assert target_after(thread.state, 6).generation == 3
    thread.revert(turn_count=4)
    assert shown(thread.state) == said(1, 2, 3, 4)


def test_an_undone_revert_brings_a_trim_back_that_was_undone_meanwhile() -> None:
    thread = started(turns=3)
    thread.clear(1)
    thread.turns(2)
    before = (shown(thread.state), [point.id for point in thread.state.trim_points])
    thread.revert(turn_count=4)
    undo(thread)
    assert shown(thread.state) == said(1, 2, 3, 4)
    thread.revert(undo=True)
    assert (shown(thread.state), [point.id for point in thread.state.trim_points]) == before
    assert thread.state.undone == []
    assert thread.replayed() == thread.state


# --- what is said of it -----------------------------------------------------------------------


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
    assert came_back(boundary) == back


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


# --- random lives against a plain model -------------------------------------------------------


@dataclass
class Trim:
    """A trim. `first_kept` is the number of turns before the boundary, `number` its place among all
    actions.
    """

    first_kept: int
    summary: str | None
    number: int


@dataclass
class World:
    """A model of the thread in plain Python: (number, texts) of each turn, and the trims in
    effect.
    """

    turns: list[tuple[int, list[str]]] = field(default_factory=list[tuple[int, list[str]]])
    trims: list[Trim] = field(default_factory=list[Trim])

    def context(self) -> list[str]:
        last = self.trims[-1] if self.trims else Trim(0, None, 0)
        start = [last.summary] if last.summary is not None else []
        return start + [text for _, of in self.turns[last.first_kept :] for text in of]

    def active(self) -> int:
        return len(self.turns) - (self.trims[-1].first_kept if self.trims else 0)


class Walk:
    """A random life of a thread, compared with the model."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.thread = started()
        self.world = World()
        self.undone: list[Trim] = []
        self.reverted: World | None = None
        self.happened = 0
        self.steps: list[str] = []

    def step(self) -> None:
        name = self.random.choices(
            ["turn", "clear", "compact", "undo", "redo", "revert", "unrevert", "restart"],
            [8, 4, 3, 6, 4, 2, 2, 1],
        )[0]
        self.steps.append(name)
        self.happened += 1
        getattr(self, f"_{name}")()
        assert shown(self.thread.state) == self.world.context(), self.steps
        assert len(self.thread.state.trim_points) == len(self.world.trims), self.steps

    def _turn(self) -> None:
        turn_id = self.thread.turn()
        number = turn_id.removeprefix("turn-")
        self.world.turns.append((self.happened, said(int(number))))
        self.undone = []

    def _clear(self) -> None:
        keep = self.random.randint(0, 3)
        has_summary = bool(self.world.trims) and self.world.trims[-1].summary is not None
        if keep < self.world.active() or (keep == 0 and has_summary):
            self.thread.clear(keep)
            self._trimmed(keep, None)

    def _compact(self) -> None:
        keep = self.random.randint(0, 2)
        if self.world.active() > keep:
            count = len(self.world.context()) - 2 * keep
            words = f"summary {self.happened}"
            self.thread.compact(words, keep)
            text = f"<conversation-summary messages={count}>{words}</conversation-summary>"
            self._trimmed(keep, text)

    def _trimmed(self, keep: int, summary: str | None) -> None:
        kept = len(self.world.turns) - min(keep, self.world.active())
        self.world.trims.append(Trim(kept, summary, self.happened))
        self.undone = []

    def _undo(self) -> None:
        if not self.world.trims:
            refusal(self.thread, Reason.NOTHING_TO_UNDO)
            return
        undo(self.thread)
        self.undone.append(self.world.trims.pop())

    def _redo(self) -> None:
        if not self.undone:
            refusal(self.thread, Reason.NOTHING_TO_UNDO, redo=True)
            return
        undo(self.thread, redo=True)
        self.world.trims.append(self.undone.pop())

    def _revert(self) -> None:
        kept = self.random.randint(0, len(self.world.turns))
        last = self.world.turns[kept - 1][0] if kept else 0
        trims = [trim for trim in self.world.trims if trim.number < last]
        if not self.world.turns or (kept == len(self.world.turns) and trims == self.world.trims):
            return
        present = deepcopy(self.world)
        self.thread.revert(turn_count=kept)
        self.world = World(self.world.turns[:kept], trims)
        self.reverted, self.undone = present, []

    def _unrevert(self) -> None:
        if self.reverted is not None:
            present = deepcopy(self.world)
            self.thread.revert(undo=True)
            self.world, self.reverted, self.undone = self.reverted, present, []

    def _restart(self) -> None:
        assert self.thread.replayed() == self.thread.state, self.steps


@pytest.mark.parametrize("seed", range(60))
def test_any_life_holds_what_a_plain_model_of_it_holds(seed: int) -> None:
    walk = Walk(seed)
    for _ in range(40):
        walk.step()


def test_turns_that_a_trim_pruned_are_known_after_a_revert_took_them_back() -> None:
    thread = started(turns=3)
    thread.clear(1)
    pruned = [turn.id for turn in thread.state.turns[:2]]
    thread.revert(turn_count=1)
    event = ev.TrimPointCreated(
        thread.state.id, "p", 0, None, 4, (), None, 2, "clear",
        pruned_turn_count=2, last_pruned_turn_id=pruned[-1],
    )  # fmt: skip
    assert pruned_turn_ids(thread.state, event) == pruned
