"""Arguments of the commands for a thread: its history, its files, its name and state."""

import argparse
from typing import get_args

from trimpoint_protocol.shapes.history_kinds import HistoryKind

from trimpoint.cli.parsing.options import (
    NAMED,
    Commands,
    around,
    command,
    for_clients,
    for_one_thread,
    hit_count,
    positive,
)

CHECKPOINTS = """\
A turn's number counts from 1, pruned turns too. trimpoint diff N shows what turn N changed.
"""

DIFF = """\
moments:
  3              turn 3, its end (0: before the first)
  1a2b3c4d:h3.2  the turn of this entry, as trimpoint search shows it
  now            the files as they are
  safety         before the last revert
  COMMIT         a checkpoint, as trimpoint checkpoints shows it
examples:
  trimpoint diff            what the last turn changed
  trimpoint diff 3          what turn 3 changed
  trimpoint diff 3 now      everything since
  trimpoint diff now        what was changed since the last turn ended
"""


SEARCH = """\
Finds what has all the words, in every thread unless you name one; if nothing has, what has all but
one of them. conf* finds words that begin with conf, and "words in quotes" must follow each other.
examples:
  trimpoint search KeyError parse         in all threads
  trimpoint search -t 1a2b3c4d --pruned deadline
  trimpoint search --read 1a2b3c4d:h3.2
"""


def add_timeline(commands: Commands) -> None:
    """Adds the command `timeline`."""
    parser = command(
        commands,
        "timeline",
        "thread_commands.timeline:run",
        "show a thread's history with its trim points",
    )
    parser.add_argument(
        "--expand",
        metavar="WHICH",
        action="append",
        default=[],
        help="show what was pruned: all, the number of a divider, or a trim point's id",
    )
    parser.add_argument(
        "-n",
        "--limit",
        metavar="N",
        type=positive,
        default=200,
        help="the newest N entries (default 200)",
    )
    for_one_thread(parser)


def add_checkpoints(commands: Commands) -> None:
    """Adds the command `checkpoints`."""
    parser = command(
        commands,
        "checkpoints",
        "thread_commands.checkpoints:run",
        "list the turns whose files can be restored",
        CHECKPOINTS,
    )
    parser.add_argument(
        "-n",
        "--limit",
        metavar="N",
        type=positive,
        default=50,
        help="the newest N turns (default 50)",
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument(
        "--storage",
        action="store_true",
        help="show which threads have checkpoints, and how much space they take",
    )
    action.add_argument(
        "--prune",
        action="store_true",
        help="delete those of deleted threads; without --yes, only show them",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="with --prune: remove everything of trimpoint from the repositories",
    )
    parser.add_argument("--yes", action="store_true", help="with --prune: do it")
    parser.add_argument(
        "--repository",
        metavar="DIR",
        help="with --storage and --prune: this one only, even if no thread works in it",
    )
    for_one_thread(parser)


def add_diff(commands: Commands) -> None:
    """Adds the command `diff`."""
    parser = command(
        commands,
        "diff",
        "thread_commands.diff:run",
        "show what changed in the files between two moments",
        DIFF,
    )
    parser.add_argument(
        "moments",
        metavar="MOMENT",
        nargs="*",
        help="one: what that turn changed; two: from the end of one to the other",
    )
    parser.add_argument(
        "--path",
        metavar="PATH",
        action="append",
        default=[],
        help="only this file or folder, named from here",
    )
    parser.add_argument("--stat", action="store_true", help="only which files, and how many lines")
    parser.add_argument(
        "--max-bytes",
        metavar="N",
        type=positive,
        default=1024 * 1024,
        help="cut the diff after N bytes (default 1 MiB)",
    )
    for_clients(parser, thread=True)


def add_watch(commands: Commands) -> None:
    """Adds the command `watch`."""
    for_one_thread(
        command(
            commands, "watch", "thread_commands.watch:run", "follow a thread live, until Ctrl-C"
        )
    )


def add_export(commands: Commands) -> None:
    """Adds the command `export`."""
    parser = command(
        commands,
        "export",
        "session_commands.export:run_thread",
        "write a thread as a document, including trim points and summaries",
    )
    parser.add_argument(
        "--format",
        choices=("markdown", "html", "json"),
        default="markdown",
        help="default: markdown; html is one file that can be sent to somebody",
    )
    parser.add_argument(
        "--pruned", action="store_true", help="with what is no longer in the agent's context"
    )
    parser.add_argument("--out", metavar="FILE", help="a new file to write to (default: stdout)")
    for_one_thread(parser)


def add_search(commands: Commands) -> None:
    """Adds the command `search`."""
    parser = command(
        commands,
        "search",
        "thread_commands.search:run",
        "search messages, commands and changes, including pruned ones",
        SEARCH,
    )
    parser.add_argument("words", metavar="WORD", nargs="*", help="words to find")
    parser.add_argument("--here", action="store_true", help="only in threads begun in this folder")
    parser.add_argument(
        "--pruned", action="store_true", help="only what is not in the agent's context"
    )
    parser.add_argument(
        "--kind",
        metavar="KIND",
        action="append",
        default=[],
        choices=get_args(HistoryKind),
        help=f"only {', '.join(get_args(HistoryKind)[:-1])} or {get_args(HistoryKind)[-1]}",
    )
    parser.add_argument(
        "-n", "--limit", metavar="N", type=hit_count, default=20, help="the best N (default 20)"
    )
    parser.add_argument("--read", metavar="ENTRY", help="show an entry in full, as 1a2b3c4d:h3.2")
    parser.add_argument(
        "--around", metavar="N", type=around, default=0, help="with N entries before and after it"
    )
    for_clients(parser, thread=True)


def add_threads(commands: Commands) -> None:
    """Adds the command `threads` with its actions."""
    summary = "list this folder's conversations, Codex's own included"
    parser = command(
        commands,
        "threads",
        "thread_commands.threads:run",
        f"{summary}; rename, fork, archive, delete one",
    )
    _list_options(parser)
    actions = parser.add_subparsers(metavar="ACTION", title="actions")
    _list_options(command(actions, "list", "thread_commands.threads:run", summary))
    for add in (_add_rename, _add_fork, _add_archive, _add_unarchive, _add_delete):
        add(actions)


def _list_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-a", "--all", action="store_true", help="those of all folders, archived ones too"
    )
    parser.add_argument("--archived", action="store_true", help="the archived ones of this folder")
    parser.add_argument(
        "-n", "--limit", metavar="N", type=positive, default=30, help="the last used N (default 30)"
    )
    for_clients(parser)


