"""`trimpoint threads`: lists the threads of this place, trimpoint's and Codex's own."""

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
from rich.text import Text

from trimpoint.cli.connection.client import Client
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.connection.known_threads import KnownThread, codex_threads, here, own_threads
from trimpoint.cli.exits import Exit
from trimpoint.cli.json_output import as_shown
from trimpoint.cli.pager import paged
from trimpoint.cli.terminal import print_json
from trimpoint.cli.views.threads_view import by_place, thread_groups
from trimpoint.core.model.decision import counted


def run(arguments: argparse.Namespace) -> int:
    """Lists the threads, the most recently used one first."""
    return with_daemon(arguments, partial(_show, arguments))


async def _show(arguments: argparse.Namespace, client: Client) -> int:
    place = here()
    everything = await _known(client, archived=arguments.all or arguments.archived)
    wanted = [thread for thread in everything if arguments.all or thread.is_at(place)]
    if not (arguments.all or arguments.archived):
        wanted = [thread for thread in wanted if not thread.archived]
    elif arguments.archived and not arguments.all:
        wanted = [thread for thread in wanted if thread.archived]
    shown = wanted[: arguments.limit]
    if arguments.json:
        print_json({"place": place, "threads": [as_shown(_document(thread)) for thread in shown]})
        return Exit.DONE
    with paged() as console:
        if shown:
            grouped = by_place(shown, place)
            headings = arguments.all or list(grouped) != [place]
            console.print(thread_groups(grouped, console.width, headings=headings))
        for line in _rest(arguments, place, everything, wanted, shown):
            console.print(Text(line, "dim"))
    return Exit.DONE


async def _known(client: Client, *, archived: bool) -> list[KnownThread]:
    threads = [*await own_threads(client), *await codex_threads(client)]
    if archived:
        threads += await codex_threads(client, archived=True)
    return sorted(threads, key=lambda thread: thread.updated_at, reverse=True)


def _rest(
    arguments: argparse.Namespace,
    place: str,
    everything: list[KnownThread],
    wanted: list[KnownThread],
    shown: list[KnownThread],
) -> Iterator[str]:
    """Yields lines about threads that are not in the list, and how to list them."""
    if len(wanted) > len(shown):
        yield f"… and {len(wanted) - len(shown)} more; see them with --limit {len(wanted)}"
    if not wanted:
        yield f"There is no {'archived ' * arguments.archived}thread in {place} yet."
    if arguments.all or arguments.archived:
        return
    elsewhere = sum(not thread.is_at(place) and not thread.archived for thread in everything)
    archived = sum(thread.is_at(place) and thread.archived for thread in everything)
    rest = [f"{counted(elsewhere, 'thread')} elsewhere: --all"] if elsewhere else []
    rest += [f"{counted(archived, 'archived one')} here: --archived"] if archived else []
    if rest:
        yield "   ".join(rest)


def _document(thread: KnownThread) -> dict[str, Any]:
    own = thread.overview
    return {
        "id": thread.id,
        "shortId": thread.short_id,
        "name": thread.name,
        "firstWords": thread.first_words,
        "cwd": thread.cwd,
        "updatedAt": thread.updated_at,
        "archived": thread.archived,
        "inTrimpoint": own is not None,
        "turns": own.turns if own is not None else None,
        "trims": own.trims if own is not None else None,
        "compactions": own.compactions if own is not None else None,
        "busy": own.busy if own is not None else None,
        "asks": own.asks if own is not None else None,
        "context": msgspec.to_builtins(own.context) if own is not None else None,
    }
