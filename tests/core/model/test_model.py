"""Random lives of a thread, compared with a model in plain lists."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from trimpoint.core.context.active_context import pruned_by
from trimpoint.core.context.generations import bootstrap_items
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy, busy
from trimpoint.core.model.operations import Phase
from trimpoint.core.views.timeline import Timeline
from trimpoint.core.views.view import read_model
from trimpoint.journal.codec.snapshots import SnapshotWriter, decode_snapshot
from trimpoint.journal.port import Bookmark, Position
from trimpoint_protocol import commands as wire
from trimpoint_protocol import readmodel as rm
from trimpoint_protocol.errors import Reason

from tests.core.given import (
    THREAD,
    Conversation,
    activity,
    assistant,
    client,
    compact,
    started,
    texts,
    trim,
    user,
)
from tests.effort import tries

KEEP = st.integers(min_value=0, max_value=4)
KINDS = st.lists(st.sampled_from(["user", "assistant", "activity"]), max_size=4)


@dataclass
class ModelTurn:
    """A turn: its entry ids in order, and the number of the trim that pruned it."""

    id: str
    entries: list[str] = field(default_factory=list[str])
    messages: list[str] = field(default_factory=list[str])
    pruned_by: int | None = None


class ThreadLife(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.turns: list[ModelTurn] = []
        self.summaries: list[str | None] = []
        self.in_context: str | None = None
        self.expected_texts: list[str] | None = None
        self.serial = 0
        self.running = False

    @initialize()
    def begin(self) -> None:
        self.thread = started()

    # -- what happens
    # ---------------------------------------------------------------------------------------

    @precondition(lambda self: not self.running)
    @rule(kinds=KINDS, batched=st.booleans())
    def turn_begins(self, kinds: list[str], batched: bool) -> None:
        turn_id = f"t{len(self.turns)}"
        self.turns.append(ModelTurn(turn_id))
        begun = ev.TurnStarted(turn_id, self.thread.state.generation.number)
        facts: list[ev.AnyEvent] = [
            begun,
            *(self.entry(self.turns[-1], kind) for kind in ["user", *kinds]),
        ]
        self.report(facts, batched)
        self.running = True

    @precondition(lambda self: self.running)
    @rule(
        kinds=KINDS,
        batched=st.booleans(),
        status=st.sampled_from(["completed", "interrupted", "failed"]),
    )
    def turn_ends(self, kinds: list[str], batched: bool, status: str) -> None:
        turn = self.turns[-1]
        ended = ev.TurnCompleted(turn.id, status)
        facts: list[ev.AnyEvent] = [*(self.entry(turn, kind) for kind in kinds), ended]
        self.report(facts, batched)
        self.running = False

    @precondition(lambda self: not self.running)
    @rule(kinds=KINDS)
    def turn(self, kinds: list[str]) -> None:
        self.turn_begins(["assistant", *kinds], batched=True)
        self.turn_ends([], batched=True, status="completed")

    @precondition(lambda self: self.turns)
    @rule(kind=st.sampled_from(["user", "activity"]), data=st.data())
    def an_entry_comes_late(self, kind: str, data: st.DataObject) -> None:
        self.report([self.entry(data.draw(st.sampled_from(self.turns)), kind)], batched=True)

    @precondition(lambda self: self.turns)
    @rule()
    def the_provider_repeats_itself(self) -> None:
        told = [event for record in self.thread.records for event in record.events]
        facts = [event for event in told if isinstance(event, ev.TurnStarted | ev.EntryRecorded)]
        assert self.thread.report(*facts) == ()

    @rule(keep=KEEP)
    def clear(self, keep: int) -> None:
        if self.running:
            self.thread.when(trim(keep)).rejected(Reason.TURN_IN_PROGRESS)
        elif self.nothing_to_trim(keep):
            self.thread.when(trim(keep)).rejected(Reason.NOTHING_TO_TRIM)
        else:
            self.thread.do(trim(keep))
            self.trimmed(keep, None, "")

    @rule(keep=KEEP, outcome=st.sampled_from(["summary", "sealed", "failed", "empty"]))
    def compact(self, keep: int, outcome: str) -> None:
        messages = sum(len(turn.messages) for turn in self.active)
        if self.running:
            self.thread.when(compact(keep, force=True)).rejected(Reason.TURN_IN_PROGRESS)
        elif messages == 0 and self.in_context is None:
            self.thread.when(compact(keep, force=True)).rejected(Reason.NOT_ENOUGH_MESSAGES)
        elif self.nothing_to_trim(keep):
            self.thread.when(compact(keep, force=True)).rejected(Reason.NOTHING_TO_TRIM)
        else:
            self.complete(self.thread.begin_compaction(keep, force=True), keep, outcome)

    @rule(stop=st.booleans())
    def session_by_hand(self, stop: bool) -> None:
        if self.running:
            return
        if stop:
            self.thread.do(client(wire.StopSession))
            self.thread.report(ev.SessionStopped(self.thread.state.generation.number))
        elif self.thread.do(client(wire.StartSession)).operation_id:
            self.thread.settle()

    @rule()
    def the_daemon_is_killed(self) -> None:
        self.thread.state = self.thread.replayed()
        self.thread.do(internal.AbandonOpenWork("killed"))
        self.running = False
        assert busy(self.thread.state) is None

    # -- the model
    # ------------------------------------------------------------------------------------------

    @property
    def active(self) -> list[ModelTurn]:
        return [turn for turn in self.turns if turn.pruned_by is None]

    def entry(self, turn: ModelTurn, kind: str) -> ev.EntryRecorded:
        self.serial += 1
        make = {"user": user, "assistant": assistant, "activity": activity}[kind]
        text = f"{kind} {self.serial}"
        turn.entries.append(text)
        if kind != "activity":
            turn.messages.append(text)
        return make(turn.id, text, text)

    def report(self, facts: Sequence[ev.AnyEvent], batched: bool) -> None:
        for batch in [facts] if batched else [[fact] for fact in facts]:
            assert self.thread.report(*batch) == tuple(batch)

    def nothing_to_trim(self, keep: int) -> bool:
        return keep >= len(self.active) and not (keep == 0 and self.in_context is not None)

    def complete(self, operation_id: str, keep: int, outcome: str) -> None:
        summary = {"summary": f"summary {self.serial}", "empty": " "}.get(outcome)
        if outcome in ("failed", "empty"):
            nothing = internal.CompleteCompaction(operation_id, summary, 1)
            self.thread.when(nothing).rejected(Reason.COMPACTION_FAILED)
            self.thread.advance(Phase.FAILED)
            return
        carrier = "codex-thread-fork" if summary is None else None
        self.thread.do(internal.CompleteCompaction(operation_id, summary, 1, carrier))
        self.trimmed(keep, summary, "sealed" if summary is None else summary)

    def trimmed(self, keep: int, summary: str | None, in_context: str) -> None:
        active, place = self.active, len(self.summaries)
        for turn in active[: max(0, len(active) - keep)]:
            turn.pruned_by = place
        self.summaries.append(in_context or None)
        self.in_context = in_context or None
        kept = [text for turn in self.active for text in turn.messages]
        given = texts(bootstrap_items(self.thread.state, self.thread.state.generation))
        if in_context == "sealed":
            assert given == []
        elif summary is None:
            assert given == kept
        else:
            assert given[1:] == kept
            assert summary in given[0]
        self.thread.settle()

    def shown(self, expanded: frozenset[str]) -> list[str]:
        """Returns the expected timeline: entry texts, `-` before pruned ones, `|` for a divider."""
        lines: list[str] = []
        for place, point in enumerate(self.thread.state.trim_points):
            if point.id in expanded:
                pruned = [turn for turn in self.turns if turn.pruned_by == place]
                lines += [f"-{entry}" for turn in pruned for entry in turn.entries]
            lines += ["summary"] if self.summaries[place] is not None else []
            lines.append("|")
        return [*lines, *(entry for turn in self.active for entry in turn.entries)]

    # -- what is always true
    # --------------------------------------------------------------------------------

    @invariant()
    def each_turn_is_pruned_at_most_once_and_by_the_trim_that_says_so(self) -> None:
        for place, point in enumerate(self.thread.state.trim_points):
            expected = [turn.id for turn in self.turns if turn.pruned_by == place]
            assert pruned_by(self.thread.state, point) == expected
        assert [turn.id for turn in self.thread.state.active_turns] == [
            turn.id for turn in self.active
        ]

    @invariant()
    def trim_points_are_in_order_and_never_overlap(self) -> None:
        points, state = self.thread.state.trim_points, self.thread.state
        bounds = [
            (0, 0),
            *((p.turn_index, p.entry_index) for p in points),
            (len(state.turns), len(state.entries)),
        ]
        assert bounds == sorted(bounds)
        for point in points:
            before = state.entries[point.entry_index - 1].id if point.entry_index else None
            assert point.before_entry_id == before

    @invariant()
    def every_message_is_either_pruned_once_or_active(self) -> None:
        shown = read_model(self.thread.state, Policy())
        pruned = [point.pruned_message_count for point in shown.context_trim_points]
        for place, count in enumerate(pruned):
            assert count == sum(
                len(turn.messages) for turn in self.turns if turn.pruned_by == place
            )
        summaries = 0 if self.in_context is None else 1
        assert sum(pruned) + shown.active_message_count - summaries == shown.message_count
        assert shown.message_count == sum(len(turn.messages) for turn in self.turns)

    @invariant()
    def the_timeline_reads_the_same_however_it_is_expanded(self) -> None:
        ids = [point.id for point in self.thread.state.trim_points]
        for expanded in (frozenset(ids), frozenset[str](), frozenset(ids[::2])):
            entries = Timeline(self.thread.state, expanded)
            assert [line(entry) for entry in entries] == self.shown(expanded)

    @invariant()
    def the_first_kept_entry_stands_right_below_its_divider(self) -> None:
        everything = list(Timeline(self.thread.state, frozenset(self.trim_point_ids)))
        for point in self.thread.state.trim_points:
            if point.first_kept_turn_id is None:
                continue
            at = next(
                i
                for i, e in enumerate(everything)
                if line(e) == "|" and trim_point_of(e) == point.id
            )
            below = everything[at + 1]
            assert isinstance(below, rm.TimelineMessage | rm.TimelineActivity)
            assert below.turn_id == point.first_kept_turn_id

    @property
    def trim_point_ids(self) -> list[str]:
        return [point.id for point in self.thread.state.trim_points]

    @invariant()
    def a_replay_and_a_snapshot_are_the_live_state(self) -> None:
        state = self.thread.state
        assert self.thread.replayed() == state
        snapshot = SnapshotWriter(THREAD, state, Bookmark(Position(0, 0), b""))
        parts = b"".join(snapshot)
        kept = decode_snapshot(memoryview(snapshot.head() + parts), THREAD)
        assert kept is not None
        assert kept.state == state

    @invariant()
    def the_thread_is_busy_exactly_while_a_turn_runs(self) -> None:
        assert (busy(self.thread.state) is not None) is self.running

    @invariant()
    def positions_have_no_gap(self) -> None:
        count = sum(len(record.events) for record in self.thread.records)
        assert self.thread.state.sequence == self.thread.state.thread_sequence == count
        assert len(self.thread.state.generations) == len(self.trim_point_ids) + 1

    thread: Conversation


def line(entry: rm.TimelineEntry) -> str:
    match entry:
        case rm.ContextTrimPointDivider():
            return "|"
        case rm.ContextSummaryBanner():
            return "summary"
        case rm.TimelineMessage():
            return "-" * entry.trimmed + entry.text
        case rm.TimelineActivity():
            return "-" * entry.trimmed + entry.title


def trim_point_of(entry: rm.TimelineEntry) -> str | None:
    return entry.trim_point_id if isinstance(entry, rm.ContextTrimPointDivider) else None


TestThreadLife = ThreadLife.TestCase
TestThreadLife.settings = settings(max_examples=tries(40), stateful_step_count=50, deadline=None)
