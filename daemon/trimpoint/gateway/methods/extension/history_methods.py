"""Handles `history/search` and `history/read`: the history of threads, including what has left the
context (docs/recall.md).
"""

from trimpoint_protocol.errors import Reason
from trimpoint_protocol.shapes import history as h

from trimpoint.core.model.clock import rfc3339
from trimpoint.core.views.entry_text import history_kind
from trimpoint.core.views.history_view import PlacedEntry
from trimpoint.gateway.session.requests.dispatch import Call, Handler
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.recall.history import History, Hit, excerpt
from trimpoint.recall.index import Where
from trimpoint.recall.recall import RecallUnavailable
from trimpoint.recall.words import terms_in
from trimpoint.threads.registry import ThreadRegistry

DEFAULT_HITS = 20
MAX_TEXT_CHARS = 4 * 1024 * 1024
"""The most text of one answer; a connection's messages have a limit too."""


class HistoryMethods:
    """Handles `history/search` and `history/read`. `table` maps method names to handlers."""

    def __init__(self, registry: ThreadRegistry, history: History) -> None:
        self._registry = registry
        self._history = history
        self.table: dict[str, Handler] = {
            "history/search": self._search,
            "history/read": self._read,
        }

    async def _search(self, call: Call, params: h.HistorySearchParams) -> h.HistorySearchResult:
        if not terms_in(params.query):
            raise Refusal(Reason.INVALID_PARAMS, "The query has no word to search for.")
        start, limit = _place(params.cursor), params.limit or DEFAULT_HITS
        where = await self._where(params)
        try:
            found = await self._history.search(
                params.query, where, pruned_only=params.pruned_only, limit=limit, start=start
            )
        except RecallUnavailable as error:
            problem = f"The history cannot be searched at present: {error.detail}."
            raise Refusal(Reason.SEARCH_UNAVAILABLE, problem) from error
        return h.HistorySearchResult(
            hits=[self._shown(hit) for hit in found.hits],
            next_cursor=None if found.next_place is None else str(found.next_place),
            unread=found.waiting,
        )

    async def _where(self, params: h.HistorySearchParams) -> Where:
        thread_id = None if params.thread_id is None else self._registry.stable_id(params.thread_id)
        scope = params.scope or ("all" if thread_id is None else "thread")
        folder = None
        if thread_id is not None:
            folder = (await self._registry.thread(thread_id)).state.cwd
        if scope == "thread" and thread_id is None:
            raise Refusal(Reason.INVALID_PARAMS, "The scope `thread` needs threadId.")
        if scope == "folder":
            folder = params.cwd or folder
            if folder is None:
                raise Refusal(Reason.INVALID_PARAMS, "The scope `folder` needs cwd or threadId.")
        return Where(
            thread_id if scope == "thread" else None,
            folder if scope == "folder" else None,
            tuple(params.kinds),
        )

    def _shown(self, hit: Hit) -> h.HistoryHit:
        entry, summary = hit.placed.entry, self._registry.summaries.get(hit.thread_id)
        return h.HistoryHit(
            thread_id=hit.thread_id,
            thread_name=summary.name if summary is not None else None,
            turn_id=entry.turn_id,
            turn=hit.placed.turn,
            entry_id=entry.id,
            short_id=hit.placed.short_id,
            kind=history_kind(entry.kind, entry.role),
            created_at=rfc3339(entry.created_at_ms),
            snippet=hit.snippet.text,
            marks=[list(mark) for mark in hit.snippet.marks],
            score=round(hit.score, 4),
            in_context=hit.in_context,
        )

    async def _read(self, call: Call, params: h.HistoryReadParams) -> h.HistoryExcerpt:
        writer = await self._registry.thread(self._registry.stable_id(params.thread_id))
        found = excerpt(writer.state, params.entry_id, params.turn_id, params.before, params.after)
        if found is None:
            raise Refusal(
                Reason.ENTRY_NOT_FOUND, f"The thread's history has no entry {params.entry_id!r}."
            )
        room = MAX_TEXT_CHARS // len(found.entries)
        return h.HistoryExcerpt(
            thread_id=writer.thread_id,
            entries=[
                _entry(one, in_context=in_context, room=room) for one, in_context in found.entries
            ],
            has_before=found.has_before,
            has_after=found.has_after,
        )


def _entry(one: PlacedEntry, *, in_context: bool, room: int) -> h.HistoryEntry:
    entry, text = one.entry, one.text
    return h.HistoryEntry(
        turn_id=entry.turn_id,
        turn=one.turn,
        entry_id=entry.id,
        short_id=one.short_id,
        kind=history_kind(entry.kind, entry.role),
        created_at=rfc3339(entry.created_at_ms),
        text=text[:room],
        truncated=len(text) > room,
        in_context=in_context,
    )


def _place(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 9:
        raise Refusal(Reason.INVALID_PARAMS, "The cursor was not issued by this method.")
    return int(cursor)
