"""Which trimmed threads belong on a page of `thread/list`, and where. Pure.

A thread that was trimmed is served by another provider thread since. Codex sorts that one by its own
times, or lists it not at all before its first turn, so such threads are left out of Codex's pages and
put where their own times belong.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from trimpoint.core.model.lenient import as_dict, as_list
from trimpoint.threads.catalogue import ThreadSummary

# What Codex lists when it is not told which kinds of source are wanted (measured: 0.163, 0.171).
_NOT_INTERACTIVE = frozenset({"exec", "appServer", "mcp", "subAgent", "internal", "unknown"})
_CURSOR = "trimpoint:"

SortMember = Literal["createdAt", "updatedAt"]


class Position(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a page ended. `codex` is Codex's cursor of the page to go on with.

    `theirs` is the last row of that page that was given out already; `ours` the sort value and the
    id of the last trimmed thread.
    """

    codex: str | None = None
    theirs: str | None = None
    ours: tuple[int, str] | None = None


def position_of(cursor: object) -> Position:
    """The position that a client's cursor stands for; a cursor of Codex's own goes on in Codex's list."""
    if not isinstance(cursor, str):
        return Position()
    if not cursor.startswith(_CURSOR):
        return Position(codex=cursor)
    try:
        return msgspec.json.decode(cursor.removeprefix(_CURSOR), type=Position)
    except msgspec.MsgspecError:
        return Position(codex=cursor)


def cursor_of(position: Position) -> str:
    """The position as an opaque text."""
    return _CURSOR + msgspec.json.encode(position).decode()


class Order(NamedTuple):
    """How a list is sorted."""

    member: SortMember
    descending: bool

    def value_of(self, summary: ThreadSummary) -> int:
        """The sort value of a thread of ours, in seconds as Codex shows it."""
        at_ms = summary.created_at_ms if self.member == "createdAt" else summary.updated_at_ms
        return at_ms // 1000

    def rank(self, value: int) -> int:
        """Smaller comes first."""
        return -value if self.descending else value


def order_of(params: dict[str, Any]) -> Order:
    """As asked for; Codex sorts by creation, newest first, unless told otherwise."""
    by_update = params.get("sortKey") in ("updated_at", "recency_at")
    return Order("updatedAt" if by_update else "createdAt", params.get("sortDirection") != "asc")


def candidates(
    summaries: Iterable[ThreadSummary], params: dict[str, Any], order: Order, after: tuple[int, str] | None
) -> list[ThreadSummary]:
    """Trimmed threads that may belong on pages after that one, in order."""
    if params.get("ancestorThreadId"):
        return []
    found = [summary for summary in summaries if was_renewed(summary) and _fits(summary, params)]
    found.sort(key=lambda summary: _place(summary, order))
    if after is None:
        return found
    begin = (order.rank(after[0]), after[1])
    return [summary for summary in found if _place(summary, order) > begin]


def _place(summary: ThreadSummary, order: Order) -> tuple[int, str]:
    return order.rank(order.value_of(summary)), summary.thread_id


def was_renewed(summary: ThreadSummary) -> bool:
    """Whether another provider thread serves the thread than the one it is called after."""
    current = summary.provider_thread_ids[-1] if summary.provider_thread_ids else None
    return current is not None and current != summary.thread_id


def _fits(summary: ThreadSummary, params: dict[str, Any]) -> bool:
    """Whether what the catalogue knows of a thread is what is asked for."""
    cwd, term = params.get("cwd"), params.get("searchTerm")
    wanted = [cwd] if isinstance(cwd, str) else as_list(cwd)
    title = (summary.name or summary.preview).casefold()
    return (
        summary.archived == bool(params.get("archived"))
        and (not wanted or summary.cwd in wanted)
        and (not term or str(term).casefold() in title)
        and summary.thread_id not in as_list(params.get("excludedThreadIds"))
    )


def row_fits(row: dict[str, Any], params: dict[str, Any]) -> bool:
    """Whether what Codex knows of a thread is what is asked for."""
    providers, parent = as_list(params.get("modelProviders")), params.get("parentThreadId")
    return (
        (not providers or row.get("modelProvider") in providers)
        and _source_fits(row.get("source"), as_list(params.get("sourceKinds")))
        and (not parent or row.get("parentThreadId") == parent)
        and ("projectId" not in params or row.get("projectId") == params["projectId"])
        and ("sectionId" not in params or as_dict(row.get("section")).get("id") == params["sectionId"])
    )


def _source_fits(source: object, wanted: list[Any]) -> bool:
    kind = source if isinstance(source, str) else next(iter(as_dict(source)), "unknown")
    return kind in wanted if wanted else kind not in _NOT_INTERACTIVE


def merged(
    theirs: list[dict[str, Any]], ours: list[ThreadSummary], order: Order, *, is_last: bool, end: int | None
) -> Iterator[dict[str, Any] | ThreadSummary]:
    """Codex's rows in Codex's order, with each thread of ours before the first row that comes after it.

    `end` is the sort value that Codex's page ends with; what comes behind it belongs on a later page,
    unless this is the last.
    """
    waiting = iter(ours)
    one = next(waiting, None)
    for row in theirs:
        while one is not None and order.rank(order.value_of(one)) <= order.rank(int(row.get(order.member) or 0)):
            yield one
            one = next(waiting, None)
        yield row
    while one is not None and (is_last or (end is not None and order.rank(order.value_of(one)) <= order.rank(end))):
        yield one
        one = next(waiting, None)
