"""The threads that a person can name in a command: trimpoint's own, and those that only Codex has.

Each thread belongs to a place: the git work tree that contains its folder, or else the folder.
Commands mean this place by "here".
"""

import os
import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

from trimpoint_protocol.methods import SnapshotResult, ThreadOverview

from trimpoint.cli.connection.client import Client, RemoteError, ask
from trimpoint.core.model.spelling import short_id
from trimpoint.git.dot_git import folders_to_look_in, is_repository

LEAST_ID_CHARS = 4
"""At least this many characters of an id name its thread, as git's do a commit."""
ENTRY = re.compile(r"([0-9a-f-]{4,36}):([hm][0-9]+\.[0-9]+)")
"""An entry as a hit of a search shows it: the end of its thread's id, and its short id."""
# Sub-agents and reviews are threads to Codex, and no conversations of a person's.
_SOURCES = ["cli", "vscode", "exec", "appServer", "unknown"]
_PAGE = 100
_MAX_PAGES = 20


class KnownThread(NamedTuple):
    """A thread in a list or a choice. `overview` is None for a thread that only Codex has."""

    id: str
    name: str | None
    first_words: str
    cwd: str
    updated_at: str
    archived: bool
    overview: ThreadOverview | None

    @property
    def short_id(self) -> str:
        """Returns the last characters of the id. Its first ones are a time, so they are the same in
        many ids.
        """
        return short_id(self.id)

    @property
    def title(self) -> str:
        """Returns the thread's name, or the beginning of its first prompt."""
        return " ".join((self.name or self.first_words).split())

    def is_at(self, place: str) -> bool:
        """Returns whether the thread belongs to `place`, which is a result of `place_of`."""
        return place_of(self.cwd) == place


def place_of(folder: str) -> str:
    """Returns the root of the git work tree that contains `folder`, or `folder` itself; symbolic
    links are resolved.
    """
    real = os.path.realpath(folder)
    above = folders_to_look_in(real)
    return next((at for at in above if is_repository(os.path.join(at, ".git"))), real)


def here() -> str:
    """Returns the place of this process's working directory."""
    return place_of(current_folder())


def current_folder() -> str:
    """Returns the working directory, or the one that the shell reports if the directory was
    deleted.
    """
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.environ.get("PWD", os.sep)


async def own_threads(client: Client) -> list[KnownThread]:
    """Returns the threads of the daemon, the most recently used one first."""
    threads = (await ask(client, SnapshotResult, "orchestration/snapshot")).threads
    return [known(thread) for thread in threads]


async def codex_threads(client: Client, *, archived: bool = False) -> list[KnownThread]:
    """Returns the conversations that are in Codex's list and not in the daemon's, the most recently
    used one first.

    If Codex cannot be asked, the list is empty: the daemon's own threads can be listed without it.
    """
    own = {thread.id for thread in await own_threads(client)}
    params: dict[str, Any] = {"sourceKinds": _SOURCES, "modelProviders": [], "limit": _PAGE}
    params |= {"archived": archived, "sortKey": "updated_at"}
    found: list[KnownThread] = []
    for _ in range(_MAX_PAGES):
        try:
            page = await client.request("thread/list", **params)
        except RemoteError:
            break
        rows = [row for row in page.get("data") or () if row.get("id") not in own]
        found += [_codex_own(row, archived=archived) for row in rows]
        params["cursor"] = page.get("nextCursor")
        if params["cursor"] is None:
            break
    return found


def known(thread: ThreadOverview) -> KnownThread:
    """Converts an overview of one of the daemon's threads."""
    return KnownThread(
        id=thread.id,
        name=thread.name,
        first_words=thread.preview,
        cwd=thread.cwd,
        updated_at=thread.updated_at,
        archived=thread.archived,
        overview=thread,
    )


def _codex_own(row: dict[str, Any], *, archived: bool) -> KnownThread:
    updated_at = datetime.fromtimestamp(int(row.get("updatedAt") or 0), UTC)
    return KnownThread(
        id=str(row.get("id")),
        name=row.get("name"),
        first_words=str(row.get("preview") or ""),
        cwd=str(row.get("cwd") or ""),
        updated_at=updated_at.isoformat(),
        archived=archived,
        overview=None,
    )


def matching(threads: list[KnownThread], wanted: str) -> list[KnownThread]:
    """Returns the threads that `wanted` may mean: those with the best kind of match that any thread
    has.

    An id finds its thread, archived or not: the whole id, its beginning or end, or the beginning of
    its short form; an entry that a search has found, its thread. Names and first words are compared
    without case and in part; archived threads count only if no other one matches.
    """
    if entry := ENTRY.fullmatch(wanted):
        wanted = entry[1]
    for means in (_has_id, _has_name, _ends_with, _begins_short):
        if exact := [thread for thread in threads if means(thread, wanted)]:
            return exact
    words = _loose(wanted)
    for of_archived in (False, True):
        candidates = [thread for thread in threads if thread.archived is of_archived]
        for found in (
            [thread for thread in candidates if _loose(thread.name) == words],
            [thread for thread in candidates if words in _loose(thread.name)],
            [thread for thread in candidates if words in _loose(thread.first_words)],
        ):
            if words and found:
                return found
    return []


def _has_id(thread: KnownThread, wanted: str) -> bool:
    return thread.id == wanted


def _has_name(thread: KnownThread, wanted: str) -> bool:
    return thread.name == wanted


def _ends_with(thread: KnownThread, wanted: str) -> bool:
    end = wanted.lower()
    is_long = len(end) >= LEAST_ID_CHARS  # a number alone is meant for something else
    return is_long and (thread.id.startswith(end) or thread.id.endswith(end))


def _begins_short(thread: KnownThread, wanted: str) -> bool:
    return len(wanted) >= LEAST_ID_CHARS and thread.short_id.startswith(wanted.lower())


def _loose(text: str | None) -> str:
    return " ".join((text or "").casefold().split())
