"""`trimpoint export` and `trimpoint sessions export`: write a thread, or sessions of any agent, as
documents.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from functools import partial

import msgspec
from rich.text import Text
from trimpoint_protocol.methods import MAX_PAGE, TimelinePage
from trimpoint_protocol.readmodel import ContextTrimPointDivider, TimelineEntry
from trimpoint_protocol.shapes.agent_sessions import SessionContent

from trimpoint.cli.connection.client import Client, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.exits import CliError, Exit
from trimpoint.cli.pager import paged
from trimpoint.cli.session_commands.chosen import chosen_session, own_thread
from trimpoint.cli.session_commands.own_threads import thread_named
from trimpoint.cli.terminal import print_plain_line, printable
from trimpoint.cli.thread_commands.thread_choice import chosen_thread, print_thread
from trimpoint.core.views.export import Heading, document, markdown
from trimpoint.sessionlogs.export import exported, readable
from trimpoint.sessionlogs.opening import CannotRead
from trimpoint.sessionlogs.sessions import FoundSession


def run_thread(arguments: argparse.Namespace) -> int:
    """Writes a thread to standard output or to a new file."""
    return with_daemon(arguments, partial(_export_thread, arguments))


def run(arguments: argparse.Namespace) -> int:
    """Writes sessions to standard output or to a new file."""
    own = [thread_named(arguments, wanted) for wanted in arguments.ids]
    if arguments.agent == "trimpoint" or (arguments.agent is None and all(own)):
        return with_daemon(arguments, partial(_export_own, arguments))
    sessions = [chosen_session(wanted, arguments.agent) for wanted in arguments.ids]
    try:
        pieces = (piece for session in sessions for piece in _pieces_of(session, arguments))
        _write(pieces, arguments.output, "--output")
    except CannotRead as error:
        raise CliError(str(error), reason="cannot_read") from None
    return Exit.DONE


def _pieces_of(session: FoundSession, arguments: argparse.Namespace) -> Iterator[bytes]:
    whole = arguments.include_compacted
    if arguments.format != "html":
        return exported(session, arguments.format, include_compacted=whole)
    return _encoded(_html(*readable(session, include_compacted=whole)))


async def _export_own(arguments: argparse.Namespace, client: Client) -> int:
    """Exports threads of the daemon."""
    threads = [await own_thread(client, wanted) for wanted in arguments.ids]
    pieces: list[bytes] = []
    for thread in threads:
        if arguments.format == "html":
            heading = Heading(thread.id, thread.name, thread.cwd, created_at=None)
            entries = await _all_entries(client, thread.id, pruned=arguments.include_compacted)
            pieces += _encoded(_html(heading, entries))
            continue
        whole = await ask(
            client,
            SessionContent,
            "sessions/export",
            sessionId=thread.id,
            agent="trimpoint",
            format=arguments.format,
            includeCompacted=arguments.include_compacted,
        )
        pieces.append(whole.content.encode("utf-8", "surrogatepass"))
    _write(pieces, arguments.output, "--output")
    return Exit.DONE


async def _export_thread(arguments: argparse.Namespace, client: Client) -> int:
    thread = await chosen_thread(client, arguments)
    print_thread(thread, arguments)
    entries = await _all_entries(client, thread.id, pruned=arguments.pruned)
    heading = Heading(thread.id, thread.name, thread.cwd, thread.created_at)
    form = "json" if arguments.json else arguments.format
    if form == "json":
        pieces: Iterable[str] = [msgspec.json.encode(document(heading, entries)).decode(), "\n"]
    else:
        pieces = _html(heading, entries) if form == "html" else markdown(heading, entries)
    _write(_encoded(pieces), arguments.out, "--out")
    if not arguments.pruned and any(_hides(entry) for entry in entries):
        print_plain_line(
            "What is no longer in the agent's context is left out; --pruned includes it."
        )
    return Exit.DONE


def _html(heading: Heading, entries: Iterable[TimelineEntry]) -> Iterator[str]:
    from trimpoint.cli.views.html_export import html

    return html(heading, entries)


def _encoded(pieces: Iterable[str]) -> Iterator[bytes]:
    return (piece.encode("utf-8", "surrogatepass") for piece in pieces)


def _hides(entry: TimelineEntry) -> bool:
    return (
        isinstance(entry, ContextTrimPointDivider)
        and not entry.expanded
        and entry.hidden_message_count > 0
    )


async def _all_entries(client: Client, thread_id: str, *, pruned: bool) -> list[TimelineEntry]:
    pages: list[list[TimelineEntry]] = []
    cursor: str | None = None
    while True:
        page = await ask(
            client,
            TimelinePage,
            "timeline/read",
            threadId=thread_id,
            expand="all" if pruned else None,
            cursor=cursor,
            limit=MAX_PAGE,
        )
        pages.append(page.entries)
        if (cursor := page.next_cursor) is None:
            return [entry for entries in reversed(pages) for entry in entries]


def _write(pieces: Iterable[bytes], path: str | None, option: str) -> None:
    """Writes to a new file, or to standard output if `path` is None. An existing file is refused,
    because it may be the only copy of something.
    """
    if path is None:
        _print(pieces)
        return
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CliError(
            f"{path}: {error.strerror}.", f"Name a new file with {option}.", reason="cannot_write"
        ) from None
    with os.fdopen(fd, "wb") as file:
        file.writelines(pieces)
    print_plain_line(f"Written to {path}.")


def _print(pieces: Iterable[bytes]) -> None:
    """Writes to standard output. On a terminal, control characters are made visible; a file or pipe
    gets the text unchanged.
    """
    if not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
        return
    with paged() as console:
        for piece in pieces:
            text = Text(printable(piece.decode("utf-8", "replace")))
            console.print(text, end="", soft_wrap=True)
