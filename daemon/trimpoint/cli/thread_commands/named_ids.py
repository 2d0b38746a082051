"""Finds what a pasted id belongs to: the thread of an entry or of a checkpoint, and the number of a
turn.
"""

import argparse
import re
from collections.abc import Sequence

from trimpoint_protocol.methods import SnapshotResult, ThreadOverview
from trimpoint_protocol.shapes.checkpoints import CheckpointList

from trimpoint.cli.connection.client import Client, ask
from trimpoint.cli.connection.known_threads import ENTRY, here, own_threads
from trimpoint.cli.exits import CliError
from trimpoint.cli.thread_commands.thread_choice import chosen_thread

_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_OF_TURN = re.compile(r"(?:[0-9a-f-]{4,36}:)?[hm]([0-9]+)\.[0-9]+")
_MOST_TURNS = 1000


async def thread_of(
    client: Client, arguments: argparse.Namespace, ids: Sequence[str], *, changes: bool = False
) -> ThreadOverview:
    """Returns the thread that `--thread` names, or else the one that the pasted `ids` belong to, or
    else that of this place. Of the threads with a checkpoint, those of this place are asked first.
    """
    entries = [entry[1] for entry in map(ENTRY.fullmatch, ids) if entry is not None]
    commits = [name for name in ids if _COMMIT.fullmatch(name)]
    if arguments.thread is not None or arguments.last or not (entries or commits):
        return await chosen_thread(client, arguments, changes=changes)
    if entries:
        named = argparse.Namespace(thread=entries[0], last=False)
        return await chosen_thread(client, named, changes=changes)
    place = here()
    threads = sorted(await own_threads(client), key=lambda one: not one.is_at(place))
    for thread in (one.overview for one in threads):
        if thread is not None and await _has(client, thread, commits):
            return thread
    raise CliError(
        f"No thread has the checkpoint {' and '.join(commits)}.",
        "`trimpoint checkpoints` lists those of a thread.",
        reason="checkpoint_not_found",
    )


async def turn_number(client: Client, thread: ThreadOverview, name: str) -> int | None:
    """Returns the number of the turn that `name` means: its number or id, an entry of it, or the
    checkpoint after it; None if it means none.
    """
    if (entry := _OF_TURN.fullmatch(name)) is not None:
        return int(entry[1])
    if _COMMIT.fullmatch(name):
        rows = (await _checkpoints(client, thread)).turns
        numbers = [row.number for row in rows if (row.commit or "").startswith(name)]
        return numbers[-1] if numbers else None
    if name.isdecimal():
        return int(name)
    found = await ask(client, SnapshotResult, "orchestration/snapshot", threadId=thread.id)
    turns = found.thread.turns if found.thread is not None else []
    return next((number for number, turn in enumerate(turns, 1) if turn.id == name), None)


async def _has(client: Client, thread: ThreadOverview, commits: list[str]) -> bool:
    found = await _checkpoints(client, thread)
    made = [found.safety or "", *(row.commit or "" for row in found.turns)]
    return all(any(one.startswith(commit) for one in made) for commit in commits)


async def _checkpoints(client: Client, thread: ThreadOverview) -> CheckpointList:
    page = {"threadId": thread.id, "limit": _MOST_TURNS, "changes": False}
    return await ask(client, CheckpointList, "checkpoint/list", **page)
