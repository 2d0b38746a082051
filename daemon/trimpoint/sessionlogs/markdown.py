"""Writes a session as Markdown for people. Pure; messages stay word for word."""

from collections.abc import Iterable, Iterator

import msgspec
from trimpoint_protocol import unified as u

_SPEAKERS = {"prompt": "You", "answer": "Agent", "summary": "Summary", "command": "Command"}
_HIDDEN = ("preamble", "notice", "other", "reasoning")
_MAX_OUTPUT_CHARS = 4000


def markdown(records: Iterable[u.Record]) -> Iterator[str]:
    """Yields the document in pieces."""
    for record in records:
        match record:
            case u.SessionRecord(session=session):
                yield from _heading(session)
            case u.MessageRecord():
                yield from _message(record)
            case u.BoundaryRecord():
                yield from _boundary(record)
            case u.ClearRecord():
                yield f"\n---\n\n*Cleared{_when(record.timestamp)}*\n"
            case u.RewindRecord():
                count = len(record.dropped_message_indices)
                yield f"\n---\n\n*{count} messages were taken back{_when(record.timestamp)}*\n"
            case _:
                continue


def _heading(session: u.Session) -> Iterator[str]:
    title = session.title or session.first_prompt or "Conversation"
    yield f"# {' '.join(title.split())[:200]}\n\n"
    yield f"- Session: {session.agent} `{session.id}`\n"
    if session.cwd:
        yield f"- Folder: `{session.cwd}`\n"
    if session.created_at:
        yield f"- Begun: {session.created_at}\n"


def _message(message: u.MessageRecord) -> Iterator[str]:
    if message.kind in _HIDDEN:
        return
    gone = "" if message.active else " (no longer in the context)"
    if message.text:
        yield f"\n## {_SPEAKERS.get(message.kind, message.role.title())}{gone}\n\n{message.text}\n"
    for call in message.tool_calls:
        arguments = msgspec.json.encode(call.arguments).decode()
        yield f"\n**Tool {call.name}**{gone}\n\n{_fenced(arguments)}\n"
    for result in message.tool_results:
        yield f"\n{_fenced(_shortened(result.output))}\n"


def _boundary(boundary: u.BoundaryRecord) -> Iterator[str]:
    count = len(boundary.replaced_message_indices)
    how = f" ({boundary.trigger})" if boundary.trigger else ""
    what = f"Compacted{how}: a summary replaces {count} messages"
    yield f"\n---\n\n*{what}{_when(boundary.timestamp)}*\n"
    if boundary.summary is not None:
        quoted = "\n".join(f"> {line}".rstrip() for line in boundary.summary.splitlines())
        yield f"\n{quoted}\n"
    elif boundary.summary_encrypted:
        yield "\n> The summary is encrypted: only its provider can read it.\n"


def _when(timestamp: str | None) -> str:
    return f", {timestamp}" if timestamp else ""


def _shortened(text: str) -> str:
    rest = len(text) - _MAX_OUTPUT_CHARS
    return text if rest <= 0 else f"{text[:_MAX_OUTPUT_CHARS]}\n… {rest} more characters"


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"
