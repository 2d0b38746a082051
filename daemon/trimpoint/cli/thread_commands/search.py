"""`trimpoint search`: searches the history, including what is no longer in the agent's context."""

import argparse
from functools import partial
from typing import Any

import msgspec
from rich.text import Text
from trimpoint_protocol.shapes.history import HistoryExcerpt, HistorySearchResult

from trimpoint.cli.connection.client import Client
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.connection.known_threads import ENTRY, current_folder, own_threads
from trimpoint.cli.exits import Exit, UsageError
from trimpoint.cli.pager import paged
from trimpoint.cli.terminal import print_json
from trimpoint.cli.thread_commands.thread_choice import chosen_thread, print_thread
from trimpoint.cli.views.search_view import entry_rows, hit_rows
from trimpoint.core.model.spelling import entry_ref


def run(arguments: argparse.Namespace) -> int:
    """Shows the results, or with `--read` the whole text of one entry.

    :raises UsageError: when not exactly one of words and an entry was given.
    """
    if bool(arguments.words) == (arguments.read is not None):
        raise UsageError(
            "Search takes some words, or --read ENTRY.", "See trimpoint search --help."
        )
    return with_daemon(arguments, partial(_read if arguments.read else _search, arguments))


async def _search(arguments: argparse.Namespace, client: Client) -> int:
    params: dict[str, Any] = {"query": " ".join(arguments.words), "prunedOnly": arguments.pruned}
    params |= {"limit": arguments.limit, "kinds": arguments.kind}
    if arguments.thread is not None or arguments.last:
        thread = await chosen_thread(client, arguments)
        params["threadId"] = thread.id
        if not arguments.json:
            print_thread(thread, arguments)
    elif arguments.here:
        params |= {"scope": "folder", "cwd": current_folder()}
    found = dict(await client.request("history/search", **params))
    if arguments.json:
        # What people are shown, and what any command takes, from any folder.
        hits = [hit | {"ref": entry_ref(hit["threadId"], hit["shortId"])} for hit in found["hits"]]
        print_json(found | {"hits": hits})
        return Exit.DONE
    result = msgspec.convert(found, HistorySearchResult)
    titles = {thread.id: thread.title for thread in await own_threads(client)}
    with paged() as console:
        for row in hit_rows(result, titles):
            console.print(row)
    return Exit.DONE


async def _read(arguments: argparse.Namespace, client: Client) -> int:
    named = ENTRY.fullmatch(arguments.read)
    if named is not None:
        arguments.thread, arguments.read = named.groups()
    thread = await chosen_thread(client, arguments)
    around = {"before": arguments.around, "after": arguments.around}
    found = dict(
        await client.request("history/read", threadId=thread.id, entryId=arguments.read, **around)
    )
    if arguments.json:
        print_json(found)
        return Exit.DONE
    print_thread(thread, arguments)
    with paged() as console:
        for row in entry_rows(thread.id, msgspec.convert(found, HistoryExcerpt).entries):
            console.print(row)
        console.print(Text())
    return Exit.DONE
