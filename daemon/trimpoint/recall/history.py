"""Searches and reads the history of threads: turns results of the index into entries of the
ledger.
"""

from typing import NamedTuple

from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.history_view import (
    ContextMembership,
    PlacedEntry,
    entry_of_turn,
    named_entry,
    placed,
)
from trimpoint.recall.index import Found, Where
from trimpoint.recall.recall import Recall
from trimpoint.recall.words import Snippet, Term, snippet, terms_in
from trimpoint.threads.errors import ThreadError
from trimpoint.threads.registry import ThreadRegistry


class Hit(NamedTuple):
    """An entry that a search found, with its score (higher is better) and whether it is in the
    active context.
    """

    thread_id: str
    placed: PlacedEntry
    snippet: Snippet
    score: float
    in_context: bool


class Hits(NamedTuple):
    """A page of hits, the best first. `next_place` is the position of the next page among the
    matches, or None if this is the last. `waiting` is the number of threads that are not fully
    indexed yet.
    """

    hits: list[Hit]
    next_place: int | None
    waiting: int


class Excerpt(NamedTuple):
    """Consecutive entries of a thread, each with whether it is in the active context, and whether
    more entries precede or follow.
    """

    entries: list[tuple[PlacedEntry, bool]]
    has_before: bool
    has_after: bool


class History:
    """Searches all threads of `registry`, and reads a single thread."""

    def __init__(self, recall: Recall, registry: ThreadRegistry) -> None:
        self._recall = recall
        self._registry = registry

    async def search(
        self, query: str, where: Where, *, pruned_only: bool, limit: int, start: int = 0
    ) -> Hits:
        """Returns the entries that match the words of `query`, at most `limit`, from the `start`-th
        match on. With `pruned_only`, entries in the active context are left out.

        :raises RecallUnavailable: when the index cannot be created or read.
        """
        terms = terms_in(query)
        found = await self._recall.search(terms, where)
        hits: list[Hit] = []
        seen: set[tuple[str, str, int]] = set()
        contexts: dict[str, ContextMembership] = {}
        for place, one in enumerate(found[start:], start):
            if len(hits) == limit:
                return Hits(hits, place, self._recall.waiting)
            key = one[:3]
            hit = await self._hit(one, terms, contexts) if key not in seen else None
            seen.add(key)
            if hit is not None and not (pruned_only and hit.in_context):
                hits.append(hit)
        return Hits(hits, None, self._recall.waiting)

    async def _hit(
        self, found: Found, terms: list[Term], contexts: dict[str, ContextMembership]
    ) -> Hit | None:
        """Returns the entry of the ledger for a match, or None if the ledger no longer has it, as
        after a revert. `contexts` are those of the threads of earlier matches.
        """
        state = await self._state(found.thread_id)
        entry = entry_of_turn(state, found.turn_id, found.place) if state is not None else None
        if state is None or entry is None:
            return None
        piece = snippet(entry.text, terms)
        if not piece.marks:
            return None
        if found.thread_id not in contexts:
            contexts[found.thread_id] = ContextMembership(state)
        in_context = contexts[found.thread_id].has(entry.entry)
        return Hit(found.thread_id, entry, piece, found.score, in_context)

    async def _state(self, thread_id: str) -> ThreadState | None:
        try:
            return (await self._registry.thread(thread_id)).state
        except ThreadError:
            return None


def excerpt(
    state: ThreadState, name: str, turn_id: str | None, before: int, after: int
) -> Excerpt | None:
    """Returns an entry with up to `before` entries before and `after` entries after it, or None if
    there is no such entry.
    """
    found = named_entry(state, name, turn_id)
    if found is None:
        return None
    first = max(0, found.position - before)
    end = min(len(state.entries), found.position + after + 1)
    context = ContextMembership(state)
    entries = [placed(state, index) for index in range(first, end)]
    return Excerpt(
        [(one, context.has(one.entry)) for one in entries], first > 0, end < len(state.entries)
    )
