"""Pages of a list of threads in the client's order, where Codex's own order and pages do not fit.
Pure.

Codex sorts and counts provider threads. A trimmed thread has a younger one than the thread is, and
an empty one is in no list of Codex's at all; so pages that hold such threads are made here, of all
rows.
"""

import base64
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from trimpoint.core.model.lenient import as_dict

# As Codex has it (measured: 0.163).
DEFAULT_LIMIT, MAX_LIMIT = 25, 100
PREFIX = "trimpoint:"
# What each sort key compares; `section_position` is known to Codex alone.
SORTED_BY = {"created_at": "createdAt", "updated_at": "updatedAt", "recency_at": "recencyAt"}
DIRECTIONS = ("asc", "desc")

Key = tuple[int, str]


class Order(NamedTuple):
    """How a client wants a list sorted."""

    member: str
    descending: bool

    def precedes(self, one: Key, other: Key) -> bool:
        """Returns whether a row with the key `one` stands before one with `other`."""
        return one > other if self.descending else one < other


NEWEST_FIRST = Order("createdAt", descending=True)


class Listed(NamedTuple):
    """A row of a list; `row` is None where Codex lists no such thread, so that it is read when it
    is shown.
    """

    key: Key
    row: dict[str, Any] | None = None


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """A place in a list: at a row (`inclusive`) or behind it."""

    key: Key
    inclusive: bool

    def encode(self) -> str:
        """The cursor as clients are given it."""
        return PREFIX + base64.urlsafe_b64encode(msgspec.json.encode(self)).decode()


def decode_cursor(text: Any) -> Cursor | None:
    """Returns the cursor that `encode` made, None when it is another's."""
    if not isinstance(text, str) or not text.startswith(PREFIX):
        return None
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text.removeprefix(PREFIX)), type=Cursor)
    except (ValueError, msgspec.MsgspecError):
        return None


def order_of(params: dict[str, Any]) -> Order | None:
    """Returns the order that `params` of `thread/list` ask for, None when it is not one that can be
    made here.
    """
    member = SORTED_BY.get(params.get("sortKey") or "created_at")
    direction = params.get("sortDirection") or "desc"
    if member is None or direction not in DIRECTIONS:
        return None
    return Order(member, direction == "desc")


def limit_of(params: dict[str, Any]) -> int | None:
    """Returns how many rows a page may have, None when Codex has to say what is wrong with
    `limit`.
    """
    limit = params.get("limit")
    if limit is None:
        return DEFAULT_LIMIT
    is_number = isinstance(limit, int) and not isinstance(limit, bool)
    return min(limit, MAX_LIMIT) if is_number and limit > 0 else None


def key_of(row: dict[str, Any], order: Order) -> Key:
    """Returns what a row is sorted by; ids begin with the time, so they decide within a second."""
    value = row.get(order.member)
    fallback = row.get("updatedAt")
    return int(value if value is not None else fallback or 0), str(row.get("id"))


def merged(listed: list[Listed], displaced: Iterable[Listed], order: Order) -> list[Listed]:
    """Returns `listed`, in Codex's order, with the `displaced` rows where they belong."""
    rest = sorted(displaced, key=lambda one: one.key, reverse=order.descending)
    rows: list[Listed] = []
    place = 0
    for one in listed:
        while place < len(rest) and order.precedes(rest[place].key, one.key):
            rows.append(rest[place])
            place += 1
        rows.append(one)
    return rows + rest[place:]


def rows_from(rows: list[Listed], cursor: Cursor | None, order: Order) -> list[Listed]:
    """Returns the rows from a place in the list on; if its row is gone, from where it would
    stand.
    """
    if cursor is None:
        return rows
    thread_id = cursor.key[1]
    at = next((index for index, one in enumerate(rows) if one.key[1] == thread_id), None)
    if at is not None:
        return rows[at if cursor.inclusive else at + 1 :]
    return [one for one in rows if order.precedes(cursor.key, one.key)]


def is_enough(rows: list[Listed], end: int, cursor: Cursor | None, limit: int) -> bool:
    """Returns whether rows with the newest first, of which none younger than `end` is missing, hold
    a whole page and a row behind it.
    """
    begin = cursor.key[0] if cursor is not None else None
    on_page = (one for one in rows if end < one.key[0] and (begin is None or one.key[0] < begin))
    return sum(1 for _ in on_page) > limit


# Filters of `thread/list` that look at members of a row, and which.
ROW_FILTERS = {"modelProviders": "modelProvider", "sourceKinds": "source"}
# What Codex lists where a client names no source: threads that a person talks in.
NOT_INTERACTIVE = ("exec", "appServer", "unknown")


def has_row_filter(params: dict[str, Any]) -> bool:
    """Returns whether `params` have a filter for which the thread itself must be looked at."""
    return any(params.get(name) for name in ROW_FILTERS) or has_changing_filter(params)


def has_changing_filter(params: dict[str, Any]) -> bool:
    """Returns whether a filter looks at a member of a row that a client can change."""
    return "projectId" in params or "sectionId" in params


def passes_filters(row: dict[str, Any], params: dict[str, Any]) -> bool:
    """Returns whether a row that Codex did not list would have passed the filters."""
    for name, member in ROW_FILTERS.items():
        wanted = params.get(name)
        if wanted and row.get(member) not in wanted:
            return False
    if not params.get("sourceKinds") and row.get("source") in NOT_INTERACTIVE:
        return False
    section = as_dict(row.get("section"))
    return ("projectId" not in params or row.get("projectId") == params["projectId"]) and (
        "sectionId" not in params or section.get("id") == params["sectionId"]
    )
