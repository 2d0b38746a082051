"""`trimpoint checkpoints`: lists the checkpoints of a thread, shows their size on disk, and prunes
old ones.
"""

import argparse
import os
from functools import partial
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text
from trimpoint_protocol.shapes.checkpoints import (
    CheckpointList,
    CheckpointStorage,
    PruneResult,
    RepositoryStorage,
    TurnCheckpoint,
)

from trimpoint.cli.connection.client import Client, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.exits import Exit, UsageError
from trimpoint.cli.pager import paged
from trimpoint.cli.terminal import one_line, print_json, print_line, stdout_console
from trimpoint.cli.thread_commands.thread_choice import chosen_thread, print_thread
from trimpoint.cli.views.age import age
from trimpoint.cli.views.diff_view import counts
from trimpoint.core.model.decision import counted

_COMMIT_CHARS = 10
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024


def run(arguments: argparse.Namespace) -> int:
    """Lists checkpoints, shows their storage, or prunes them."""
    if (arguments.yes or arguments.all) and not arguments.prune:
        option = "--yes" if arguments.yes else "--all"
        raise UsageError(f"{option} goes with --prune.", "See trimpoint checkpoints --help.")
    act = _prune if arguments.prune else _storage if arguments.storage else _show
    return with_daemon(arguments, partial(act, arguments))


async def _show(arguments: argparse.Namespace, client: Client) -> int:
    thread = await chosen_thread(client, arguments)
    if arguments.json:
        print_json(
            await client.request("checkpoint/list", threadId=thread.id, limit=arguments.limit)
        )
        return Exit.DONE
    found = await ask(
        client, CheckpointList, "checkpoint/list", threadId=thread.id, limit=arguments.limit
    )
    print_thread(thread, arguments)
    with paged(from_end=True) as console:
        _print(console, found)
    return Exit.DONE


def _print(console: Console, found: CheckpointList) -> None:
    if found.older:
        earlier = f"… {counted(found.older, 'earlier turn', 'no')} not shown; see more with --limit"
        console.print(Text(earlier, "dim"))
    console.print(_table(found.turns))
    said: list[str] = []
    for row in found.turns:
        # What is not in one checkpoint is mostly not in the next either: it is said once.
        for note in (note for note in row.notes if note not in said):
            # A sentence is about the capture; anything else names what is not part of it.
            what = "" if note.endswith(".") else "left out, "
            console.print(Text(f"{_turn_name(row)}: {what}{one_line(note)}", "dim"))
        said = row.notes
    if found.safety is not None:
        before = "Before the last revert the files were as in `safety`"
        console.print(Text(f"{before}: see trimpoint diff safety now.", "dim"))


def _table(rows: list[TurnCheckpoint]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column, right in (
        ("turn", True),
        ("changed", False),
        ("captured", False),
        ("commit", False),
        ("", False),
    ):
        table.add_column(
            column, justify="right" if right else "left", no_wrap=column != "", overflow="ellipsis"
        )
    for row in rows:
        table.add_row(*_cells(row), style="dim" if row.trimmed else None)
    return table


def _cells(row: TurnCheckpoint) -> list[Text]:
    said = Text(one_line(row.prompt, 100)) if row.number else Text("before the first turn", "dim")
    if row.commit is None:
        why = row.problem or ("it runs" if row.status == "running" else "there is no checkpoint")
        said.append(f"{'  ' if said.plain else ''}{one_line(why)}", "yellow")
    return [
        Text(str(row.number)),
        counts(row.changed) if row.changed is not None and row.number else Text(""),
        Text(f"{age(row.captured_at)} ago" if row.captured_at is not None else ""),
        Text((row.commit or "–")[:_COMMIT_CHARS], "cyan" if row.commit else "dim"),
        said,
    ]


def _turn_name(row: TurnCheckpoint) -> str:
    return f"after turn {row.number}" if row.number else "before turn 1"


async def _storage(arguments: argparse.Namespace, client: Client) -> int:
    params = _folder(arguments)
    if arguments.json:
        print_json(await client.request("checkpoint/storage", **params))
        return Exit.DONE
    found = (await ask(client, CheckpointStorage, "checkpoint/storage", **params)).repositories
    for repository in found:
        size = (
            _size(repository.disk_bytes)
            if repository.disk_bytes is not None
            else repository.problem or "size unknown"
        )
        refs = sum(thread.refs for thread in repository.threads)
        stdout_console().print(
            Text.assemble(
                (repository.repository, "bold"), f"  {counted(refs, 'checkpoint', 'no')}, {size}"
            )
        )
        stdout_console().print(_threads(repository))
    if not found:
        stdout_console().print(Text("There is no thread in a git repository yet.", "dim"))
    return Exit.DONE


def _threads(repository: RepositoryStorage) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for thread in repository.threads:
        unknown = Text("" if thread.known else "not known to this daemon", "yellow")
        table.add_row(
            f"  {one_line(thread.thread_id)}",
            counted(thread.refs, "checkpoint", "no"),
            f"newest {age(thread.newest_at)} ago",
            unknown,
        )
    return table


async def _prune(arguments: argparse.Namespace, client: Client) -> int:
    params: dict[str, Any] = {
        **_folder(arguments),
        "dryRun": not arguments.yes,
        "all": arguments.all,
    }
    answer = await client.request("checkpoint/prune", **params)
    result = msgspec.convert(answer, PruneResult)
    if arguments.json:
        print_json(answer)
        return Exit.DONE if result.refs or arguments.all else Exit.SKIPPED
    if arguments.all:
        return _show_removal(result)
    if not result.refs:
        stdout_console().print(
            Text.assemble(("– ", "yellow"), "There are no checkpoints of deleted threads.")
        )
        return Exit.SKIPPED
    for repository in result.repositories:
        stdout_console().print(Text(repository.repository, "bold"))
        stdout_console().print(_threads(repository))
    refs = counted(result.refs, "checkpoint", "no")
    if result.deleted:
        stdout_console().print(Text.assemble(("✓ ", "green"), f"Deleted {refs}."))
    else:
        print_line(
            Text(
                f"This would delete {refs} for good. Nothing is deleted yet; --yes does it.",
                "yellow",
            )
        )
    return Exit.DONE


def _show_removal(result: PruneResult) -> int:
    for repository in result.repositories:
        stdout_console().print(Text(repository.repository, "bold"))
        stdout_console().print(_threads(repository))
    refs, repositories = counted(result.refs, "checkpoint", "no"), len(result.repositories)
    if not result.deleted:
        what = (
            f"{refs} and all else that is trimpoint's would go for good "
            f"({counted(repositories, 'worktree', 'no')})"
        )
        print_line(
            Text(
                f"{what}. No file could be reverted any more. Nothing has been done yet: do it "
                "with --yes.",
                "yellow",
            )
        )
        return Exit.DONE
    stdout_console().print(
        Text.assemble(
            ("✓ ", "green"),
            f"Removed {refs} and all else that was trimpoint's "
            f"({counted(repositories, 'worktree', 'no')}).",
        )
    )
    for folder in result.kept:
        print_line(
            Text(
                f"{folder} stays: a revert has saved files of yours in it. Look at them, then "
                "remove it.",
                "yellow",
            )
        )
    return Exit.DONE


def _folder(arguments: argparse.Namespace) -> dict[str, Any]:
    return (
        {"folder": os.path.abspath(arguments.repository)}
        if arguments.repository is not None
        else {}
    )


def _size(size_bytes: int) -> str:
    size, unit = float(size_bytes), 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"
