"""The single writer of one thread: decides, appends, and acknowledges after fsync
(docs/spec/model.md, docs/spec/journal.md).

`submit` is synchronous, so decisions on one thread are serial without a lock. A decision is applied
to the state when it is appended. It is acknowledged and sent to subscribers when it is durable. If
the disk refuses, no decisions are made until the state is rebuilt from the durable records and the
facts received meanwhile are appended in their order. Until then commands are refused.
"""

import contextlib
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import anyio
import structlog
from trimpoint_protocol import commands as wire

from trimpoint.core.decide.decider import AnyCommand
from trimpoint.core.evolve.evolve import Folds, apply
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Accepted, Rejected, Stamp
from trimpoint.core.model.state import ThreadState
from trimpoint.journal.codec.records import UnreadableRecord, encode_record
from trimpoint.journal.errors import JournalError, JournalWriteError
from trimpoint.journal.port import Journal, StateStore
from trimpoint.threads.asked_by import ASKED_BY
from trimpoint.threads.errors import CommandRefused, JournalRefuses, journal_read_only
from trimpoint.threads.writing.deciding_ahead import Ahead, Deciding, decided, decided_ahead
from trimpoint.threads.writing.loading import TurnsRead, load, read_turns, write_snapshot
from trimpoint.threads.writing.receipts import CommandResult, fingerprint_of, stored_answer
from trimpoint.threads.writing.recent_records import RecentRecords
from trimpoint.threads.writing.sequencer import Sequencer
from trimpoint.threads.writing.unwritten import ExternalFact, UnwrittenFacts, as_fact

log = structlog.get_logger()
UNWRITTEN = "earlier events are not written yet"


class WriterDeps(NamedTuple):
    """The collaborators that all writers share. `subscriber` receives durable records, `dirty`
    receives writers that must be flushed.
    """

    store: StateStore
    sequencer: Sequencer
    deciding: Deciding
    subscriber: Callable[[str, ev.Record], None]
    dirty: Callable[["ThreadWriter"], None]


class Unpublished(NamedTuple):
    """A record that may not be durable yet. If it is lost, `fact` is decided and appended again;
    None if the record may be dropped.
    """

    mark: int
    size_bytes: int
    record: ev.Record
    fact: ExternalFact | None


