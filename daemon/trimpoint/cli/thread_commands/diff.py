"""`trimpoint diff`: shows the changes of the files between two checkpoints: formatted on a
terminal, as git's own text otherwise.
"""

import argparse
import os
from functools import partial

from rich.console import Console
from rich.text import Text
from trimpoint_protocol.shapes.checkpoints import CheckpointDiff

from trimpoint.cli.connection.client import Client, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.connection.known_threads import current_folder, place_of
from trimpoint.cli.exits import Exit, UsageError
from trimpoint.cli.json_output import write_text
from trimpoint.cli.pager import paged
from trimpoint.cli.terminal import one_line, print_json, print_line, stdout_console
from trimpoint.cli.thread_commands.named_ids import thread_of
from trimpoint.cli.thread_commands.thread_choice import print_thread
from trimpoint.cli.views.diff_view import counts, diff_rows, file_table
from trimpoint.core.model.decision import counted

_MOST_MOMENTS = 2


def run(arguments: argparse.Namespace) -> int:
    """Shows the changes."""
    if len(arguments.moments) > _MOST_MOMENTS:
        raise UsageError("trimpoint diff takes two moments at most.", "See trimpoint diff --help.")
    return with_daemon(arguments, partial(_show, arguments))


async def _show(arguments: argparse.Namespace, client: Client) -> int:
    thread = await thread_of(client, arguments, arguments.moments)
    older, newer = [None, None, *arguments.moments][-2:]
    params = {
        "threadId": thread.id,
        "older": older,
        "newer": newer,
        "paths": [_from_root(path, thread.cwd) for path in arguments.path],
        "maxBytes": 0 if arguments.stat else arguments.max_bytes,
    }
    if arguments.json:
        print_json(await client.request("checkpoint/diff", **params))
        return Exit.DONE
    found = await ask(client, CheckpointDiff, "checkpoint/diff", **params)
    print_thread(thread, arguments)
    if found.diff is not None and not stdout_console().is_terminal:
        write_text(found.diff)
    else:
        with paged() as console:
            _print(console, found)
    if arguments.path and not found.files:
        print_line(Text(f"Nothing differs at {', '.join(map(one_line, arguments.path))}.", "dim"))
    _print_limits(found)
    return Exit.DONE


def _from_root(path: str, thread_folder: str) -> str:
    """Returns a path relative to the work tree's root. As in git, the command takes it relative to
    the working directory.
    """
    root = place_of(thread_folder)
    full = os.path.join(os.path.realpath(current_folder()), path)
    inside = os.path.relpath(full, root)
    return path if inside.startswith("..") else inside


def _print(console: Console, found: CheckpointDiff) -> None:
    moments = Text(f"{found.older.label} → {found.newer.label}  ", "bold")
    console.print(
        moments.append_text(
            counts(found.changed) if found.files else Text("nothing differs", "dim")
        )
    )
    console.print(file_table(found.files))
    for row in diff_rows(found.diff or ""):
        console.print(row)


def _print_limits(found: CheckpointDiff) -> None:
    if found.truncated:
        print_line(
            Text(
                "The diff is cut here; see more with --max-bytes, or one file with --path.",
                "yellow",
            )
        )
    if len(found.files) < found.changed.files:
        left_out = found.changed.files - len(found.files)
        verb = "differs" if left_out == 1 else "differ"
        print_line(Text(f"{counted(left_out, 'more file')} {verb}.", "yellow"))
    notes: dict[str, str] = {}
    for moment in (found.older, found.newer):
        for note in moment.notes:
            notes.setdefault(note, moment.label)
    for note, label in notes.items():
        # A sentence is about the capture; anything else names what is not part of it.
        about = label if note.endswith(".") else "Not compared"
        print_line(Text(f"{about}: {one_line(note)}", "dim"))
