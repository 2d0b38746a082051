"""Pages of a list of threads in the client's order, where Codex's own order and pages do not fit.
Pure functions.

Codex sorts and counts provider threads. A trimmed thread has a provider thread that is younger than
the thread, and Codex does not list empty ones. So lists with such threads are read completely and
divided into pages here.
"""

import base64
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from trimpoint_protocol.lenient import as_dict

# Codex's limits (measured: 0.163).
DEFAULT_LIMIT, MAX_LIMIT = 25, 100
PREFIX = "trimpoint:"
# The member that each sort key compares. Only Codex can sort by `section_position`.
SORTED_BY = {"created_at": "createdAt", "updated_at": "updatedAt", "recency_at": "recencyAt"}
DIRECTIONS = ("asc", "desc")

Key = tuple[int, str]


class Order(NamedTuple):
    """The order of a list: the member to sort by, and the direction."""

    member: str
    descending: bool

    def precedes(self, one: Key, other: Key) -> bool:
        """Returns whether a row with the key `one` comes before a row with the key `other`."""
        return one > other if self.descending else one < other


NEWEST_FIRST = Order("createdAt", descending=True)


class Listed(NamedTuple):
    """A row of a list. `row` is None for a thread that Codex does not list; it is read when it is
    on a page.
    """

    key: Key
    row: dict[str, Any] | None = None


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """A place in a list: at the row with this key if `inclusive`, otherwise after it."""

    key: Key
    inclusive: bool

    def encode(self) -> str:
        """Returns the cursor as clients receive it."""
        return PREFIX + base64.urlsafe_b64encode(msgspec.json.encode(self)).decode()


def decode_cursor(text: Any) -> Cursor | None:
    """Returns the cursor that `encode` made, or None if the text is a cursor of Codex or
    invalid.
    """
    if not isinstance(text, str) or not text.startswith(PREFIX):
        return None
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text.removeprefix(PREFIX)), type=Cursor)
    except (ValueError, msgspec.MsgspecError):
        return None


def order_of(params: dict[str, Any]) -> Order | None:
    """Returns the order that the parameters of `thread/list` request, or None if only Codex can
    sort that way.
    """
    member = SORTED_BY.get(params.get("sortKey") or "created_at")
    direction = params.get("sortDirection") or "desc"
    if member is None or direction not in DIRECTIONS:
        return None
    return Order(member, direction == "desc")


def limit_of(params: dict[str, Any]) -> int | None:
    """Returns the greatest number of rows on a page, or None if `limit` is invalid, so that Codex
    refuses it.
    """
    limit = params.get("limit")
    if limit is None:
        return DEFAULT_LIMIT
    is_number = isinstance(limit, int) and not isinstance(limit, bool)
    return min(limit, MAX_LIMIT) if is_number and limit > 0 else None


def key_of(row: dict[str, Any], order: Order) -> Key:
    """Returns the sort key of a row. Ids begin with the time of creation, so they decide between
    rows of the same second.
    """
    value = row.get(order.member)
    fallback = row.get("updatedAt")
    return int(value if value is not None else fallback or 0), str(row.get("id"))


def once_each(rows: list[Listed]) -> list[Listed]:
    """Returns the rows with each thread once: the row that was updated last.

    After a `thread/revert` Codex keeps a thread in two files, and lists it once for each of them
    (measured: 0.163 and 0.171).
    """
    newest: dict[str, Listed] = {}
    for one in rows:
        known = newest.setdefault(one.key[1], one)
        if _updated_at(one) > _updated_at(known):
            newest[one.key[1]] = one
    return [one for one in rows if newest[one.key[1]] is one]


def _updated_at(one: Listed) -> int:
    row = one.row or {}
    return int(row.get("thread", row).get("updatedAt") or 0)


def merged(listed: list[Listed], displaced: Iterable[Listed], order: Order) -> list[Listed]:
    """Returns the rows of `listed`, which are in Codex's order, with the `displaced` rows inserted
    where they belong.
    """
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
    """Returns the rows from the cursor's place on. If the cursor's row is gone, its key decides."""
    if cursor is None:
        return rows
    thread_id = cursor.key[1]
    at = next((index for index, one in enumerate(rows) if one.key[1] == thread_id), None)
    if at is not None:
        return rows[at if cursor.inclusive else at + 1 :]
    return [one for one in rows if order.precedes(cursor.key, one.key)]


def is_enough(rows: list[Listed], end: int, cursor: Cursor | None, limit: int) -> bool:
    """Returns whether the rows, newest first, contain a full page and one more row.

    No row younger than `end` is missing from them; older rows may be.
    """
    begin = cursor.key[0] if cursor is not None else None
    on_page = (one for one in rows if end < one.key[0] and (begin is None or one.key[0] < begin))
    return sum(1 for _ in on_page) > limit


# Filters of `thread/list` that compare a member of the row, with the name of that member.
ROW_FILTERS = {"modelProviders": "modelProvider", "sourceKinds": "source"}
# Codex lists no threads of these sources unless a client asks for them.
NOT_INTERACTIVE = ("exec", "appServer", "unknown")


def has_row_filter(params: dict[str, Any]) -> bool:
    """Returns whether a filter in `params` needs the thread's row."""
    return any(params.get(name) for name in ROW_FILTERS) or has_changing_filter(params)


def has_changing_filter(params: dict[str, Any]) -> bool:
    """Returns whether a filter in `params` compares a member that clients can change."""
    return "projectId" in params or "sectionId" in params


def passes_filters(row: dict[str, Any], params: dict[str, Any]) -> bool:
    """Returns whether a row passes the filters in `params`, by Codex's rules."""
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
