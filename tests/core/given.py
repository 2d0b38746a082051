"""given(events).when(command).then(events | rejection): threads with a past, for tests of the core.

Each event is encoded for the journal and decoded on its way into the state, and each decision is
checked not to have changed the state. So every test of the core also tests these two properties.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, Self

import msgspec
from trimpoint.core.decide.decider import AnyCommand, decide
from trimpoint.core.decide.overflow import EXCEEDED, OverflowPlan, plan_overflow
from trimpoint.core.decide.reverting import resolve_target
from trimpoint.core.evolve.evolve import apply, replay
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Accepted, Decision, Policy, Rejected, Stamp
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import ThreadState
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

THREAD = "thread-1"
START_MS = 1_764_000_000_000
SETTINGS = b'{"model":"gpt-5","secretSetting":true}'
_command_ids = (f"command-{number}" for number in count(1))
_encode = msgspec.msgpack.Encoder(
    enc_hook=lambda packed: dict(packed) if isinstance(packed, Mapping) else list(packed)
).encode
_decode_record = msgspec.msgpack.Decoder(ev.Record).decode


class Outcome(NamedTuple):
    """The decision about a command."""

    decision: Decision

    def then(self, *events: ev.AnyEvent) -> Accepted:
        """Checks that the command was accepted with exactly these events."""
        assert isinstance(self.decision, Accepted), self.decision
        assert self.decision.events == events
        return self.decision

    def rejected(self, reason: Reason) -> Rejected:
        """Checks that the command was refused for this reason."""
        assert isinstance(self.decision, Rejected), self.decision
        assert self.decision.reason is reason
        return self.decision


class Conversation:
    """A thread, and all records that were written of it."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.state = ThreadState()
        self.records: list[ev.Record] = []
        self.policy = policy or Policy()
        self.trusts_decisions = False
        """For long lives: to encode the whole state with every turn takes a time that grows with
        its square.
        """
        self._numbers = count(1)

    @property
    def now_ms(self) -> int:
        """Returns the time of the next record, one second after the last one."""
        return START_MS + 1_000 * len(self.records)

    def write(self, *events: ev.AnyEvent, command_id: str | None = None) -> Self:
        sequence, thread_sequence = self.state.sequence + 1, self.state.thread_sequence + 1
        record = ev.Record(
            sequence, thread_sequence, self.now_ms, events, command_id, b"fingerprint"
        )
        read_back = _decode_record(_encode(record))
        assert read_back == record
        apply(self.state, read_back)
        self.records.append(read_back)
        return self

    def when(self, command: AnyCommand) -> Outcome:
        """Decides about a command without writing. Unless `trusts_decisions` is set, checks that
        the state has not changed.
        """
        before = b"" if self.trusts_decisions else _encode(self.state)
        outcome = Outcome(decide(self.state, command, self.stamp(), self.policy))
        assert self.trusts_decisions or _encode(self.state) == before
        return outcome

    def stamp(self) -> Stamp:
        """Returns the stamp of the next decision, with the id `id-<records written>`."""
        return Stamp(self.now_ms, f"id-{len(self.records)}")

    def do(self, command: AnyCommand) -> Accepted:
        """Decides and writes; the command must be accepted."""
        decision = self.when(command).decision
        assert isinstance(decision, Accepted), decision
        self.write(*decision.events, command_id=getattr(command, "command_id", None))
        return decision

    def report(self, *facts: ev.AnyEvent) -> tuple[ev.AnyEvent, ...]:
        """Records those of `facts` that are new."""
        return self.do(internal.RecordFacts(facts)).events

    def replayed(self) -> ThreadState:
        return replay(self.records)

    # -- a life in a few words
    # ---------------------------------------------------------------------------

    def turn(
        self,
        prompt: str = "",
        answer: str = "",
        *,
        activities: Sequence[str] = (),
        items: Iterable[bytes] | None = None,
        status: str = "completed",
    ) -> str:
        """Runs a turn: prompt, activities, answer, and raw items (those of the two messages, or
        `items`). Returns its id.
        """
        turn_id = self.begin_turn(prompt)
        for title in activities:
            self.report(activity(turn_id, title))
        answer = answer or f"answer of {turn_id}"
        self.report(assistant(turn_id, answer))
        seen = raw_turn(self.prompts[turn_id], answer) if items is None else tuple(items)
        self.report(ev.ContextItemsRecorded(turn_id, seen), ev.TurnCompleted(turn_id, status))
        return turn_id

    @property
    def prompts(self) -> dict[str, str]:
        """Returns the first user message of each turn."""
        return {e.turn_id: e.text for e in reversed(self.state.entries) if e.role == "user"}

    def begin_turn(self, prompt: str = "") -> str:
        turn_id = f"turn-{next(self._numbers)}"
        self.report(ev.TurnStarted(turn_id, self.state.generation.number))
        self.report(user(turn_id, prompt or f"prompt of {turn_id}"))
        return turn_id

    def turns(self, how_many: int) -> list[str]:
        return [self.turn() for _ in range(how_many)]

    def clear(self, keep: int | None = None, **arguments: Any) -> str:
        """Runs `/clear [keep]` until its session is ready, and returns the trim point's id."""
        self.do(trim(keep, **arguments))
        self.settle()
        return self.state.trim_points[-1].id

    def begin_compaction(self, keep: int | None = None, **arguments: Any) -> str:
        """Runs `/compact` until the model summarizes, and returns the operation's id."""
        operation_id = self.do(compact(keep, **arguments)).operation_id
        assert operation_id is not None
        self.do(internal.AdvanceOperation(operation_id, Phase.COMPACTING))
        return operation_id

    def compact(
        self, summary: str | None = "the summary", keep: int | None = None, **arguments: Any
    ) -> str:
        """Runs `/compact` until its session is ready, and returns the trim point's id. Without
        `summary`, the summary is sealed.
        """
        operation_id = self.begin_compaction(keep, force=True, **arguments)
        carrier = "codex-thread-compacted" if summary is None else None
        self.do(internal.CompleteCompaction(operation_id, summary, 1_500, carrier))
        self.settle()
        return self.state.trim_points[-1].id

    def checkpoint(self, turn_id: str | None, moment: str = "after") -> str:
        """Records a checkpoint, and returns its commit."""
        commit = f"commit-{len(self.records)}"
        self.report(
            ev.CheckpointCaptured(turn_id, moment, "/work", f"refs/{turn_id}/{moment}", commit)
        )
        return commit

    def revert(self, **arguments: Any) -> None:
        """Runs a revert, of the context alone unless `scope` is given, until it is ready."""
        arguments = {"scope": "context", **arguments}
        self.do(client(wire.RevertToCheckpoint, **arguments))
        self.finish_revert()

    def finish_revert(self) -> None:
        operation = self.state.open_operation
        assert operation is not None
        assert operation.reverting is not None
        prepared = None
        if operation.reverting.commit:
            self.advance(Phase.CHECKPOINTING)
            self.checkpoint(None, "safety")
            self.report(
                ev.RevertPlanned(operation.id, "refs/planned", "planned", ("a",), ("b",), ("c",))
            )
        self.advance(Phase.STARTING)
        if resolve_target(self.state, operation.reverting) is not None:
            prepared = f"codex-thread-{self.state.generation.number + 1}"
            self.report(ev.RevertPrepared(operation.id, prepared))
        if operation.reverting.commit:
            self.advance(Phase.RESTORING)
        self.do(
            internal.CompleteRevert(
                operation.id, prepared, "/rollouts/reverted", written=2, removed=1, message="Back."
            )
        )

    def overflow(self, turn_id: str = "") -> str:
        """Lets the running turn, or a new one, not fit, with its recovery under way, and returns
        the turn's id.
        """
        turn_id = turn_id or self.begin_turn()
        self.report(ev.ContextItemsRecorded(turn_id, (raw_message("user", self.prompts[turn_id]),)))
        self.fail_to_fit(turn_id)
        return turn_id

    def fail_to_fit(self, turn_id: str) -> str:
        """Lets the turn fail because it does not fit, and returns the id of its recovery."""
        self.report(ev.TurnCompleted(turn_id, "failed", "no room", error_kind=EXCEEDED))
        return str(self.do(internal.RecoverFromOverflow(turn_id)).operation_id)

    def retry(
        self, summary: str = "in short", provider_turn_id: str = "codex-turn"
    ) -> OverflowPlan:
        """Continues the recovery until the turn runs again, and returns where the context was
        split.
        """
        operation = self.state.open_operation
        assert operation is not None
        plan = plan_overflow(self.state, str(operation.failed_turn_id))
        assert plan is not None
        self.advance(Phase.COMPACTING)
        self.advance(Phase.RETRYING)
        self.do(
            completed_recovery(
                operation.id, plan, summary, provider_turn_id, self.state.generation.number + 1
            )
        )
        return plan

    def settle(self) -> None:
        """Continues the open operation until it is ready."""
        operation, number = self.state.open_operation, self.state.generation.number
        assert operation is not None
        if operation.phase is Phase.REQUESTED and number > 1:
            self.advance(Phase.STOPPING, ev.SessionStopped(number - 1))
        self.advance(Phase.STARTING)
        if self.state.generation.provider_thread_id is None:
            bound = ev.ProviderThreadBound(
                number, f"codex-thread-{number}", f"/rollouts/{number}", raw_events=True
            )
            self.advance(Phase.BOOTSTRAPPING, bound)
        self.advance(Phase.READY, ev.SessionReady(number))

    def advance(self, phase: Phase, *facts: ev.AnyEvent, message: str = "") -> Accepted:
        operation = self.state.open_operation
        assert operation is not None
        return self.do(internal.AdvanceOperation(operation.id, phase, message, facts=facts))