class ThreadWriter:
    """The writer of one thread, created by `load`. The module's docstring has its rules."""

    def __init__(
        self, thread_id: str, journal: Journal, state: ThreadState, deps: WriterDeps
    ) -> None:
        self.thread_id = thread_id
        self.state = state
        self.read_only: str | None = None
        self._journal = journal
        self._deps = deps
        self.lost_items: set[tuple[str, int]] = set()  # turns with generations, in no journal
        self._unpublished: deque[Unpublished] = deque()
        self._appended = self._unpublished_bytes = 0
        self._unwritten_facts = UnwrittenFacts()
        self._stale = False
        self._recovering = anyio.Lock()
        self._recent = RecentRecords(state.sequence)
        self._kept_records = 0

    @classmethod
    async def load(cls, thread_id: str, deps: WriterDeps) -> "ThreadWriter":
        """Opens the thread's journal and replays it.

        :raises JournalError: when the file cannot be opened.
        """
        loaded = await load(deps.store, thread_id)
        writer = cls(thread_id, loaded.journal, loaded.state, deps)
        writer.read_only = loaded.flaw
        writer._kept_records = loaded.folded_before
        return writer

    @property
    def journal(self) -> Journal:
        """Returns the thread's journal, for code that unloads the thread."""
        return self._journal

    @property
    def is_quiescent(self) -> bool:
        """Returns whether all records are durable and applied, as of a read-only thread always."""
        return self.read_only is not None or (self._is_consistent and not self._unpublished)

    def is_unwritten(self, kind: type[ev.Event]) -> bool:
        """Returns whether the state has such an event that is not durable yet."""
        return any(
            isinstance(event, kind) for one in self._unpublished for event in one.record.events
        )

    @property
    def records_beyond_snapshot(self) -> int:
        """Returns the number of records that opening the thread again would replay."""
        return self._journal.durable.records - self._kept_records

    async def keep_snapshot(self) -> None:
        """Writes a snapshot if the thread is quiescent, and keeps it if nothing changes then."""
        if self.read_only is not None or not self.is_quiescent:
            return
        seen = (self._appended, id(self.state))
        kept = await write_snapshot(
            self._deps.store, self.thread_id, self._journal, self.state,
            lambda: self.is_quiescent and (self._appended, id(self.state)) == seen,
        )  # fmt: skip
        self._kept_records = self._kept_records if kept is None else kept

    @property
    def size_bytes(self) -> int:
        """Returns the number of durable bytes in the journal."""
        return self._journal.size_bytes

    def submit(self, command: AnyCommand, ahead: Ahead | None = None) -> ev.Record | Rejected:
        """Decides a command and appends the events, without waiting for the disk. Returns the
        record, which may have no events, or the rejection. A decision made `ahead` counts if
        nothing has changed since.

        :raises JournalRefuses: when the journal cannot be written; a fact is kept and appended
            later (`ExternalFact`).
        :raises CommandIdConflict: when a client's command id was used before with other arguments.
        """
        try:
            return self._submit(command, ahead)
        except JournalRefuses:
            if (fact := as_fact(command)) is not None and self.read_only is None:
                self._unwritten_facts.keep(fact)
                self._deps.dirty(self)
            raise

    async def execute(self, command: AnyCommand) -> CommandResult:
        """Decides a command, and returns when the decision is durable.

        :raises CommandRefused: when a rule rejected the command.
        :raises CommandIdConflict: see `submit`.
        :raises JournalRefuses: when the record could not be written; then nothing has happened,
            unless the command reports a fact (`ExternalFact`).
        """
        with contextlib.suppress(JournalRefuses):  # then `submit` raises too, and keeps a fact
            await self._recover()
        ahead = await decided_ahead(lambda: self.state, command, self._deps.deciding)
        outcome = self.submit(command, ahead)
        await self.flush()
        if isinstance(outcome, Rejected):
            raise CommandRefused(*outcome)
        return CommandResult(outcome)

    def record_facts(self, *facts: ev.AnyEvent) -> None:
        """Appends facts; they are durable at the latest after the next `flush`. Never raises: if
        the disk refuses, facts are kept and appended later.
        """
        if facts:
            with contextlib.suppress(JournalRefuses):
                self.submit(internal.RecordFacts(facts))

    async def flush(self) -> None:
        """Waits until everything submitted so far is durable and published to subscribers.

        :raises JournalRefuses: when the disk refused, or the thread is read-only; the records that
            were not durable are removed from the state, and facts are appended again as soon as the
            disk accepts them.
        """
        await self._recover()
        mark = self._appended
        try:
            await self._journal.commit()
        except JournalWriteError as error:
            await self._try_recover()
            raise JournalRefuses(str(error)) from error
        except JournalError as error:
            raise JournalRefuses(str(error)) from error
        self._publish_through(mark)

    @property
    def unwritten_bytes(self) -> int:
        """Returns about how many bytes are kept in memory because they are not durable yet."""
        return self._unpublished_bytes + self._unwritten_facts.size_bytes

    @property
    def durable_sequence(self) -> int:
        """Returns the global number of the last event that is durable and was sent to subscribers;
        the state may be ahead of it.
        """
        return self._recent.last_sequence

    def durable_since(self, sequence: int) -> list[ev.Record] | None:
        """Returns the durable records with events after the global number `sequence`, oldest first.

        The first record may begin with earlier events. Returns None if not all of these records are
        in memory, or if `sequence` belongs to another history of the thread, from before a backup
        was restored. A number of this history was given out by this run of the daemon, or was the
        thread's last one when it was loaded.
        """
        return None if sequence > self.state.sequence else self._recent.since(sequence)

    async def turns_in_journal(
        self, turn_ids: frozenset[str], thread_id: str | None = None
    ) -> TurnsRead:
        """Returns what `loading.read_turns` finds in the journal of this thread, or of the thread
        `thread_id`; nothing if that cannot be read.
        """
        read_from = thread_id or self.thread_id
        try:
            return await read_turns(self._deps.store, read_from, turn_ids)
        except (OSError, UnreadableRecord) as error:
            # A thread that this one was forked from may be gone, or Codex's alone.
            note = log.warning if read_from == self.thread_id else log.info
            note("journal_not_read_again", thread_id=read_from, detail=str(error))
            return TurnsRead({}, ThreadState())

    async def close(self) -> None:
        """Flushes all records and closes the file."""
        try:
            await self.flush()
        except JournalRefuses as error:
            if self.read_only is None:
                log.warning(
                    "journal_closed_unwritten", thread_id=self.thread_id, detail=error.detail
                )
        await self._journal.close()

    @property
    def _is_consistent(self) -> bool:
        """Returns whether the state is the result of the journal's records and no fact waits to be
        appended.
        """
        return self._journal.failure is None and not self._stale and not self._unwritten_facts

    def _submit(self, command: AnyCommand, ahead: Ahead | None) -> ev.Record | Rejected:
        if not self._is_consistent:
            raise JournalRefuses(str(self._journal.failure or UNWRITTEN))
        if not isinstance(command, wire.ClientCommand):
            return self._decide(command, None, b"", ahead)
        fingerprint = fingerprint_of(command)
        receipt = self.state.receipts.get(command.command_id)
        if receipt is not None:
            return stored_answer(command.command_id, receipt, fingerprint)
        return self._decide(command, command.command_id, fingerprint, ahead)

    def _decide(
        self, command: AnyCommand, command_id: str | None, fingerprint: bytes, ahead: Ahead | None
    ) -> ev.Record | Rejected:
        if self.read_only is not None:
            raise journal_read_only(self.read_only)
        stamp, decision, folds = decided(ahead, self.state, command, self._deps.deciding)
        if isinstance(decision, Rejected):
            if command_id is not None and self.state.exists:
                note = Accepted((ev.CommandRejected(decision.reason, decision.message),))
                self._append(self._record(note, stamp, command_id, fingerprint), None, folds)
            return decision
        record = self._record(decision, stamp, command_id, fingerprint)
        if record.events or command_id is not None:
            self._append(record, as_fact(command), folds)
        return record

    def _record(
        self, decision: Accepted, stamp: Stamp, command_id: str | None, fingerprint: bytes
    ) -> ev.Record:
        count = len(decision.events)
        if count == 0 and command_id is None:
            return ev.Record(
                self._deps.sequencer.last, self.state.thread_sequence, stamp.now_ms, ()
            )
        return ev.Record(
            self._deps.sequencer.reserve(count),
            self.state.thread_sequence + 1,
            stamp.now_ms,
            decision.events,
            command_id,
            fingerprint,
            decision.operation_id,
            asked_by=ASKED_BY.get() if command_id is not None else "",
        )

    def _append(self, record: ev.Record, fact: ExternalFact | None, folds: Folds | None) -> None:
        """Applies the record to the state, then appends it to the journal. This order ensures that
        a record which cannot be applied, and would make the thread unreadable, is never written.
        """
        self._stale = True  # until the state and the journal both have the record
        self._deps.dirty(self)
        apply(self.state, record, folds)
        payload = encode_record(record)
        try:
            self._journal.append(payload)
        except JournalError as error:
            raise JournalRefuses(str(error)) from error
        self._stale = False
        self._appended += 1
        self._unpublished.append(Unpublished(self._appended, len(payload), record, fact))
        self._unpublished_bytes += len(payload)

    def _publish_through(self, mark: int) -> None:
        while self._unpublished and self._unpublished[0].mark <= mark:
            one = self._unpublished.popleft()
            self._unpublished_bytes -= one.size_bytes
            self._publish(one.record)

    def _publish(self, record: ev.Record) -> None:
        self._recent.append(record)
        self._deps.subscriber(self.thread_id, record)

    async def _try_recover(self) -> None:
        """Tries to return to the durable state at once; if the disk refuses, the flusher tries
        again.
        """
        self._deps.dirty(self)
        with contextlib.suppress(JournalRefuses):
            await self._recover()

    async def _recover(self) -> None:
        """Ends a failure of the journal: returns to the durable state, then appends the facts that
        were lost or refused.

        :raises JournalRefuses: while the disk refuses, and always if the thread is read-only.
        """
        if not self._is_consistent:
            async with self._recovering:
                while self.read_only is None and not self._is_consistent:
                    await self._recover_once()
        if self.read_only is not None:
            raise journal_read_only(self.read_only)

    async def _recover_once(self) -> None:
        self._note_failure()
        if self._stale:
            await self._return_to_durable()
        self._replay_unwritten()

    def _note_failure(self) -> None:
        if self._journal.failure is not None and not self._stale:
            log.error(
                "journal_write_failed", thread_id=self.thread_id, detail=str(self._journal.failure)
            )
            self._stale = True

    async def _return_to_durable(self) -> None:
        """Reopens the journal and loads the durable state. The state is marked stale meanwhile, so
        nothing is appended.
        """
        try:
            await self._journal.reopen()
            await self._journal.commit()
            fresh = await load(self._deps.store, self.thread_id)
        except (JournalError, OSError) as error:
            raise JournalRefuses(str(error)) from error
        self._reset_to(fresh.state, fresh.flaw)
        await fresh.journal.close()

    def _reset_to(self, state: ThreadState, flaw: str | None) -> None:
        pending = list(self._unpublished)
        self._unpublished.clear()
        self._unpublished_bytes = 0
        durable = [
            one.record for one in pending if one.record.thread_sequence <= state.thread_sequence
        ]
        lost = pending[len(durable) :]
        log.warning(
            "returned_to_durable", thread_id=self.thread_id, lost_records=len(lost), read_only=flaw
        )
        self.state, self.read_only, self._stale = state, flaw, False
        kept = [one.fact for one in lost if one.fact is not None] + self._unwritten_facts.take()
        for fact in kept if flaw is None else ():
            self._unwritten_facts.keep(fact)
        for record in durable:
            self._publish(record)

    def _replay_unwritten(self) -> None:
        """Decides the unwritten facts again, in order. If `submit` refuses one, it keeps that fact
        and all later ones.
        """
        for fact in self._unwritten_facts.take():
            self._rewrite(fact)

    def _rewrite(self, fact: ExternalFact) -> None:
        try:
            self.submit(fact)
        except JournalRefuses:
            pass
        except Exception:  # a fact that no longer fits is dropped; the others are still written
            log.exception("fact_lost", thread_id=self.thread_id, what=type(fact).__name__)
