"""Collects the records of a reader: numbers messages and follows the live context. Pure.

A log is read twice: first to find out what became of each message (`fates`), then for the records,
which contain it. The first reading makes no messages. The readers behave the same in both, so that
the indices agree.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable

import msgspec
from trimpoint_protocol import unified as u

from trimpoint.core.context.pins import NOTE_PREFIX
from trimpoint.sessionlogs.content import Content
from trimpoint.sessionlogs.ranges import Ranges
from trimpoint.sessionlogs.recent import Recent
from trimpoint.sessionlogs.window import Fates, Window

MAX_NOTES = 20
MAX_OPEN_CALLS = 4096
MAX_PROMPTS = 65_536
BYTES_PER_TOKEN = 4
# What Claude Code puts before a person's words in an editor.
_IDE_CONTEXT = re.compile(r"\A(?:\s*<(ide_opened_file|ide_selection)>.*?</\1>\s*)+", re.DOTALL)


class Records:
    """Collects the records of one session. `fates` is None during the first reading."""

    def __init__(
        self,
        fates: Fates | None = None,
        *,
        only_active: bool = False,
        clears: Iterable[u.Clear] = (),
    ) -> None:
        self.window = Window()
        self.fates = fates
        self.wanted = fates is not None
        """Whether this is the second reading, which makes records."""
        self._only_active = only_active
        self._clears = sorted(clears, key=lambda one: one.timestamp or "")
        self.ready: list[u.Record] = []
        self.usage = UsageSum()
        self.turns = self.boundaries = self.clears = self.rewinds = 0
        self.lines = self.unparsed = self.duplicates = 0
        self.pending = False
        self.unknown: dict[str, int] = {}
        self.notes: list[str] = []
        self.first_prompt: str | None = None
        self.first_timestamp: str | None = None
        self.last_timestamp: str | None = None
        self.model: str | None = None
        self._open: int | None = None
        self._waits = False
        self._calls: Recent[str, int] = Recent(MAX_OPEN_CALLS)
        self._prompts: deque[tuple[int, int]] = deque(maxlen=MAX_PROMPTS)

    @property
    def last_index(self) -> int:
        """Returns the index of the last message; -1 if there is none."""
        return self.window.count - 1

    def take(self) -> list[u.Record]:
        """Returns the complete records and removes them."""
        end = len(self.ready) if self._open is None else self._open
        if self._waits:
            end = next((at for at in range(end) if self._changes_later(self.ready[at])), end)
        taken, self.ready = self.ready[:end], self.ready[end:]
        if self._open is not None:
            self._open = 0
        return taken

    def keep_open(self) -> None:
        """Keeps the newest message open, because more may be added to it; it and later records are
        held back until `close`. A message that is left out stays so.
        """
        newest = self.ready[-1] if self.ready else None
        is_there = isinstance(newest, u.MessageRecord) and newest.index == self.last_index
        self._open = len(self.ready) - 1 if is_there else None

    def wait_for_changes(self) -> None:
        """Holds back a message that is written again later, and the records after it, until its
        last form was read.
        """
        self._waits = True

    def _changes_later(self, record: u.Record) -> bool:
        return (
            isinstance(record, u.MessageRecord)
            and self.fates is not None
            and self.fates.changed.get(record.index, 0) > self.lines
        )

    def update(
        self, index: int, content: Content, timestamp: str | None, source_ref: u.SourceRef
    ) -> None:
        """Replaces the content of a message that is still held back; the live context does not
        change.
        """
        self.window.changed[index] = self.lines
        for call in content.tool_calls:
            self._opened(call.id, index)
        if (at := self._held(index)) is not None:
            self.ready[at] = msgspec.structs.replace(
                self.ready[at],
                timestamp=timestamp,
                source_ref=source_ref,
                **msgspec.structs.asdict(content),
            )

    def drop_result(self, index: int, call_id: str | None) -> None:
        """Removes the result of a call from a message that is still held back."""
        self.window.changed[index] = self.lines
        at = self._held(index)
        record = self.ready[at] if at is not None else None
        if at is not None and isinstance(record, u.MessageRecord):
            left = [one for one in record.tool_results if one.call_id != call_id]
            self.ready[at] = msgspec.structs.replace(record, tool_results=left)

    def _held(self, index: int) -> int | None:
        for at in range(len(self.ready) - 1, -1, -1):
            record = self.ready[at]
            if isinstance(record, u.MessageRecord) and record.index == index:
                return at
        return None

    def close(self) -> None:
        """Closes the message that was kept open."""
        self._open = None

    def extend(self, change: Callable[[u.MessageRecord], u.MessageRecord]) -> None:
        """Changes the message that was kept open."""
        if self._open is None:
            return
        record = self.ready[self._open]
        if isinstance(record, u.MessageRecord):
            self.ready[self._open] = changed = change(record)
            for call in changed.tool_calls:
                self._opened(call.id, changed.index)

    def seen(self, timestamp: str | None) -> None:
        """Updates the first and the last time of the session."""
        if timestamp is not None:
            if self.first_timestamp is None:
                self.first_timestamp = timestamp
            self.last_timestamp = timestamp

    def newest_boundary_undone(self) -> bool:
        """Returns whether a later rewind goes back to before the newest boundary."""
        return self.fates is not None and self.window.boundaries - 1 in self.fates.undone

    def unknown_row(self, kind: str) -> None:
        """Counts a row of an unknown kind."""
        if kind not in self.unknown and len(self.unknown) >= MAX_NOTES:
            kind = "other"
        self.unknown[kind] = self.unknown.get(kind, 0) + 1

    def note(self, text: str) -> None:
        """Adds a sentence for people about something that could not be determined."""
        if text not in self.notes and len(self.notes) < MAX_NOTES:
            self.notes.append(text)

    def message(
        self,
        content: Content,
        *,
        timestamp: str | None,
        source_ref: u.SourceRef,
        synthetic: bool = False,
        inherited: bool = False,
        live: bool = True,
    ) -> int:
        """Adds a message. Returns its index.

        :param live: whether the model sees it now.
        """
        kind = content.kind
        if self._clears and kind == "prompt":
            self._clear_before(timestamp)
        index = self.window.add(live=live)
        if kind == "prompt" and not content.sidechain:
            self._prompted(index, content.text)
        self.seen(timestamp)
        for call in content.tool_calls:
            self._opened(call.id, index)
        if self.fates is None:
            return index
        active, branch, compacted_at = self.fates.of(index)
        if active or not self._only_active:
            # Named one by one: unpacked from a mapping it takes three times as long.
            self.ready.append(
                u.MessageRecord(
                    index=index,
                    id=content.id,
                    role=content.role,
                    kind=kind,
                    text=content.text,
                    timestamp=timestamp,
                    active=active,
                    branch=branch,
                    synthetic=synthetic,
                    compacted_at=compacted_at,
                    source_ref=source_ref,
                    tool_calls=content.tool_calls,
                    tool_results=content.tool_results,
                    thoughts=content.thoughts,
                    usage=content.usage,
                    model=content.model,
                    phase=content.phase,
                    sidechain=content.sidechain,
                    inherited=inherited,
                    omitted=content.omitted,
                )
            )
        return index

    def _prompted(self, index: int, text: str) -> None:
        self.turns += 1
        self._prompts.append((index, len(text)))
        if self.first_prompt is None and not text.startswith(NOTE_PREFIX):
            self.first_prompt = _IDE_CONTEXT.sub("", text)[:500] or None

    def counted(self, timestamp: str) -> int:
        """Counts a message without reading it. Returns its index."""
        self.seen(timestamp)
        return self.window.add()

    def withdraws_next(self) -> bool:
        """Returns whether the first reading found that the next message does not count."""
        return self.fates is not None and self.fates.withdraws(self.window.count)

    def live_prompts(self, max_tokens: int) -> Ranges:
        """Returns the newest live prompts up to a size, including the one that exceeds it."""
        found: list[int] = []
        for index, size in reversed(self._prompts):
            if index in self.window.live:
                found.append(index)
                max_tokens -= size // BYTES_PER_TOKEN + 1
                if max_tokens <= 0:
                    break
        return Ranges.of(found)

    def prompt_before(self, turns: int) -> int | None:
        """Returns the index of the prompt with which the newest `turns` turns begin; that of the
        oldest prompt if there are fewer.
        """
        found = None
        for index, _ in reversed(self._prompts):
            if turns <= 0:
                break
            if index in self.window.live:
                found = index
                turns -= 1
        return found

    def call_index(self, call_id: str | None) -> int | None:
        """Returns the index of the message with the call of that id; None if it is unknown or too
        old.
        """
        return self._calls.get(call_id) if call_id is not None else None

    def _opened(self, call_id: str | None, index: int) -> None:
        if call_id is not None:
            self._calls.put(call_id, index)

    def put(self, record: u.Record) -> None:
        """Adds a record that is not a message."""
        match record:
            case u.BoundaryRecord():
                self.boundaries += 1
            case u.ClearRecord():
                self.clears += 1
            case u.RewindRecord():
                self.rewinds += 1
            case _:
                pass
        if self.fates is not None:
            self.ready.append(record)

    def unreadable(self, line: bytes) -> None:
        """Counts a line that is not a row; the last line may be incomplete."""
        if not line.strip(b"\x00 \t\r\n"):
            return
        if line.endswith(b"\n"):
            self.unparsed += 1
        else:
            self.pending = True

    def _clear_before(self, timestamp: str | None) -> None:
        """Adds the clears before a prompt, after which the session continued."""
        while self._clears and (self._clears[0].timestamp or "") < (timestamp or ""):
            self._put_clear(self._clears.pop(0))

    def put_clears(self) -> None:
        """Adds the remaining clears; no message follows."""
        while self._clears:
            self._put_clear(self._clears.pop(0))

    def _put_clear(self, clear: u.Clear) -> None:
        after = self.last_index if clear.from_session is not None else -1
        self.put(
            u.ClearRecord(
                after_message_index=after,
                timestamp=clear.timestamp,
                kind=clear.kind,
                from_session=clear.from_session,
                to_session=clear.to_session,
                confidence=clear.confidence,
                evidence=clear.evidence,
            )
        )

    def rewound(self, dropped: Ranges, timestamp: str | None, source: u.SourceRef | None) -> None:
        """Adds the rewind that the live context has just made, if it dropped anything."""
        if not dropped.runs:
            return
        self.put(
            u.RewindRecord(
                after_message_index=self.last_index,
                to_message_index=self.window.live.highest(),
                timestamp=timestamp,
                dropped_message_indices=list(dropped),
                branch=self.window.branches,
                source_ref=source,
            )
        )

    def end(self, digest: str) -> u.EndRecord:
        """Returns the last record."""
        return u.EndRecord(
            messages=self.window.count,
            active_messages=len(self.window.live),
            turns=self.turns,
            boundaries=self.boundaries,
            clears=self.clears,
            rewinds=self.rewinds,
            lines=self.lines,
            unparsed=self.unparsed,
            duplicates=self.duplicates,
            pending=self.pending,
            unknown=dict(sorted(self.unknown.items())),
            notes=self.notes,
            digest=digest,
        )


class UsageSum:
    """Adds up the usage of model calls. `first_input` is the input of the first one, `window` the
    size of the model's window, where the log has it.
    """

    def __init__(self) -> None:
        self.calls = self.first_input = 0
        self.window: int | None = None
        self._sums = [0, 0, 0, 0, 0, 0]

    def add(self, usage: u.Usage) -> None:
        """Adds a call."""
        self.calls += 1
        self.first_input = self.first_input or usage.input_tokens
        for at, value in enumerate(
            (
                usage.input_tokens,
                usage.cached_input_tokens,
                usage.cache_creation_input_tokens,
                usage.output_tokens,
                usage.reasoning_output_tokens,
                usage.total_tokens,
            )
        ):
            self._sums[at] += value

    def add_output(self, tokens: int) -> None:
        """Adds to the output of a call that was added already."""
        self._sums[3] += tokens
        self._sums[5] += tokens

    def record(self) -> u.UsageRecord:
        """Returns the sum as a record."""
        given, cached, created, output, reasoning, total = self._sums
        return u.UsageRecord(
            input_tokens=given,
            cached_input_tokens=cached,
            cache_creation_input_tokens=created,
            output_tokens=output,
            reasoning_output_tokens=reasoning,
            total_tokens=total,
            calls=self.calls,
        )