def completed_recovery(
    operation_id: str,
    plan: OverflowPlan,
    summary: str = "in short",
    provider_turn_id: str = "codex-turn",
    number: int = 2,
) -> internal.CompleteRecovery:
    """Returns the command that continues the turn in generation `number`."""
    cut = (plan.messages, plan.first_kept_turn_id, plan.skipped_items)
    serving = (f"codex-thread-{number}", f"/rollouts/{number}", provider_turn_id)
    return internal.CompleteRecovery(
        operation_id, summary, 1_500, *cut, *serving, "On it goes.", plan.pruned_injected
    )


def given(*events: ev.AnyEvent, policy: Policy | None = None) -> Conversation:
    """Returns a thread with these events."""
    conversation = Conversation(policy)
    return conversation.write(*events) if events else conversation


def started(*, turns: int = 0, policy: Policy | None = None) -> Conversation:
    """Returns a ready thread that a client started, with this many turns of two messages."""
    conversation = Conversation(policy)
    conversation.do(
        internal.CreateThread(
            THREAD, "/work", "started", SETTINGS, "codex-thread-1", "/rollouts/1", True,
            project_id="project-1", worktree_id="worktree-1", branch_name="main", name="A name",
        )
    )  # fmt: skip
    conversation.turns(turns)
    return conversation