def _add_rename(commands: Commands) -> None:
    """Adds the action `rename`."""
    parser = command(
        commands, "rename", "thread_commands.thread_changes:run_rename", "give a thread a name"
    )
    parser.add_argument("named", metavar="THREAD", nargs="?", help=NAMED)
    parser.add_argument("name", metavar="NAME", help="its new name")
    for_clients(parser, thread=True)


def _add_archive(commands: Commands) -> None:
    """Adds the action `archive`."""
    for_one_thread(
        command(
            commands, "archive", "thread_commands.thread_changes:run_archive", "archive a thread"
        )
    )


def _add_unarchive(commands: Commands) -> None:
    """Adds the action `unarchive`."""
    details = (
        "Without a thread, the one of this folder that was archived last; so it takes back "
        "`trimpoint new`."
    )
    for_one_thread(
        command(
            commands,
            "unarchive",
            "thread_commands.thread_changes:run_unarchive",
            "bring an archived thread back",
            details,
        )
    )


def _add_delete(commands: Commands) -> None:
    """Adds the action `delete`."""
    details = (
        "Codex forgets the conversation. What trimpoint wrote down of it stays, as an archived "
        "thread."
    )
    parser = command(
        commands,
        "delete",
        "thread_commands.thread_changes:run_delete",
        "delete a thread from Codex permanently",
        details,
    )
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    for_one_thread(parser)


def _add_fork(commands: Commands) -> None:
    """Adds the action `fork`."""
    parser = command(
        commands,
        "fork",
        "thread_commands.thread_changes:run_fork",
        "copy a thread, to try something out in the copy",
    )
    parser.add_argument("--at", metavar="TURN", help="as it was after this turn")
    for_one_thread(parser)


def add_interrupt(commands: Commands) -> None:
    """Adds the command `interrupt`."""
    for_one_thread(
        command(
            commands,
            "interrupt",
            "thread_commands.thread_changes:run_interrupt",
            "stop the turn or the compaction that is running",
        )
    )
