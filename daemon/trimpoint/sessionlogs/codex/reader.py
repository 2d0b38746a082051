"""Reads the rollouts of a Codex session: lines in, unified records out (docs/session-logs.md).
Pure.

Always true: messages come from response items alone, not from the events that repeat them for a
user interface; the order is that of the files; the part that a fork took from its origin counts as
inherited.
"""

import re

from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.codex import boundaries as b
from trimpoint.sessionlogs.codex import rows
from trimpoint.sessionlogs.codex.answers import NewestAnswer
from trimpoint.sessionlogs.codex.copies import still_copied
from trimpoint.sessionlogs.codex.items import content_of, damaged_content
from trimpoint.sessionlogs.codex.known import KnownMessages
from trimpoint.sessionlogs.codex.oldest import OtherState, bare_row, whole_session
from trimpoint.sessionlogs.codex.parts import Part
from trimpoint.sessionlogs.codex.rows import BROKEN, BadLine, Item, Meta, Row
from trimpoint.sessionlogs.codex.usage import CallUsage
from trimpoint.sessionlogs.content import Content
from trimpoint.sessionlogs.ranges import Ranges
from trimpoint.sessionlogs.reading import About
from trimpoint.sessionlogs.records import Records
from trimpoint.sessionlogs.text.whole import WholeFile
from trimpoint.sessionlogs.window import NOWHERE, Place