def trim(keep: int | None = None, **arguments: Any) -> wire.TrimContext:
    return wire.TrimContext(**_addressed(arguments), keep_last_n_turns=keep)


def compact(keep: int | None = None, **arguments: Any) -> wire.CompactContext:
    return wire.CompactContext(**_addressed(arguments), keep_last_n_turns=keep)


def client(command: type[wire.ClientCommand], **arguments: Any) -> AnyCommand:
    """Returns a client command for the thread."""
    made = command(**_addressed(arguments))
    assert isinstance(made, wire.AnyClientCommand)
    return made


def _addressed(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"command_id": next(_command_ids), "thread_id": THREAD, **arguments}


def user(turn_id: str, text: str, entry_id: str = "") -> ev.EntryRecorded:
    return ev.EntryRecorded(turn_id, entry_id or f"{turn_id}/user/{text}", "message", "user", text)


def assistant(turn_id: str, text: str, entry_id: str = "") -> ev.EntryRecorded:
    return ev.EntryRecorded(
        turn_id, entry_id or f"{turn_id}/assistant/{text}", "message", "assistant", text
    )


def activity(turn_id: str, title: str, entry_id: str = "") -> ev.EntryRecorded:
    detail = msgspec.json.encode({"type": "commandExecution", "command": title})
    entry_id = entry_id or f"{turn_id}/activity/{title}"
    return ev.EntryRecorded(turn_id, entry_id, "activity", "commandExecution", title, detail)


def raw_turn(prompt: str, answer: str) -> tuple[bytes, ...]:
    """Returns the raw items of a turn with two messages."""
    return (raw_message("user", prompt), raw_message("assistant", answer))


def raw_message(role: str, text: str) -> bytes:
    part = "input_text" if role == "user" else "output_text"
    return raw(type="message", role=role, content=[{"type": part, "text": text}])


def raw(**item: Any) -> bytes:
    return msgspec.json.encode(item)


def texts(items: Iterable[bytes]) -> list[str]:
    """Returns the text of each message among raw items."""
    decoded: list[dict[str, Any]] = [msgspec.json.decode(item) for item in items]
    return [item["content"][0]["text"] for item in decoded if item["type"] == "message"]
