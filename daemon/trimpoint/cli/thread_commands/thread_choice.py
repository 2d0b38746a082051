"""Chooses the thread that a command acts on.

Without `--thread` it is the most recently used thread of this place. A command that changes a
thread of another place needs `--thread`. A thread that only Codex has is adopted when it is named.
"""

import argparse
import os
import re
from typing import Any, NamedTuple

from rich.text import Text
from trimpoint_protocol.client import RemoteError
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import ThreadOverview

from trimpoint.cli.connection.client import Client
from trimpoint.cli.connection.known_threads import (
    KnownThread,
    codex_threads,
    current_folder,
    here,
    matching,
    own_threads,
)
from trimpoint.cli.exits import CliError, UsageError
from trimpoint.cli.terminal import one_line, print_line, stderr_console
from trimpoint.cli.views.age import age
from trimpoint.core.model.spelling import short_id

_MAX_CANDIDATES = 8
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_BEGIN = "Begin one with `trimpoint ask TEXT`"


class _Wanted(NamedTuple):
    name: str | None
    last: bool
    place: str


async def chosen_thread(
    client: Client, arguments: argparse.Namespace, *, changes: bool = False
) -> ThreadOverview:
    """Returns the thread that the options `--thread` and `--last` name, or else the most recently
    used one of this place.

    :param changes: whether the command changes the thread; then a thread of another place must be
        named.

    :raises CliError: when there is no such thread, when several match, or when it belongs to
        another place.
    """
    wanted = _Wanted(arguments.thread, getattr(arguments, "last", False), here())
    chosen = await _named(client, wanted.name) if wanted.name else await _last(client, wanted)
    if changes and wanted.name is None and chosen.overview is None:
        raise CliError(
            "No thread that works here is trimpoint's own yet.",
            f"The last one of Codex's own is {_label(chosen)}. To change it, name it: --thread "
            f"{chosen.short_id}",
            reason="thread_not_found",
        )
    if changes and wanted.name is None and not chosen.is_at(wanted.place):
        raise CliError(
            f"The last thread works in {chosen.cwd}, not here.",
            f"To change it all the same, name it: --thread {chosen.short_id}",
            reason="thread_elsewhere",
        )
    return chosen.overview or await adopted(client, chosen.id)


async def last_thread_here(client: Client) -> KnownThread | None:
    """Returns the most recently used thread of this place: one of trimpoint's, or else one that
    only Codex has; None if there is neither.
    """
    place = here()
    for threads in (await own_threads(client), None):
        known = threads if threads is not None else await codex_threads(client)
        for thread in known:
            if not thread.archived and thread.is_at(place):
                return thread
    return None


async def adopted(client: Client, thread_id: str) -> ThreadOverview:
    """Opens a thread of Codex in the daemon, which follows it from now on, and returns its
    overview.

    :raises RemoteError: when Codex does not know the thread, or another process has it open.
    """
    await client.request("thread/resume", threadId=thread_id, excludeTurns=True)
    print_line(
        Text(
            f"thread {short_id(thread_id)} was Codex's own; trimpoint follows it from now on", "dim"
        )
    )
    for thread in await own_threads(client):
        if thread.id == thread_id and thread.overview is not None:
            return thread.overview
    raise CliError(
        f"The thread {thread_id} could not be adopted.", "An ephemeral thread cannot be."
    )


async def resumed(client: Client, thread: KnownThread) -> dict[str, Any]:
    """Takes part in a thread, and returns what Codex says of it.

    :raises CliError: when the thread is archived. Codex would name a command of its own.
    :raises RemoteError: when Codex refuses it otherwise.
    """
    try:
        return dict(await client.request("thread/resume", threadId=thread.id, excludeTurns=True))
    except RemoteError as error:
        if not thread.archived:
            raise
        back = f"`trimpoint threads unarchive {thread.short_id}` brings it back."
        problem = f"The thread {thread.short_id} is archived."
        raise CliError(problem, back, reason=Reason.THREAD_ARCHIVED) from error


def print_thread(thread: ThreadOverview, arguments: argparse.Namespace | None = None) -> None:
    """Prints which thread was chosen, unless the person named it."""
    if arguments is None or arguments.thread is None:
        print_line(Text(f"thread {described(thread)}", "dim"))


