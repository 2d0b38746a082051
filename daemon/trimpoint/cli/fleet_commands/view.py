"""`trimpoint fleet hosts | threads | watch | timeline`: shows the fleet."""

import argparse
from collections import deque
from functools import partial

import msgspec
from rich.table import Table
from rich.text import Text
from trimpoint_protocol.readmodel import EventEnvelope

from trimpoint.cli.exits import Exit
from trimpoint.cli.fleet_commands.hub_client import Person, chosen_thread, with_hub
from trimpoint.cli.terminal import one_line, print_json, stdout_console
from trimpoint.cli.views.age import short_age
from trimpoint.cli.views.threads_view import busy_words
from trimpoint.core.context.context_size import percent_text
from trimpoint.fleet.reading import ThreadOfHost, events_of, hosts, new_events, threads

_LEVELS = {"ok": "", "warning": "yellow", "critical": "red"}


def run_hosts(arguments: argparse.Namespace) -> int:
    """Runs `fleet hosts`: lists the hosts."""
    return with_hub(arguments, partial(_hosts, arguments))


def run_threads(arguments: argparse.Namespace) -> int:
    """Runs `fleet threads`: lists the threads of the hosts."""
    return with_hub(arguments, partial(_threads, arguments))


def run_watch(arguments: argparse.Namespace) -> int:
    """Runs `fleet watch`: prints events as they arrive, until Ctrl-C."""
    return with_hub(arguments, partial(_watch, arguments))


def run_timeline(arguments: argparse.Namespace) -> int:
    """Runs `fleet timeline`: prints the conversation of one thread."""
    return with_hub(arguments, partial(_timeline, arguments))


async def _hosts(arguments: argparse.Namespace, person: Person) -> int:
    found = await hosts(person.hub, person.names)
    if arguments.json:
        print_json({"hosts": msgspec.to_builtins(found)})
        return Exit.DONE
    if not found:
        stdout_console().print(Text("No machine is connected.", "dim"))
        return Exit.DONE
    table = _table("host", "version", "since", "threads", "busy", "behind", "sends")
    for host in found:
        behind = str(host.behind) if host.behind else ""
        flaw = f"{host.not_mirrored} not copied" if host.not_mirrored else behind
        table.add_row(
            Text(one_line(host.host), "cyan"), one_line(host.version), short_age(host.since),
            str(host.threads), str(host.busy), flaw, one_line(host.content),
        )  # fmt: skip
    stdout_console().print(table)
    return Exit.DONE


async def _threads(arguments: argparse.Namespace, person: Person) -> int:
    found = await threads(person.hub, person.names, arguments.host or "*")
    there = {host.host for host in await hosts(person.hub, person.names)}
    if arguments.json:
        rows = [
            {"host": one.host, "online": one.host in there, **msgspec.to_builtins(one.thread)}
            for one in found
        ]
        print_json({"threads": rows})
        return Exit.DONE
    table = _table("host", "id", "title", "used", "turns", "context", "")
    for one in found:
        table.add_row(*_cells(one, is_there=one.host in there))
    stdout_console().print(table if found else Text("The hub has no threads.", "dim"))
    return Exit.DONE


def _cells(one: ThreadOfHost, *, is_there: bool) -> list[Text]:
    thread = one.thread
    percent = percent_text(thread.percent) if thread.percent is not None else ""
    state = "archived" if thread.archived else busy_words(thread.busy or "", asks=thread.asks)
    style = "bold yellow" if thread.asks else "yellow"
    return [
        Text(one_line(one.host), "cyan" if is_there else "dim"),
        Text(one_line(thread.id)[-8:]),
        Text(one_line(thread.title or "")),
        Text(short_age(thread.updated_at)),
        Text(str(thread.turns) if thread.turns is not None else ""),
        Text(percent, _LEVELS.get(thread.level or "", "")),
        Text(one_line(state) if is_there else "machine is away", style if is_there else "dim"),
    ]


async def _watch(arguments: argparse.Namespace, person: Person) -> int:
    console = stdout_console()
    async for one in new_events(person.hub, person.names, arguments.host or "*"):
        if arguments.json:
            print_json({"host": one.host, "threadId": one.thread_id, **_plain(one.event)})
        else:
            console.print(Text(f"{one.host} {one.thread_id[-8:]} ", "cyan"), _line(one.event))
    return Exit.DONE


async def _timeline(arguments: argparse.Namespace, person: Person) -> int:
    chosen = await chosen_thread(person, arguments)
    events = events_of(person.hub, person.names, chosen.host, chosen.thread.id)
    kept = deque[EventEnvelope](maxlen=arguments.limit)
    async for event in events:
        kept.append(event)
    if arguments.json:
        print_json(
            {"host": chosen.host, "threadId": chosen.thread.id, "events": [*map(_plain, kept)]}
        )
        return Exit.DONE
    console = stdout_console()
    console.print(Text(f"{chosen.host} {chosen.thread.id}", "cyan"))
    for event in kept:
        console.print(_line(event))
    return Exit.DONE


def _line(event: EventEnvelope) -> Text:
    facts = ", ".join(
        f"{key} {one_line(str(value))}"
        for key, value in event.payload.items()
        if value not in (None, "", False) and not key.endswith("Id")
    )
    asked = f" (asked by {one_line(event.asked_by)})" if event.asked_by else ""
    name = event.type.removeprefix("thread.")
    line = Text(f"{event.occurred_at[:19]}  ", "dim")
    return line.append(f"{name:<26} ", "").append(f"{facts}{asked}", "dim")


def _plain(event: EventEnvelope) -> dict[str, object]:
    return dict(msgspec.to_builtins(event))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, no_wrap=True, overflow="ellipsis")
    return table
