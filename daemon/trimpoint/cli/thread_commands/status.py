"""`trimpoint daemon status`: shows the daemon, its Codex and its threads."""

import argparse
from functools import partial

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text
from trimpoint_protocol.methods import CodexStatus, SidecarStatus, SnapshotResult, ThreadOverview

from trimpoint.cli.connection.client import Client
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.connection.known_threads import here, known
from trimpoint.cli.exits import Exit, NoDaemonRuns
from trimpoint.cli.json_output import as_shown
from trimpoint.cli.terminal import one_line, print_json, stdout_console
from trimpoint.cli.views.age import duration
from trimpoint.cli.views.threads_view import by_place, thread_groups
from trimpoint.core.model.decision import counted

_STATES = {"connected": ("●", "green"), "idle": ("○", "cyan"), "unavailable": ("●", "red")}


def run(arguments: argparse.Namespace) -> int:
    """Shows the status; the exit code is 0 if the daemon answers."""
    try:
        return with_daemon(arguments, partial(_show, arguments), starts=False)
    except NoDaemonRuns as error:
        hint = f"{error.message} The first command that needs one starts it."
        raise NoDaemonRuns("No daemon runs.", hint) from None


async def _show(arguments: argparse.Namespace, client: Client) -> int:
    status = await client.request("sidecar/status")
    snapshot = await client.request("orchestration/snapshot")
    threads = [row for row in snapshot["threads"] if arguments.all or not row["archived"]]
    if arguments.json:
        print_json({"daemon": status, "threads": as_shown(threads)})
        return Exit.DONE
    _print_daemon(stdout_console(), msgspec.convert(status, SidecarStatus))
    overviews = msgspec.convert({**snapshot, "threads": threads}, SnapshotResult).threads
    _print_threads(stdout_console(), overviews, archived=len(snapshot["threads"]) - len(threads))
    return Exit.DONE


def _print_daemon(console: Console, status: SidecarStatus) -> None:
    clients = status.clients - 1  # this command is one
    table = Table.grid(padding=(0, 2))
    table.add_row(
        Text("trimpoint", "bold"),
        Text.assemble(
            ("● ", "green"), f"{status.version}, up {duration(status.uptime_s)}, pid {status.pid}"
        ),
    )
    table.add_row("", Text(f"{counted(clients, 'other client', 'no')} connected", "dim"))
    _add_codex(table, status.codex, status.codex.overrides)
    for profile in status.profiles:
        _add_codex(table, profile.codex, profile.overrides)
        table.add_row("", Text(f"CODEX_HOME {profile.codex_home}", "dim", overflow="fold"))
        users = ", ".join(
            (counted(profile.clients, "client", "no"), counted(profile.threads, "thread", "no"))
        )
        table.add_row("", Text(users, "dim"))
    table.add_row(Text("State", "bold"), Text(status.state_dir, overflow="fold"))
    console.print(table)


def _add_codex(table: Table, codex: CodexStatus, overrides: list[str]) -> None:
    table.add_row(Text("Codex", "bold"), _codex(codex))
    table.add_row("", Text(codex.path, "dim", overflow="fold"))
    if keys := [override.partition("=")[0] for override in overrides]:
        # Values may be long, or hold a key; `--json` has them.
        table.add_row("", Text(f"with -c for {one_line(', '.join(keys))}", "dim"))


def _codex(codex: CodexStatus) -> Text:
    glyph, colour = _STATES.get(codex.state, ("●", "yellow"))
    text = Text.assemble(
        (f"{glyph} ", colour), codex.version or "", " " if codex.version else "", codex.state
    )
    return text if codex.problem is None else text.append(f": {one_line(codex.problem)}", "red")


def _print_threads(console: Console, threads: list[ThreadOverview], archived: int) -> None:
    console.print()
    more = f" ({counted(archived, 'archived thread')} not shown; --all)" if archived else ""
    console.print(Text.assemble((counted(len(threads), "thread", "no"), "bold"), (more, "dim")))
    if threads:
        grouped = by_place(map(known, threads), here())
        console.print(thread_groups(grouped, console.width, headings=list(grouped) != [here()]))
