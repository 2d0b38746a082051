"""`trimpoint export`: writes a thread as Markdown, HTML or JSON."""

import argparse
import os
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import msgspec
from rich.text import Text
from trimpoint_protocol.methods import MAX_PAGE, TimelinePage
from trimpoint_protocol.readmodel import ContextTrimPointDivider, TimelineEntry

from trimpoint.cli.connection.client import Client, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.exits import CliError, Exit
from trimpoint.cli.json_output import write_text
from trimpoint.cli.pager import paged
from trimpoint.cli.terminal import print_plain_line, printable
from trimpoint.cli.thread_commands.thread_choice import chosen_thread, print_thread
from trimpoint.core.views.export import Heading, document, markdown


def run(arguments: argparse.Namespace) -> int:
    """Writes the thread to standard output or to a new file."""
    return with_daemon(arguments, partial(_export, arguments))


async def _export(arguments: argparse.Namespace, client: Client) -> int:
    thread = await chosen_thread(client, arguments)
    print_thread(thread, arguments)
    entries = await _all_entries(client, thread.id, pruned=arguments.pruned)
    heading = Heading(thread.id, thread.name, thread.cwd, thread.created_at)
    pieces = _pieces("json" if arguments.json else arguments.format, heading, entries)
    if arguments.out is None:
        _print(pieces)
    else:
        _write(Path(arguments.out), pieces)
        print_plain_line(f"Written to {arguments.out}.")
    if not arguments.pruned and any(_hides(entry) for entry in entries):
        print_plain_line(
            "What is no longer in the agent's context is left out; --pruned includes it."
        )
    return Exit.DONE


def _pieces(form: str, heading: Heading, entries: list[TimelineEntry]) -> Iterable[str]:
    if form == "json":
        return [msgspec.json.encode(document(heading, entries)).decode(), "\n"]
    if form == "html":
        from trimpoint.cli.views.html_export import html

        return html(heading, entries)
    return markdown(heading, entries)


def _print(pieces: Iterable[str]) -> None:
    """Writes to standard output. On a terminal, control characters are made visible; a file or pipe
    gets the text unchanged.
    """
    if not sys.stdout.isatty():
        write_text("".join(pieces))
        return
    with paged() as console:
        for piece in pieces:
            console.print(Text(printable(piece)), end="", soft_wrap=True)


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
        expand = "all" if pruned else None
        page = await ask(
            client,
            TimelinePage,
            "timeline/read",
            threadId=thread_id,
            expand=expand,
            cursor=cursor,
            limit=MAX_PAGE,
        )
        pages.append(page.entries)
        if (cursor := page.next_cursor) is None:
            return [entry for entries in reversed(pages) for entry in entries]


def _write(path: Path, pieces: Iterable[str]) -> None:
    """Writes a new file. An existing one is refused, because it may be the only copy of
    something.
    """
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CliError(
            f"{path}: {error.strerror}.", "Name a new file with --out.", reason="cannot_write"
        ) from None
    with os.fdopen(fd, "w", encoding="utf-8", errors="surrogatepass") as file:
        file.writelines(pieces)