class CodexReader:
    """Reads the parts of one session in order: `begin_part`, `feed` for each line, and `finish`
    after the last one.
    """

    def __init__(self, session_id: str, records: Records) -> None:
        self._session_id = session_id
        self._records = records
        self._window = records.window
        self._known = KnownMessages()
        self._counts = b.TokenCounts()
        self._turn = b.Turn(started=False, attributed=False)
        self._pending: b.PendingBoundary | None = None
        self._places: dict[tuple[str, int] | None, Place] = {}
        self._part = Part("", "")
        self._cuts: list[int] = []
        self._is_plain = True
        self._dropped = Ranges()
        self._whole: WholeFile | None = None
        self._line = self._metas = 0
        self._copied_at: str | None = None
        self._begun_at: str | None = None
        self._copied_from: str | None = None
        self._answer = NewestAnswer(records)
        self._usage = CallUsage(records.usage)
        self.part_done = False
        self.meta: Meta | None = None

    @property
    def _inherited(self) -> bool:
        return self._part.inherited or self._copied_at is not None

    def begin_part(self, part: Part) -> None:
        """Begins a file."""
        self._end_part()
        self._part, self._cuts, self._line, self._metas = part, list(part.cuts), 0, 0
        self._copied_at, self.part_done = None, False
        self._is_plain = self._places_are_known()
        self._whole = WholeFile() if part.is_whole else None
        place = NOWHERE if part.anew else self._places.get(part.base)
        if place is not None:
            self._dropped = self._window.rewind(place)
        elif part.base is not None and not self._window.count:
            self._records.note(f"The file {part.base[0]} that this session continues is not there.")

    def _rewound(self, timestamp: str | None) -> None:
        """Adds the rewind with which the current file begins."""
        dropped, self._dropped = self._dropped, Ranges()
        self._records.rewound(dropped, timestamp, u.SourceRef(file=self._part.name, line=1))

    def _read_whole(self, whole: WholeFile) -> None:
        """Reads a file of the first format, which is one object with the session and its items."""
        found = whole_session(whole.content())
        if found is None:
            self._records.unparsed += 1
            return
        meta, items = found
        self._session_meta(Row(), meta)
        for item in items:
            if item is None:
                self._records.unparsed += 1
            else:
                self._item_of(Row(timestamp=self.meta.timestamp if self.meta else None), item)

    def _end_part(self) -> None:
        whole, self._whole = self._whole, None
        if whole is not None:
            self._read_whole(whole)
        self._records.lines += self._line
        self._settle()
        self._rewound(None)
        for cut in self._cuts:
            self._places[self._part.id, cut] = self._window.place()
        self._cuts = []

    def feed(self, line: bytes) -> None:
        """Reads one line, including its line feed."""
        self._line += 1
        if self._whole is not None:
            self._whole.add(line)
            return
        head = rows.match_head(line)
        if head is not None and line.endswith(b"}\n"):
            kind = head[2]
            if kind == b"response_item":
                if self._is_plain and self._took_item(line, head):
                    return
            elif rows.can_be_skipped(kind, head[3]) or (
                self._is_plain and self._took_row(line, kind)
            ):
                return
        try:
            row = rows.row_of(line)
        except BadLine:
            self._records.unreadable(line)
            return
        self._take(row, line)

    def _places_are_known(self) -> bool:
        """Returns whether the ordinals and times of the next rows do not matter."""
        return self._part.stop is None and not self._cuts and self._copied_at is None

    def _took_row(self, line: bytes, kind: bytes) -> bool:
        """Handles the frequent rows other than items in a fast way; returns False if a row needs
        the general way.
        """
        match rows.row_beside(line, kind):
            case rows.EventRow() as row:
                self._event(row.timestamp, row.payload)
            case rows.ContextRow() as row:
                self._records.model = row.payload.model or self._records.model
            case rows.UsageRow() as row:
                self._call_used(row.payload)
            case None:
                return False
        return True

    def _took_item(self, line: bytes, head: re.Match[bytes]) -> bool:
        """Handles a response item in a fast way; returns False if it needs the general way."""
        if not self._records.wanted and rows.is_only_counted(head, line):
            self._counted_item(line, head)
            return True
        try:
            row = rows.decode_item_row(line)
        except BROKEN:
            return self._took_damaged(line, head)
        self._item_of(row, row.payload)
        return True

    def _took_damaged(self, line: bytes, head: re.Match[bytes]) -> bool:
        """Handles a damaged item that the first reading has counted; returns False for another."""
        if not rows.is_only_counted(head, line):
            return False
        count = self._window.count
        try:
            row = rows.mended_row(line)
            self._item_of(row, rows.decode_item(row.payload))
        except (BadLine, *BROKEN):
            self._records.unparsed += 1
        if self._window.count == count:
            self._add(Row(timestamp=head[1].decode("utf-8", "replace")), damaged_content(head[4]))
        return True

    def _counted_item(self, line: bytes, head: re.Match[bytes]) -> None:
        """Counts an item of which only the position is needed."""
        self._answer.note(line if head[3] == b"message" else None)
        index = self._records.counted(head[1].decode("utf-8", "replace"))
        item_id = head[4]
        if item_id is not None:
            self._known.add_id(index, item_id.decode("utf-8", "replace"))

    def _take(self, row: Row, line: bytes) -> None:
        if row.ordinal is not None:
            self._pass_cuts(row.ordinal)
            if self._part.stop is not None and row.ordinal >= self._part.stop:
                self.part_done = True
                return
        if self._copied_at is not None:
            self._copied_at = still_copied(self._copied_at, row, self._begun_at)
        try:
            self._dispatch(row, line)
        except BROKEN:
            self._dispatch_mended(line)
        self._is_plain = self._places_are_known()

    def _dispatch_mended(self, line: bytes) -> None:
        try:
            self._dispatch(rows.mended_row(line), line)
        except (BadLine, *BROKEN):
            self._records.unparsed += 1

    def _pass_cuts(self, ordinal: int) -> None:
        while self._cuts and ordinal >= self._cuts[0]:
            self._places[self._part.id, self._cuts.pop(0)] = self._window.place()

    def _dispatch(self, row: Row, line: bytes) -> None:
        match row.type:
            case "response_item":
                self._item_of(row, rows.decode_item(row.payload))
            case "event_msg":
                self._event(row.timestamp, rows.decode_event(row.payload))
            case "compacted":
                self._compacted(row, b.convert_compacted(row.payload))
            case "token_usage_record":
                self._call_used(rows.decode_usage(row.payload))
            case "turn_context":
                self._records.model = rows.decode_context(row.payload).model or self._records.model
            case "session_meta":
                self._session_meta(row, rows.decode_meta(row.payload))
            case _ if row.type.encode() in rows.SKIPPED:
                return
            case _:
                self._other(row, line)

    def _other(self, row: Row, line: bytes) -> None:
        """Reads a row of an unknown kind, or of the oldest format."""
        match bare_row(row, line):
            case Meta() as meta:
                self._session_meta(row, meta)
            case Item() as item:
                self._item_of(row, item)
            case OtherState():
                return
            case None:
                self._records.unknown_row(row.type or "none")

    def _session_meta(self, row: Row, meta: Meta) -> None:
        self._metas += 1
        if self._metas == 1:
            self._rewound(meta.timestamp)
            self._begun_at = meta.timestamp
            if not self._part.inherited:
                self.meta = self.meta or meta
            if meta.forked_from_id is not None and self._part.base is None:
                self._copied_at = row.timestamp  # a migrated fork begins with what it copied
        elif self._metas == 2 and self._line == 2:
            # The parent's, which begins what a fork of older versions copied. All
            # copied lines have one timestamp.
            self._copied_at, self._copied_from = row.timestamp, meta.id

    # --- messages

    def _item_of(self, row: Row | rows.ItemRow, item: Item) -> None:
        if item.type == "message" and row.metadata is not None and row.metadata.compaction_output:
            self._counts.summarized()
            self._answer.note(None)
            return
        role, records = item.role, self._records
        if role == "assistant" and self._answer.passes_over():
            return
        self._counts.item()
        content = content_of(item, records)
        index = self._add(row, content)
        if records.wanted:
            if self._pending is not None or content.kind == "prompt":
                b.note_message(content.kind, role, self._turn, self._pending)
            return
        self._answer.note(item if role == "assistant" else None)
        if item.type == "message" and (role == "user" or item.id is None):
            self._known.add_text(index, role, content.text)

    def _add(self, row: Row | rows.ItemRow, content: Content, *, synthetic: bool = False) -> int:
        records = self._records
        index = records.message(
            content,
            timestamp=row.timestamp,
            source_ref=self._source(),
            synthetic=synthetic,
            inherited=self._inherited,
        )
        if content.id is not None and not records.wanted:
            self._known.add_id(index, content.id)
        return index

    def _source(self) -> u.SourceRef:
        return u.SourceRef(file=self._part.name, line=self._line)

    # --- turns and tokens

    def _event(self, timestamp: str | None, event: rows.Event) -> None:
        match event.type:
            case "task_started" | "turn_started":
                self._settle()
                self._answer.note(None)
                self._turn = b.Turn(started=True, attributed=event.turn_attribution != rows.NULL)
            case "task_complete" | "turn_complete" | "turn_aborted":
                self._settle()
                self._turn = b.Turn(started=False, attributed=False)
            case "token_count" if event.info is not None:
                self._counted(event.info)
            case "thread_rolled_back":
                self._rolled_back(timestamp, event.num_turns)
            case _:
                pass
        self._records.seen(timestamp)

    def _counted(self, info: rows.TokenInfo) -> None:
        if (last := info.last_token_usage).input_tokens > 0:
            self._counts.add(last.total_tokens)
        elif self._pending is not None and self._pending.post_tokens is None and last.total_tokens:
            self._pending.post_tokens = last.total_tokens
        if not self._records.wanted:
            self._usage.total(info, inherited=self._inherited)

    def _call_used(self, record: rows.UsageOfCall) -> None:
        self._counts.answered(record.response_id)
        if not self._records.wanted:
            self._usage.call(record, inherited=self._inherited)

    # --- boundaries and rewinds

    def _compacted(self, row: Row, compacted: rows.Compacted) -> None:
        self._settle()
        if not b.is_boundary(compacted):
            self._records.unknown_row("compacted without history")
            return
        items = b.without_own_summary(b.replacement_of(compacted) or [])
        summary, sealed = b.summary_of(compacted)
        own = self._answer.withdraw(summary) or b.owns_newest_count(compacted, summary)
        matches = self._known.matches(items, self._records)
        kept = Ranges.of(index for index in matches if index is not None)
        if b.keeps_prompts(compacted):
            kept = self._records.live_prompts(b.MAX_KEPT_TOKENS)
        removed = self._window.replace(kept, row.timestamp)
        place = row.ordinal if row.ordinal is not None else self._line
        self._pending = b.PendingBoundary(
            {
                "after_message_index": self._records.last_index,
                "uuid": b.id_of(compacted, self._session_id, place),
                "pre_tokens": self._counts.before_compaction(
                    compacted.compaction_response_id, own_is_newest=own
                ),
                "summary": summary,
                "summary_encrypted": sealed,
                "replaced_message_indices": list(removed) if self._records.wanted else [],
                "kept_message_indices": list(kept) if self._records.wanted else [],
                "source_ref": self._source(),
                "timestamp": row.timestamp,
                "inherited": self._inherited,
                "undone": self._records.newest_boundary_undone(),
            }
        )
        if self._turn.started and self._turn.has_prompt:
            self._pending.decide("auto", "mid_turn")
        elif self._turn.started and self._turn.attributed:
            self._pending.decide("auto", "pre_turn")
        self._records.seen(row.timestamp)
        for item in b.only_in_replacement(items, matches):
            content = content_of(item, self._records)
            index = self._add(row, content, synthetic=True)
            if item.type == "message":
                self._known.add_text(index, item.role, content.text)

    def _settle(self) -> None:
        """Adds the boundary that waited for the end of its turn."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        if self._turn.started and not self._turn.has_prompt and not self._turn.attributed:
            pending.decide("manual", "standalone_turn")
        self._records.put(pending.record())

    def _rolled_back(self, timestamp: str | None, turns: int) -> None:
        self._settle()
        first = self._records.prompt_before(turns)
        if first is not None:
            if self._window.has_boundary_after(first):
                # Of what a compaction had kept, nothing is sent (driven: 0.110 to 0.150).
                first = 0
                self._records.note(b.ROLLED_BACK)
            dropped = self._window.rewind_before(first)
            self._records.rewound(dropped, timestamp, self._source())

    def finish(self) -> None:
        """Ends the log."""
        self._end_part()
        self._records.put_clears()

    def about(self) -> About:
        """Returns the data in the first row of the session's own first file."""
        meta = self.meta or Meta()
        origin = meta.forked_from_id or self._copied_from
        return About(
            cwd=meta.cwd,
            created_at=meta.timestamp,
            agent_version=meta.cli_version,
            git_branch=meta.git.branch if meta.git is not None else None,
            title=rows.nickname_of(meta.source) if self._records.first_prompt is None else None,
            lineage=u.Lineage(forked_from=origin, parent=rows.parent_of(meta.source)),
        )
