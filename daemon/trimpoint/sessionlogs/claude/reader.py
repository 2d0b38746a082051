"""Reads a session of Claude Code: lines in, unified records out (docs/session-logs.md). Pure.

Always true: the order is that of the file, not of timestamps, which run backwards at a compaction;
of rows with the same uuid the first counts; the rows of one answer are one message.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any

from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.claude.branches import Branches, Step
from trimpoint.sessionlogs.claude.clears import cleared_in_place, typed_between
from trimpoint.sessionlogs.claude.early import EarlyAnswers, Placed
from trimpoint.sessionlogs.claude.facts import SessionFacts
from trimpoint.sessionlogs.claude.messages import (
    SYNTHETIC_MODEL,
    AnswerUsage,
    begins,
    content_of,
    kind_of,
    merged,
    queued_in,
    summary_in,
    text_of,
)
from trimpoint.sessionlogs.claude.queued import QueuedPrompts
from trimpoint.sessionlogs.claude.rows import (
    NULL,
    QUEUE,
    SKIPPED,
    TITLES,
    BadLine,
    CompactMetadata,
    Row,
    named_in,
    row_of,
)
from trimpoint.sessionlogs.made_ids import made_id
from trimpoint.sessionlogs.ranges import Ranges
from trimpoint.sessionlogs.reading import About
from trimpoint.sessionlogs.records import Records

SAID = ("user", "assistant")
TRIGGERS: dict[str, u.Trigger] = {"manual": "manual", "auto": "auto"}


class ClaudeReader:
    """Reads one file: `begin_part`, `feed` for each line, and `finish` after the last one.

    `is_side`: the session is a sub-agent's. `typed_clears`: the times of clears in this session,
    for versions that continued a session under its id. `copied_lines`: the number of lines that
    belong to another session.
    """

    part_done = False

    def __init__(
        self,
        session_id: str,
        records: Records,
        *,
        is_side: bool = False,
        typed_clears: tuple[datetime, ...] = (),
        copied_lines: int = 0,
    ) -> None:
        self._session_id = session_id
        self._records = records
        self._is_side = is_side
        self._typed_clears = typed_clears
        self._copied_lines = copied_lines
        self._window = records.window
        self._branches = Branches()
        self._indices: dict[str, int] = {}
        self._answer: tuple[str, int] | None = None
        self._usage = AnswerUsage(records)
        self._queued = QueuedPrompts(session_id)
        self._boundary: dict[str, Any] | None = None
        self._boundary_uuid = ""
        self._awaited: set[str] = set()
        self._held: Row | None = None
        self._held_named: set[str] = set()
        self._file = ""
        self._line = self._at = 0  # the last line, and that of the row that is read
        self._early = EarlyAnswers()
        self._nameless = 0
        self._facts = SessionFacts()

    def begin_part(self, part: str) -> None:
        """Begins a file."""
        self._file, self._line = part, 0

    def feed(self, line: bytes) -> None:
        """Reads one line, including its line feed."""
        self._line += 1
        self._records.lines += 1
        try:
            row = row_of(line)
        except BadLine:
            self._records.unreadable(line)
            return
        self._take(row)

    def _take(self, row: Row) -> None:
        if row.type in TITLES:
            self._facts.titled(row)
            return
        if row.type == QUEUE:
            self._queued.changed(row, self._line)
            return
        if row.uuid is None and row.type in SAID and row.message is not None:
            self._nameless += 1
            row.uuid = f"line {self._line}"
            row.parent_uuid = self._branches.live[-1] if self._branches.live else None
        uuid = row.uuid
        if uuid is not None:
            if self._early.passes(row, self._branches):
                self._at = self._line
                self._once(row, uuid)
            else:
                self._read(self._early.ordered(Placed(row, uuid, self._line), self._branches))
        elif row.type not in (*SKIPPED, "attachment", "system"):
            self._records.unknown_row(row.type or "none")

    def _read(self, placed: Iterable[Placed]) -> None:
        for row, uuid, self._at in placed:
            self._once(row, uuid)

    def _once(self, row: Row, uuid: str) -> None:
        if uuid in self._branches:
            self._records.duplicates += 1
            return
        self._facts.read(row)
        if self._is_side:
            row.is_sidechain = False  # in its own file, a sub-agent's conversation is the main one
        if self._awaited and row.type in SAID and uuid not in self._awaited:
            self._moved_rows_ended(row)
        if self._ends_held(row, uuid):
            self._apply_held()
        if row.type == "system" and row.subtype == "compact_boundary":
            self._bounded(row, uuid)
        elif row.is_compact_summary:
            self._summarized(row, uuid)
        elif row.type in SAID and row.message is not None:
            self._conversation_row(row, uuid)
        elif (queued := queued_in(row)) is not None:
            row.type, row.message = "user", queued
            self._conversation_row(row, uuid)
        else:
            self._beside(row, uuid)

    def _beside(self, row: Row, uuid: str) -> None:
        """Reads a row that is part of the chain but not a message, such as an attachment."""
        self._branches.add(uuid, row.parent_uuid, may_rewind=False, dead=bool(row.is_sidechain))
        self._records.seen(row.timestamp)
        meta = row.microcompact_metadata
        if row.subtype == "microcompact_boundary" and meta is not None:
            self._records.put(
                u.ToolResultClearRecord(
                    after_message_index=self._records.last_index,
                    timestamp=row.timestamp,
                    trigger=meta.trigger,
                    pre_tokens=meta.pre_tokens,
                    tokens_saved=meta.tokens_saved,
                    call_ids=meta.compacted_tool_ids,
                )
            )
        elif row.type not in ("system", "attachment", *SKIPPED):
            self._records.unknown_row(row.type or "none")

    # --- messages

    def _conversation_row(self, row: Row, uuid: str) -> None:
        kind = kind_of(row)
        if row.type == "user" and self._queued.any:
            self._queued.shown(text_of(row.message))
        answer_id = row.message.id if row.message is not None and row.type == "assistant" else None
        if answer_id is not None and self._answer is not None and self._answer[0] == answer_id:
            self._same_answer(row, uuid, kind, *self._answer)
            return
        is_side = bool(row.is_sidechain)
        may_begin = begins(row, kind)
        step = self._branches.add(uuid, row.parent_uuid, may_rewind=may_begin, dead=is_side)
        if step.is_root and self._was_cleared(row):
            self._cleared(row)
        else:
            self._took_back(step, row, uuid)
        if row.type == "assistant" or may_begin:
            self._records.close()
            self._answer = None
            self._queued.put(self._records, self._file)
        self._message(row, uuid, kind, live=not is_side)
        if answer_id is not None:
            self._answer = answer_id, self._records.last_index
            self._records.keep_open()
        self._usage.count(row, answer_id, copied=self._is_copied(row))

    def _same_answer(self, row: Row, uuid: str, kind: str, answer_id: str, index: int) -> None:
        self._branches.add(uuid, row.parent_uuid, may_rewind=False, dead=bool(row.is_sidechain))
        self._indices[uuid] = index
        if index not in self._window.live:
            self._branches.rearranged = True
        self._usage.count(row, answer_id, copied=self._is_copied(row))
        if self._records.wanted:
            self._records.extend(partial(merged, more=content_of(row, kind, self._records)))

    def _message(self, row: Row, uuid: str, kind: str, *, live: bool) -> None:
        content = content_of(row, kind, self._records)
        is_synthetic = content.model == SYNTHETIC_MODEL
        # An error is for the person alone: the model is never sent it.
        is_error = bool(row.is_api_error_message)
        index = self._records.message(
            content,
            timestamp=row.timestamp,
            source_ref=self._source(),
            synthetic=is_synthetic,
            inherited=self._is_copied(row),
            live=live and not is_error,
        )
        if is_error:
            return
        self._indices[uuid] = index
        if uuid in self._awaited:
            self._moved_behind(uuid, index)
        if row.type == "assistant" and content.model and not is_synthetic:
            self._records.model = content.model

    def _source(self) -> u.SourceRef:
        return u.SourceRef(file=self._file, line=self._at)

    def _is_copied(self, row: Row) -> bool:
        return row.forked_from is not None or self._at <= self._copied_lines

    def _took_back(self, step: Step, row: Row, uuid: str) -> None:
        """Applies a rewind. Looks at the live rows only if they were rearranged: looking at each
        row would take time that grows with the square of the session.
        """
        if not self._branches.rearranged:
            return
        self._branches.rearranged = False
        indices = Ranges.of(self._live_indices(step.dropped))
        if step.undone:
            since = self._window.undo(step.undone)
            indices = indices.plus(Ranges([(since, self._window.count)]))
        live = Ranges.of(self._live_indices([one for one in self._branches.live if one != uuid]))
        if not indices.runs and live == self._window.live:
            return
        taken = self._window.rewind_dropping(indices)
        self._window.relive(live)
        self._records.rewound(taken, row.timestamp, self._source())

    def _was_cleared(self, row: Row) -> bool:
        """Returns whether a clear was typed between the newest row and this one."""
        return typed_between(self._typed_clears, self._records.last_timestamp, row.timestamp)

    def _cleared(self, row: Row) -> None:
        self._window.relive(Ranges())
        after = self._records.last_index
        self._records.put(cleared_in_place(self._session_id, after, row.timestamp))

    def _live_indices(self, uuids: list[str]) -> list[int]:
        return [self._indices[uuid] for uuid in uuids if uuid in self._indices]

    # --- boundaries

    def _bounded(self, row: Row, uuid: str) -> None:
        """Applies a boundary. A copy of a session has one that kept the beginning before the rows
        that it kept, among which another boundary may be: it waits for its summary.
        """
        meta = row.compact_metadata or CompactMetadata()
        preserved = meta.preserved_messages
        named = named_in(meta)
        if (
            preserved is None
            or preserved.anchor_uuid != uuid
            or not named
            or any(one in self._branches for one in named)
        ):
            self._compacted(row, uuid)
        else:
            self._held, self._held_named = row, named

    def _ends_held(self, row: Row, uuid: str) -> bool:
        """Returns whether a boundary waits, and a row comes behind all that it kept."""
        if self._held is None or (row.type not in SAID and row.subtype != "compact_boundary"):
            return False
        return uuid not in self._held_named

    def _apply_held(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._compacted(held, held.uuid or "")

    def _compacted(self, row: Row, uuid: str) -> None:
        self._settle()
        self._records.close()
        self._answer = None
        meta = row.compact_metadata or CompactMetadata()
        kept_uuids, anchor = self._preserved(meta)
        self._branches.compact(uuid, kept_uuids, keeps_beginning=anchor == uuid)
        self._open_boundary(row, uuid, Ranges.of(self._live_indices(kept_uuids)), meta)
        self._awaited = {one for one in named_in(meta) if one not in self._branches}

    def _preserved(self, meta: CompactMetadata) -> tuple[list[str], str | None]:
        """Returns the rows that a boundary kept, and the row that is their parent now."""
        preserved, segment = meta.preserved_messages, meta.preserved_segment
        if preserved is not None:
            named = named_in(meta)
            return [uuid for uuid in self._branches.live if uuid in named], preserved.anchor_uuid
        if segment is not None and segment.head_uuid and segment.tail_uuid:
            return self._branches.stretch(segment.head_uuid, segment.tail_uuid), segment.anchor_uuid
        return [], None

    def _open_boundary(self, row: Row, uuid: str, kept: Ranges, meta: CompactMetadata) -> None:
        after = self._records.last_index
        kept = kept.both(self._window.live)
        removed = self._window.replace(kept, row.timestamp)
        wanted = self._records.wanted
        self._boundary_uuid = uuid
        self._boundary = {
            "after_message_index": after,
            "uuid": uuid,
            "trigger": TRIGGERS.get(meta.trigger or ""),
            "pre_tokens": meta.pre_tokens,
            "post_tokens": meta.post_tokens,
            "replaced_message_indices": list(removed) if wanted else [],
            "kept_message_indices": list(kept) if wanted else [],
            "source_ref": self._source(),
            "timestamp": row.timestamp,
            "inherited": self._is_copied(row),
            "undone": self._records.newest_boundary_undone(),
            "summary": None,
        }
        self._records.seen(row.timestamp)

    def _summarized(self, row: Row, uuid: str) -> None:
        self._awaited.discard(uuid)  # a damaged boundary names its own summary as kept
        if self._boundary is not None and self._boundary_uuid not in self._branches.live:
            self._settle()  # a rewind has undone it before its summary came
        if self._boundary is None:
            # Versions before there was a boundary wrote the summary alone.
            made = made_id(self._session_id, self._at)
            self._open_boundary(row, made, Ranges(), CompactMetadata())
            self._branches.summarize(uuid, row.parent_uuid, None)
        else:
            self._branches.summarize(uuid, row.parent_uuid, self._boundary_uuid)
        self._message(row, uuid, kind_of(row), live=True)
        boundary = self._boundary
        assert boundary is not None
        boundary["summary"] = summary_in(text_of(row.message))
        boundary["summary_message_index"] = self._records.last_index
        if row.summarize_metadata != NULL:
            boundary["trigger"] = "manual_partial"
        if not self._awaited:
            self._settle()

    def _moved_behind(self, uuid: str, index: int) -> None:
        """Moves a kept row behind the summary, as a branch records it."""
        self._awaited.discard(uuid)
        if self._boundary is not None and self._records.wanted:
            self._boundary["kept_message_indices"].append(index)
        if not self._awaited:
            self._settle()

    def _moved_rows_ended(self, row: Row) -> None:
        """Stops waiting for kept rows: those that have not come are not in this file."""
        if self._boundary is None or "summary_message_index" in self._boundary:
            self._settle()
        elif not row.is_compact_summary:
            self._awaited.clear()

    def _settle(self) -> None:
        boundary, self._boundary = self._boundary, None
        self._awaited = set()
        if boundary is None:
            return
        if boundary["trigger"] is not None:
            boundary["trigger_source"] = "log"
        self._records.put(u.BoundaryRecord(**boundary))

    def finish(self) -> None:
        """Ends the log."""
        self._read(self._early.rest())
        self._apply_held()
        self._settle()
        self._queued.put(self._records, self._file)
        self._records.put_clears()
        self._records.close()
        if self._nameless:
            self._records.note(
                f"{self._nameless} rows have no id; their order is that of the file."
            )

    def about(self) -> About:
        """Returns the data about the session that the rows contain."""
        return self._facts.about()
