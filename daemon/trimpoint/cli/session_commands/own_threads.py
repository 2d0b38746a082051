"""Tells which sessions are conversations of trimpoint's: from the daemon if one runs, or else from
what it has written down.
"""

import argparse
from contextlib import suppress

from trimpoint.cli.connection.client import Client
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.connection.known_threads import own_threads
from trimpoint.cli.connection.settings import settings_of
from trimpoint.cli.exits import CliError, Exit
from trimpoint.journal.errors import JournalError
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.sessionlogs.catalogue import names
from trimpoint.threads.catalogue import FILE_NAME, ThreadSummary, decode_catalogue


def thread_named(arguments: argparse.Namespace, wanted: str) -> str | None:
    """Returns the id of trimpoint's thread that `wanted` names by its id or a part of it; None if
    it names none, or a session of one agent was asked for.
    """
    if arguments.agent not in (None, "trimpoint"):
        return None
    found = [thread_id for thread_id in _thread_ids(arguments) if names(wanted, thread_id)]
    return found[0] if len(found) == 1 else None


def _thread_ids(arguments: argparse.Namespace) -> list[str]:
    ids: list[str] = []

    async def ask(client: Client) -> int:
        ids.extend(thread.id for thread in await own_threads(client))
        return Exit.DONE

    try:
        with_daemon(arguments, ask, starts=False)
    except CliError:  # no daemon, or a socket that cannot be used: the logs are there all the same
        return [summary.thread_id for summary in summaries_on_disk(arguments)]
    return ids


def summaries_on_disk(arguments: argparse.Namespace) -> list[ThreadSummary]:
    """Returns what the last daemon wrote down of each thread; empty if there is nothing."""
    with suppress(OSError, JournalError):
        store = StateDirectory(settings_of(arguments).state_dir)
        return [*decode_catalogue(store.read(FILE_NAME)).values()]
    return []
