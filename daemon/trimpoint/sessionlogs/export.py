"""Writes a session as NDJSON, as one JSON document or as Markdown: a thread of ours, or a session
of another agent, whose output only depends on the files.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import assert_never

import msgspec
from trimpoint_protocol import unified as u
from trimpoint_protocol.readmodel import TimelineEntry
from trimpoint_protocol.shapes.agent_sessions import ExportFormat

from trimpoint.core.views.export import Heading, markdown
from trimpoint.sessionlogs.sessions import FoundSession, Reading, Survey, described, survey
from trimpoint.sessionlogs.timeline import dividers_of, timeline_of

_encoder = msgspec.json.Encoder()
# What a document has beside its messages, by the records that it comes from.
_LISTS: dict[type, str] = {
    u.BoundaryRecord: "boundaries",
    u.ClearRecord: "context_clears",
    u.RewindRecord: "rewinds",
    u.ToolResultClearRecord: "tool_result_clears",
}


def ndjson(session: FoundSession, *, include_compacted: bool) -> Iterator[bytes]:
    """Yields the records of a session, one per line.

    :raises CannotRead: when one of its files cannot be read.
    """
    reading = Reading(session, include_compacted=include_compacted)
    digest = hashlib.sha256()
    for record in reading:
        line = _encoder.encode(record) + b"\n"
        digest.update(line)
        yield line
    yield _encoder.encode(reading.end(digest.hexdigest())) + b"\n"


def document(session: FoundSession, *, include_compacted: bool) -> Iterator[bytes]:
    """Yields one JSON document in pieces; messages are not held in memory.

    :raises CannotRead: when one of its files cannot be read.
    """
    reading = Reading(session, include_compacted=include_compacted)
    return document_of(reading, reading.end)


def document_of(records: Iterable[u.Record], end: Callable[[str], u.EndRecord]) -> Iterator[bytes]:
    """Yields records as one JSON document, in pieces.

    :param end: returns the last record, given the digest of all others.
    """
    digest = hashlib.sha256()
    rest: dict[str, list[bytes]] = {name: [] for name in _LISTS.values()}
    usage, lineage, before = b"null", b"null", b""
    for record in records:
        line = _encoder.encode(record) + b"\n"
        digest.update(line)
        match record:
            case u.SessionRecord():
                lineage = _encoder.encode(record.session.lineage)
                yield (
                    b'{"type":"session","session":'
                    + _encoder.encode(record.session)
                    + b',"messages":['
                )
            case u.MessageRecord():
                yield before + _untagged(line)
                before = b","
            case u.UsageRecord():
                usage = _untagged(line)
            case _ if type(record) in _LISTS:
                rest[_LISTS[type(record)]].append(_untagged(line))
            case _:
                continue
    boundaries = b",".join(rest.pop("boundaries"))
    yield b'],"compaction":{"boundaries":[' + boundaries + b"]}"
    for name, items in rest.items():
        yield b',"' + name.encode() + b'":[' + b",".join(items) + b"]"
    last = _untagged(_encoder.encode(end(digest.hexdigest())))
    yield b',"lineage":' + lineage + b',"usage":' + usage + b',"end":' + last + b"}\n"


def _untagged(line: bytes) -> bytes:
    """Returns a record without its `type`, which is the first member."""
    return b"{" + line.rstrip(b"\n").partition(b",")[2]


def readable(
    session: FoundSession, *, include_compacted: bool
) -> tuple[Heading, Iterator[TimelineEntry]]:
    """Returns a session as people read it: its heading, and its entries as they are read.

    :raises CannotRead: when one of its files cannot be read, also while iterating.
    """
    first = survey(session)
    dividers = dividers_of(Reading(session, surveyed=first))
    reading = Reading(session, include_compacted=include_compacted, surveyed=first)
    expand = None if include_compacted else set[int]()
    return _heading(session, first), timeline_of(reading, dividers, expand, in_full=True)


def _heading(session: FoundSession, first: Survey) -> Heading:
    about = described(session, first)
    title = about.title or about.first_prompt
    return Heading(about.id, title, about.cwd, about.created_at, about.agent)


def exported(
    session: FoundSession, form: ExportFormat, *, include_compacted: bool
) -> Iterator[bytes]:
    """Yields a session in the form `form`, in pieces.

    :raises CannotRead: when one of its files cannot be read.
    """
    match form:
        case "unified":
            return ndjson(session, include_compacted=include_compacted)
        case "unified-json":
            return document(session, include_compacted=include_compacted)
        case "markdown":
            heading, entries = readable(session, include_compacted=include_compacted)
            pieces = markdown(heading, entries, outputs=True)
            return (piece.encode("utf-8", "replace") for piece in pieces)
        case _:
            assert_never(form)
