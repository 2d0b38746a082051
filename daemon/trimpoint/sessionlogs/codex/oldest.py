"""Reads the oldest formats: a line that is the item itself, and a file that is one object. Pure."""

import msgspec
from trimpoint_protocol.lenient import as_list

from trimpoint.sessionlogs.codex.rows import ROWS, Item, Meta, Row, decode_item
from trimpoint.sessionlogs.text.lenient import convert_or_none, decode_object


class OtherState:
    """A row of the oldest format that says nothing that is read."""


def bare_row(row: Row, line: bytes) -> Meta | Item | OtherState | None:
    """Returns what a line is that has no payload; None if it is of an unknown kind.

    :raises msgspec.MsgspecError: when it is an item that cannot be read.
    """
    found = None if row.type in ROWS else decode_object(line)
    if found is None or "payload" in found:
        return None
    if found.get("type") is None and "record_type" not in found and "id" in found:
        return convert_or_none(found, Meta) or Meta()
    if "record_type" in found:
        return OtherState()
    is_item = "role" in found or "call_id" in found or "summary" in found
    if is_item and convert_or_none(found, Item) is not None:
        return decode_item(msgspec.Raw(msgspec.json.encode(found)))
    return None


def whole_session(data: bytes | None) -> tuple[Meta, list[Item | None]] | None:
    """Returns the session and the items of a file, None for those that cannot be read; None if
    it is no object.
    """
    found = decode_object(data) if data is not None else None
    if found is None:
        return None
    meta = convert_or_none(found.get("session"), Meta) or Meta()
    return meta, [convert_or_none(item, Item) for item in as_list(found.get("items"))]
