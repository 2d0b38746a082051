"""The single writer of one thread: decides, appends, and acknowledges after fsync (spec §2, §7).

The law: `submit` is synchronous, so decisions on one thread are serial without a lock. A decision is folded into the state
when it is appended; it is acknowledged, and shown to listeners, when it is durable. If the disk refuses, the state is
rebuilt from what is durable; facts heard from the provider are kept and written again, commands are refused.
"""

import contextlib
import hashlib
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import structlog
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from trimpoint.core import commands as internal
from trimpoint.core import events as ev
from trimpoint.core.decider import Accepted, AnyCommand, Policy, Rejected, Stamp, decide
from trimpoint.core.projector import apply
from trimpoint.core.state import Receipt, ThreadState
from trimpoint.engine.errors import CommandIdConflict, CommandRefused, JournalRefuses
from trimpoint.journal.errors import JournalError, JournalWriteError
from trimpoint.journal.port import Journal, StateStore
from trimpoint.journal.records import UnreadableRecord, decode_record, encode_record

log = structlog.get_logger()
# What a client that was away for a moment can be replayed; a larger gap gets a snapshot.
RECENT_RECORDS = 256

fingerprint_encoder = msgspec.msgpack.Encoder()


class Sequencer:
    """Hands out the global sequence; one for all writers."""

    def __init__(self, last: int = 0) -> None:
        self.last = last

    def reserve(self, count: int) -> int:
        """The first of `count` consecutive numbers."""
        first = self.last + 1
        self.last += count
        return first


class Surroundings(NamedTuple):
    """What a writer shares with all others. `listener` hears each durable record; `dirty` that something awaits fsync."""

    store: StateStore
    sequencer: Sequencer
    stamp: Callable[[], Stamp]
    policy: Policy
    listener: Callable[[str, ev.Record], None]
    dirty: Callable[["ThreadWriter"], None]


class CommandResult(NamedTuple):
    """The acknowledgement of a command: the record's place and events, and the operation it belongs to."""

    record: ev.Record

    @property
    def operation_id(self) -> str | None:
        """The operation that goes on after the acknowledgement, if there is one."""
        return self.record.operation_id

    @property
    def sequence(self) -> int:
        """Global sequence of the last event."""
        return self.record.sequence + len(self.record.events) - 1


