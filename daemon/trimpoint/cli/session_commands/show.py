"""`trimpoint sessions show`: shows a session of any agent as a timeline with its context
boundaries.
"""

import argparse
from collections import deque
from typing import NamedTuple

import msgspec
from rich.text import Text
from trimpoint_protocol.readmodel import TimelineEntry

from trimpoint.cli.exits import CliError, Exit, UsageError
from trimpoint.cli.session_commands.chosen import chosen_session
from trimpoint.cli.session_commands.own_threads import thread_named
from trimpoint.cli.terminal import one_line, print_json, stdout_console
from trimpoint.cli.thread_commands import timeline
from trimpoint.cli.views.timeline_view import Marks, timeline_rows
from trimpoint.sessionlogs.newest import newest_entries
from trimpoint.sessionlogs.opening import CannotRead
from trimpoint.sessionlogs.sessions import FoundSession, Reading, survey
from trimpoint.sessionlogs.timeline import dividers_of, point_id, timeline_of


def run(arguments: argparse.Namespace) -> int:
    """Shows the newest entries of the session; a thread of trimpoint's is shown whole, as
    `trimpoint timeline` does.
    """
    if (thread_id := thread_named(arguments, arguments.id)) is not None:
        arguments.thread, arguments.last = thread_id, False
        return timeline.run(arguments)
    session = chosen_session(arguments.id, arguments.agent)
    try:
        shown = _shown(session, arguments)
    except CannotRead as error:
        raise CliError(str(error), reason="cannot_read") from None
    if arguments.json:
        print_json({"sessionId": session.id, "entries": msgspec.to_builtins(shown.entries)})
        return Exit.DONE
    console = stdout_console()
    console.print(Text(f"{session.agent} {session.id}", "dim"), Text(one_line(session.title or "")))
    if shown.more:
        console.print(Text(f"… older entries are not shown; see more with {shown.ways}", "dim"), "")
    marks = Marks(trim_points=shown.numbers, rich_text=console.is_terminal)
    for row in timeline_rows(shown.entries, marks):
        console.print(row)
    if not shown.entries:
        console.print(Text("There are no messages.", "dim"))
    return Exit.DONE


class _Shown(NamedTuple):
    """The newest entries, whether there are more, and the number of each divider by its id."""

    entries: list[TimelineEntry]
    more: bool
    numbers: dict[str, int]
    ways: str = "--limit"


def _shown(session: FoundSession, arguments: argparse.Namespace) -> _Shown:
    """Reads the end of the session alone, where that is enough: JSON has the numbers of messages,
    and `--expand` those of dividers, for which the whole session has to be read.
    """
    if not arguments.json and not arguments.expand:
        found = newest_entries(session, arguments.limit)
        if found is not None:
            return _Shown(found, True, {}, "--limit, or --expand all")
    return _newest(session, _expansion(arguments.expand), arguments.limit)


def _newest(session: FoundSession, expand: set[int] | None, limit: int) -> _Shown:
    """Reads the session and returns its last `limit` entries; only these are held in memory."""
    first = survey(session)
    dividers = dividers_of(Reading(session, surveyed=first))
    newest: deque[TimelineEntry] = deque(maxlen=limit)
    total = 0
    for entry in timeline_of(Reading(session, surveyed=first), dividers, expand):
        newest.append(entry)
        total += 1
    numbers = {point_id(number): number for number in range(1, len(dividers) + 1)}
    return _Shown([*newest], total > len(newest), numbers)


def _expansion(wanted: list[str]) -> set[int] | None:
    """Returns the numbers of the dividers to expand; None for all of them."""
    if "all" in wanted:
        return None
    for which in wanted:
        if not which.isdecimal():
            raise UsageError(f"--expand {which}: it takes all, or the number at a divider.")
    return set(map(int, wanted))
