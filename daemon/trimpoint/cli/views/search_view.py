"""Formats search results and history entries for the terminal."""

from collections.abc import Iterator, Mapping

from rich.text import Text
from trimpoint_protocol.shapes.history import HistoryEntry, HistoryHit, HistorySearchResult

from trimpoint.cli.terminal import one_line, printable
from trimpoint.cli.views.age import age
from trimpoint.core.model.decision import counted
from trimpoint.core.model.spelling import entry_ref, short_id

_KINDS = {
    "user": "prompt",
    "assistant": "answer",
    "fileChange": "file change",
    "toolCall": "tool call",
}
_COLOURS = {"user": "cyan", "assistant": "green", "command": "blue", "fileChange": "magenta"}
MARKED = "bold yellow"


def hit_rows(found: HistorySearchResult, titles: Mapping[str, str]) -> Iterator[Text]:
    """Yields a line for each thread with results, and two lines for each result."""
    if not found.hits:
        yield Text("Nothing has these words.", "dim")
    thread_id = ""
    for hit in found.hits:
        if hit.thread_id != thread_id:
            thread_id = hit.thread_id
            yield _thread(thread_id, titles)
        name = entry_ref(thread_id, hit.short_id)
        yield _where(name, hit.kind, hit.created_at, in_context=hit.in_context)
        yield _snippet(hit)
    if found.next_cursor is not None:
        yield Text("… there are more; see them with --limit", "dim")
    if found.hits:
        first = found.hits[0]
        name = entry_ref(first.thread_id, first.short_id)
        yield Text(f"Read one whole: trimpoint search --read {name}", "dim")
    if found.unread:
        yield Text(f"{counted(found.unread, 'thread')} not wholly indexed yet", "dim")


def entry_rows(thread_id: str, entries: list[HistoryEntry]) -> Iterator[Text]:
    """Yields each entry with its whole text."""
    for entry in entries:
        name = entry_ref(thread_id, entry.short_id)
        yield _where(name, entry.kind, entry.created_at, in_context=entry.in_context)
        yield Text(printable(entry.text.rstrip()))
        if entry.truncated:
            yield Text("… the rest is too long for one answer", "dim")


def _thread(thread_id: str, titles: Mapping[str, str]) -> Text:
    title = one_line(titles.get(thread_id, ""), 60)
    return Text(short_id(thread_id), "bold").append(f" “{title}”" if title else "", "")


def _where(name: str, kind: str, created_at: str, *, in_context: bool) -> Text:
    line = Text(f"  {name:<16} ", "dim").append(_KINDS.get(kind, kind), _COLOURS.get(kind, ""))
    line.append(f" · {age(created_at)} ago", "dim")
    return line if in_context else line.append(" · not in the context", "dim")


def _snippet(hit: HistoryHit) -> Text:
    # Each character is made printable alone, so that the marks stay where they are.
    shown = "".join(one_line(ch, 1) or " " for ch in hit.snippet)
    text = Text(shown)
    for start, end in hit.marks:
        text.stylize(MARKED, start, end)
    return Text("    ").append_text(text)