class ThreadWriter:
    """Made by `load`; see the module's law."""

    def __init__(self, thread_id: str, journal: Journal, state: ThreadState, around: Surroundings) -> None:
        self.thread_id = thread_id
        self.state = state
        self.read_only: str | None = None
        self._journal = journal
        self._around = around
        self._appended = 0
        self._unpublished: deque[tuple[int, ev.Record]] = deque()
        self._backlog: list[ev.AnyEvent] = []
        self._stale = False
        self._recent: deque[ev.Record] = deque(maxlen=RECENT_RECORDS)

    @classmethod
    async def load(cls, thread_id: str, around: Surroundings) -> "ThreadWriter":
        """Open the journal and replay it.

        :raises JournalError: when the file cannot be opened at all.
        """
        journal = await around.store.open_journal(thread_id)
        writer = cls(thread_id, journal, ThreadState(), around)
        writer._replay()
        return writer

    @property
    def size_bytes(self) -> int:
        """Durable bytes of the journal."""
        return self._journal.size_bytes

    def submit(self, command: AnyCommand) -> ev.Record | Rejected:
        """Decide and append, without waiting for the disk. An empty decision yields a record without events.

        :raises JournalRefuses: when the journal takes nothing.
        :raises CommandIdConflict: when a client's command id was used with other arguments.
        """
        if isinstance(command, wire.ClientCommand):
            fingerprint = _fingerprint(command)
            receipt = self.state.receipts.get(command.command_id)
            if receipt is not None:
                return _stored(command.command_id, receipt, fingerprint)
            return self._decide(command, command.command_id, fingerprint)
        return self._decide(command, None, b"")

    async def execute(self, command: AnyCommand) -> CommandResult:
        """Decide, and return when the decision is durable.

        :raises CommandRefused: when a rule says no.
        :raises CommandIdConflict: see `submit`.
        :raises JournalRefuses: when it could not be written down; then nothing happened.
        """
        await self._heal()
        outcome = self.submit(command)
        await self.settle()
        if isinstance(outcome, Rejected):
            raise CommandRefused(outcome.reason, outcome.message, outcome.block)
        return CommandResult(outcome)

    def record_facts(self, *facts: ev.AnyEvent) -> None:
        """Write down what happened; durable at the latest with the next `settle`. Never refuses: facts outlive a full disk."""
        try:
            self.submit(internal.RecordFacts(facts))
        except JournalRefuses:
            self._backlog.extend(facts)
            self._around.dirty(self)

    async def settle(self) -> None:
        """Return when everything submitted so far is durable and listeners have heard of it.

        :raises JournalRefuses: when the disk refused; what was not durable is gone from the state.
        """
        mark = self._appended
        try:
            await self._journal.commit()
        except JournalWriteError as error:
            await self._fall_back(error)
            raise JournalRefuses(str(error)) from error
        except JournalError as error:
            raise JournalRefuses(str(error)) from error
        self._publish_through(mark)

    def durable_since(self, sequence: int) -> list[ev.Record] | None:
        """Durable records after the global `sequence`, oldest first; None when they are not all at hand."""
        if not self._recent or sequence > self.state.sequence or sequence < self._recent[0].sequence - 1:
            return None
        return [record for record in self._recent if record.sequence > sequence]

    async def retry_backlog(self) -> None:
        """Try again to write facts that the disk refused.

        :raises JournalRefuses: while it still does.
        """
        await self._heal()
        facts, self._backlog = tuple(self._backlog), []
        if facts:
            self.record_facts(*facts)
        await self.settle()

    async def close(self) -> None:
        """Make everything durable and let go of the file."""
        try:
            await self.settle()
        except JournalRefuses as error:
            log.warning("journal_closed_unwritten", thread_id=self.thread_id, detail=error.detail)
        await self._journal.close()

    def _decide(self, command: AnyCommand, command_id: str | None, fingerprint: bytes) -> ev.Record | Rejected:
        if self.read_only is not None:
            raise JournalRefuses(self.read_only)
        stamp = self._around.stamp()
        decision = decide(self.state, command, stamp, self._around.policy)
        if isinstance(decision, Rejected):
            if command_id is not None and self.state.exists:
                note = ev.CommandRejected(decision.reason, decision.message)
                self._append(Accepted((note,)), stamp, command_id, fingerprint)
            return decision
        return self._append(decision, stamp, command_id, fingerprint)

    def _append(self, decision: Accepted, stamp: Stamp, command_id: str | None, fingerprint: bytes) -> ev.Record:
        count = len(decision.events)
        if count == 0 and command_id is None:
            return ev.Record(self._around.sequencer.last, self.state.thread_sequence, stamp.now_ms, ())
        record = ev.Record(
            self._around.sequencer.reserve(count), self.state.thread_sequence + 1, stamp.now_ms, decision.events,
            command_id, fingerprint, decision.operation_id,
        )  # fmt: skip
        try:
            self._journal.append(encode_record(record))
        except JournalError as error:
            raise JournalRefuses(str(error)) from error
        apply(self.state, record)
        self._appended += 1
        self._unpublished.append((self._appended, record))
        self._around.dirty(self)
        return record

    def _publish_through(self, mark: int) -> None:
        while self._unpublished and self._unpublished[0][0] <= mark:
            record = self._unpublished.popleft()[1]
            self._recent.append(record)
            self._around.listener(self.thread_id, record)

    async def _heal(self) -> None:
        """End a failure of the journal: cut what is not durable off the disk, then rebuild the state from the rest."""
        if self._journal.failure is None and not self._stale:
            return
        try:
            await self._journal.reopen()
            fresh = await self._around.store.open_journal(self.thread_id)
        except (JournalError, OSError) as error:
            raise JournalRefuses(str(error)) from error
        self.state = ThreadState()
        for payload in fresh.read():
            apply(self.state, decode_record(payload))
        await fresh.close()
        self._stale = False

    async def _fall_back(self, error: JournalWriteError) -> None:
        """Keep the facts of what was lost and, if the disk lets us, return to what is durable at once."""
        lost = [record for _, record in self._unpublished]
        if lost:
            log.error("journal_write_failed", thread_id=self.thread_id, detail=str(error), lost_records=len(lost))
        self._unpublished.clear()
        self._stale = True
        self._backlog.extend(event for record in lost for event in record.events if _is_fact(event))
        with contextlib.suppress(JournalRefuses):
            await self._heal()
        self._around.dirty(self)

    def _replay(self) -> None:
        try:
            for payload in self._journal.read():
                apply(self.state, decode_record(payload))
        except UnreadableRecord as error:
            self.read_only = str(error)
        report = self._journal.report
        if report.damage.value == "damaged_middle":
            self.read_only = f"the journal is damaged at byte {report.end.offset_bytes}: {report.reason}"


_FACTS = (
    ev.TurnRequestEnded, ev.TurnStarted, ev.EntryRecorded, ev.ContextItemsRecorded, ev.UsageReported, ev.TurnCompleted,
    ev.RequestOpened, ev.RequestClosed, ev.SettingsChanged, ev.ThreadRenamed,
)  # fmt: skip


def _is_fact(event: ev.AnyEvent) -> bool:
    return isinstance(event, _FACTS)


def _fingerprint(command: wire.ClientCommand) -> bytes:
    """Identifies a command's arguments; the sender's clock is none of them, or a repetition would conflict with itself."""
    encoded = fingerprint_encoder.encode(msgspec.structs.replace(command, created_at=None))
    return hashlib.blake2b(encoded, digest_size=16).digest()


def _stored(command_id: str, receipt: Receipt, fingerprint: bytes) -> ev.Record | Rejected:
    if receipt.fingerprint != fingerprint:
        raise CommandIdConflict(command_id)
    first = receipt.events[0] if receipt.events else None
    if isinstance(first, ev.CommandRejected):
        return Rejected(Reason(first.reason), first.message)
    return ev.Record(
        receipt.sequence, receipt.thread_sequence, receipt.occurred_at_ms, receipt.events, command_id, fingerprint,
        receipt.operation_id,
    )  # fmt: skip
