"""Reads the end of a session of Claude Code, and says whether it needs what stands before. Pure."""

from typing import Any

from trimpoint.sessionlogs.claude.reader import ClaudeReader
from trimpoint.sessionlogs.claude.rows import QUEUE, CompactMetadata, Row, named_in


class ClaudeEnding(ClaudeReader):
    """Begins at any line. Where a row names another one that was not read, or takes a prompt from
    the queue that was not put into it, what is found may be wrong, and `reaches_back` is true.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.reaches_back = False
        self._begun = False

    def _take(self, row: Row) -> None:
        if row.type == QUEUE:
            self.reaches_back |= row.operation in ("dequeue", "remove") and not self._queued.any
        elif row.uuid is not None:
            self._follow(row)
        super()._take(row)

    def _follow(self, row: Row) -> None:
        if not self._begun:  # the first row continues what was not read
            self._begun = True
            if row.parent_uuid is not None:
                self._branches.add(row.parent_uuid, None, may_rewind=False)
        meta = row.compact_metadata or CompactMetadata()
        segment = meta.preserved_segment
        named = {row.parent_uuid, *named_in(meta)}
        if segment is not None:
            named |= {segment.head_uuid, segment.tail_uuid}
        self.reaches_back |= any(one is not None and one not in self._branches for one in named)
