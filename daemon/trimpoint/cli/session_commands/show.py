"""`trimpoint sessions show`: a session of any agent as a timeline, with its boundaries drawn in."""

import argparse

import msgspec
from rich.text import Text
from trimpoint_protocol.readmodel import ContextTrimPointDivider, TimelineEntry

from trimpoint.cli.exits import CliError, Exit, UsageError
from trimpoint.cli.session_commands.chosen import chosen_session
from trimpoint.cli.terminal import one_line, print_json, stdout_console
from trimpoint.cli.views.timeline_view import Marks, timeline_rows
from trimpoint.sessionlogs.opening import CannotRead
from trimpoint.sessionlogs.sessions import Reading
from trimpoint.sessionlogs.timeline import timeline_of


def run(arguments: argparse.Namespace) -> int:
    """Shows it."""
    session = chosen_session(arguments.id, arguments.agent)
    try:
        records = list(Reading(session))
    except CannotRead as error:
        raise CliError(str(error), reason="cannot_read") from None
    entries = timeline_of(records, _expansion(arguments.expand))
    shown = entries[-arguments.limit :]
    if arguments.json:
        print_json({"sessionId": session.id, "entries": msgspec.to_builtins(shown)})
        return Exit.DONE
    console = stdout_console()
    console.print(Text(f"{session.agent} {session.id}", "dim"), Text(one_line(session.title or "")))
    if len(shown) < len(entries):
        console.print(Text("… older entries are not shown; see more with --limit", "dim"), "")
    marks = Marks(trim_points=_numbers(entries), rich_text=console.is_terminal)
    for row in timeline_rows(shown, marks):
        console.print(row)
    if not entries:
        console.print(Text("Nothing has been said.", "dim"))
    return Exit.DONE


def _numbers(entries: list[TimelineEntry]) -> dict[str, int]:
    points = [one.trim_point_id for one in entries if isinstance(one, ContextTrimPointDivider)]
    return {point: number for number, point in enumerate(points, 1)}


def _expansion(wanted: list[str]) -> set[int] | None:
    """Returns the numbers of the dividers to expand, None for all."""
    if "all" in wanted:
        return None
    for which in wanted:
        if not which.isdecimal():
            raise UsageError(f"--expand {which}: it takes all, or the number at a divider.")
    return set(map(int, wanted))
