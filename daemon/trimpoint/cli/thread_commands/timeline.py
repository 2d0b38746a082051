"""`trimpoint timeline`: shows a thread's history, which is read page by page."""

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import msgspec
from rich.text import Text
from trimpoint_protocol.methods import MAX_PAGE, SnapshotResult, TimelinePage
from trimpoint_protocol.readmodel import OrchestrationThread, TimelineEntry

from trimpoint.cli.connection.client import Client, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.exits import Exit, UsageError
from trimpoint.cli.pager import paged
from trimpoint.cli.terminal import one_line, print_json
from trimpoint.cli.thread_commands.thread_choice import chosen_thread, print_thread
from trimpoint.cli.views.timeline_view import Marks, timeline_rows, turn_marks
from trimpoint.core.model.spelling import short_id


def run(arguments: argparse.Namespace) -> int:
    """Shows the history."""
    return with_daemon(arguments, partial(_show, arguments))


async def _show(arguments: argparse.Namespace, client: Client) -> int:
    thread = await chosen_thread(client, arguments)
    snapshot = (
        await ask(client, SnapshotResult, "orchestration/snapshot", threadId=thread.id)
    ).thread
    points = [point.id for point in snapshot.context_trim_points] if snapshot is not None else []
    entries, cursor = await _newest(
        client, thread.id, _expansion(arguments.expand, points), arguments.limit
    )
    turns = snapshot.turns if snapshot is not None else []
    trim_points = {point: number for number, point in enumerate(points, 1)}
    if arguments.json:
        numbers = {turn.id: number for number, turn in enumerate(turns, 1)}
        numbered = [_numbered(entry, numbers, trim_points) for entry in entries]
        print_json({"threadId": thread.id, "entries": numbered, "nextCursor": cursor})
        return Exit.DONE
    print_thread(thread, arguments)
    with paged(from_end=True) as console:
        if cursor is not None:
            console.print(Text("… older entries are not shown; see more with --limit", "dim"), "")
        marks = Marks(
            trim_points=trim_points,
            turns=turn_marks(turns),
            rich_text=console.is_terminal,
        )
        for row in timeline_rows(msgspec.convert(entries, list[TimelineEntry]), marks):
            console.print(row)
        if not entries:
            console.print(Text("There are no messages yet.", "dim"))
        for line in _links(snapshot):
            console.print(Text(line, "dim"))
    return Exit.DONE


def _links(thread: OrchestrationThread | None) -> Iterator[str]:
    """Yields the threads that this one was begun from, and those that it was handed off to."""
    if thread is None:
        return
    if thread.parent_thread_id is not None:
        yield f"Begun from the thread {short_id(thread.parent_thread_id)}."
    for one in thread.handoffs:
        goal = f": {one_line(one.goal)}" if one.goal else "."
        yield f"Handed off to the thread {short_id(one.thread_id)}{goal}"


def _numbered(
    entry: dict[str, Any], turns: Mapping[str, int], points: Mapping[str, int]
) -> dict[str, Any]:
    """Returns an entry with the numbers that a person sees: of its turn, and of its trim point."""
    turn, point = entry.get("turnId"), entry.get("trimPointId")
    return entry | {
        "turn": turns.get(turn) if turn else None,
        "trimPoint": points.get(point) if point else None,
    }


async def _newest(
    client: Client, thread_id: str, expand: list[str] | str, limit: int
) -> tuple[list[dict[str, Any]], str | None]:
    """Returns the newest `limit` entries, the oldest of them first, and the cursor for earlier
    ones.
    """
    entries: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = await client.request(
            "timeline/read",
            threadId=thread_id,
            expand=expand,
            cursor=cursor,
            limit=min(MAX_PAGE, limit - len(entries)),
        )
        entries[:0] = page["entries"]
        cursor = msgspec.convert(page, TimelinePage).next_cursor
        if cursor is None or len(entries) >= limit:
            return entries, cursor


def _expansion(wanted: list[str], points: list[str]) -> list[str] | str:
    """Returns the trim points to expand: their ids, or "all"."""
    return "all" if "all" in wanted else [_point(which, points) for which in wanted]


def _point(which: str, points: list[str]) -> str:
    if which.isdecimal() and 1 <= int(which) <= len(points):
        return points[int(which) - 1]
    matching = [point for point in points if point.startswith(which) or point.endswith(which)]
    if len(matching) == 1:
        return matching[0]
    known = (
        f"all, or 1 to {len(points)}: the numbers at the dividers"
        if points
        else "nothing was pruned on this thread yet"
    )
    raise UsageError(
        f"--expand {which}: there is no such trim point.",
        f"It takes {known}." if points else f"{known.capitalize()}.",
    )