def described(thread: ThreadOverview) -> str:
    """Returns a thread as half a line: its short id, its name or first words, and its folder if
    that is another one.
    """
    title = one_line(thread.name or thread.preview, max(20, min(60, stderr_console().width - 20)))
    named = f" “{title}”" if title else ""
    where = "" if thread.cwd == current_folder() else f" in {thread.cwd}"
    return f"{short_id(thread.id)}{named}{where}"


async def _last(client: Client, wanted: _Wanted) -> KnownThread:
    if not wanted.last:
        found = await last_thread_here(client)
        return found or await _none_here(client, wanted.place)
    for thread in await own_threads(client):
        if not thread.archived:
            return thread
    raise CliError(
        "There is no thread yet that is not archived.",
        f"{_BEGIN}, or from any client.",
        reason="thread_not_found",
    )


async def _none_here(client: Client, place: str) -> KnownThread:
    elsewhere = [thread for thread in await own_threads(client) if not thread.archived]
    if not elsewhere:
        hint = f"{_BEGIN}, or from any client."
        raise CliError(f"There is no thread yet in {place}.", hint, reason="thread_not_found")
    last = elsewhere[0]
    raise CliError(
        f"There is no thread yet in {place}.",
        f"{_BEGIN}. The last one anywhere is {_label(last)} in {last.cwd}: take it with --last, "
        "or name any other with --thread. `trimpoint threads --all` lists them.",
        reason="thread_not_found",
    )


async def _named(client: Client, name: str) -> KnownThread:
    own = await own_threads(client)
    found = matching(own, name)
    if not found:
        found = matching(await codex_threads(client), name)
    if not found and _UUID.fullmatch(name.lower()):
        # Codex lists neither archived threads nor those of sub-agents; it knows them all the same.
        try:
            overview = await adopted(client, name.lower())
        except RemoteError as error:
            if "no rollout found" in error.message:  # Codex's words for a thread that it lacks
                raise _elsewhere(name) or _unknown(name, own) from error
            raise
        return KnownThread(overview.id, None, "", overview.cwd, "", overview.archived, overview)
    if len(found) == 1:
        return found[0]
    raise _ambiguous(name, found) if found else _elsewhere(name) or _unknown(name, own)


def _ambiguous(name: str, found: list[KnownThread]) -> UsageError:
    return UsageError(
        f"{name!r} could be any of {len(found)} threads.",
        f"Say which by its id:\n{_candidates(found)}",
        reason="ambiguous",
    )


def _elsewhere(name: str) -> UsageError | None:
    """Returns the error for a session of another agent; None if the name is not of one."""
    from trimpoint.sessionlogs.catalogue import Ambiguous, session_named
    from trimpoint.sessionlogs.homes import homes_in

    try:
        session = session_named(homes_in(os.environ), name)
    except Ambiguous:
        return None
    return UsageError(
        f"{name} is a session of {session.agent}, not a thread.",
        f"trimpoint sessions show {name} shows it; trimpoint sessions continue {name} goes on with "
        "it in a thread.",
        reason="thread_not_found",
    )


def _unknown(name: str, own: list[KnownThread]) -> UsageError:
    place = here()
    active = [thread for thread in own if not thread.archived]
    near = [thread for thread in active if thread.is_at(place)] or active
    if not near:
        hint = "There are no threads yet."
    else:
        hint = f"The last ones are:\n{_candidates(near)}\n`trimpoint threads --all` lists all."
    return UsageError(f"There is no thread {name!r}.", hint, reason="thread_not_found")


def _candidates(threads: list[KnownThread]) -> str:
    shown = threads[:_MAX_CANDIDATES]
    lines = [f"  {_label(thread)}, {age(thread.updated_at)} ago" for thread in shown]
    if len(threads) > len(shown):
        lines.append(f"  … and {len(threads) - len(shown)} more: trimpoint threads --all")
    return "\n".join(lines)


def _label(thread: KnownThread) -> str:
    title = one_line(thread.title, 40)
    title = f"“{title}”" if title else "(nothing said yet)"
    archived = " (archived)" if thread.archived else ""
    return f"{thread.short_id} {title}{archived}"
