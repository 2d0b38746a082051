"""`trimpoint clear | compact | compress | revert | new`: slash commands as if typed in a client, carried out by the daemon."""

import argparse
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import anyio
import msgspec
from rich.text import Text
from trimpoint_protocol.methods import CommandOutcome

from trimpoint.cli.connection.client import Client
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.exits import Exit
from trimpoint.cli.terminal import for_shells, one_line, print_json, printable, stderr_console, stdout_console
from trimpoint.cli.thread_commands.thread_choice import chosen_thread, print_thread
from trimpoint.cli.views.timeline_view import summary_panel

_ENDINGS = {
    "completed": ("✓", "green", Exit.DONE),
    "skipped": ("–", "yellow", Exit.SKIPPED),
    "failed": ("✗", "red", Exit.FAILED),
}


def run_clear(arguments: argparse.Namespace) -> int:
    """`clear [N]`."""
    keep = "" if arguments.keep is None else f" {arguments.keep}"
    return with_daemon(arguments, partial(_type, arguments, f"/clear{keep}"))


def run_compact(arguments: argparse.Namespace) -> int:
    """`compact [--keep N] [--force] [guidance…]`."""
    words = ["/compact"]
    if arguments.keep is not None:
        words += ["--keep", str(arguments.keep)]
    if arguments.force:
        words.append("--force")
    return with_daemon(arguments, partial(_type, arguments, " ".join([*words, *arguments.guidance])))


def run_compress(arguments: argparse.Namespace) -> int:
    """`compress [TOKENS] [--dry-run]`."""
    words = ["/compress", *([arguments.target] if arguments.target is not None else [])]
    if arguments.dry_run:
        words.append("--dry-run")
    return with_daemon(arguments, partial(_type, arguments, " ".join(words)))


def run_revert(arguments: argparse.Namespace) -> int:
    """`revert [TURN | --undo] [--context] [--force]`."""
    options = [f"--{name}" for name in ("undo", "context", "force") if getattr(arguments, name)]
    return with_daemon(arguments, partial(_type, arguments, " ".join(["/revert", *filter(None, [arguments.turn]), *options])))


def run_new(arguments: argparse.Namespace) -> int:
    """`new`."""
    return with_daemon(arguments, partial(_type, arguments, "/new"))


async def _type(arguments: argparse.Namespace, text: str, client: Client) -> int:
    thread = await chosen_thread(client, arguments, changes=True)
    if arguments.json:
        answer = await client.request("commands/execute", threadId=thread.id, text=text)
        print_json({"threadId": thread.id, **answer})
        return _ending(msgspec.convert(answer, CommandOutcome))[2]
    print_thread(thread, arguments)
    async with _progress(client, text):
        answer = await client.request("commands/execute", threadId=thread.id, text=text)
    return _show(msgspec.convert(answer, CommandOutcome))


@asynccontextmanager
async def _progress(client: Client, text: str) -> AsyncGenerator[None]:
    """What the daemon says of its progress, beside a spinner; nothing where nobody watches."""
    with stderr_console().status(Text(f"{one_line(text, 60)} …")) as status:
        async with anyio.create_task_group() as tasks:

            async def follow() -> None:
                seen = 0
                while True:
                    step = await client.received("commands/progress", after=seen)
                    seen = client.messages.index(step, seen) + 1
                    status.update(Text(one_line(step["params"]["message"])))

            tasks.start_soon(follow)
            yield
            tasks.cancel_scope.cancel()


def _show(outcome: CommandOutcome) -> int:
    glyph, colour, code = _ending(outcome)
    stdout_console().print(Text.assemble((f"{glyph} ", f"bold {colour}"), printable(for_shells(outcome.message or ""))))
    if outcome.summary:
        stdout_console().print(summary_panel("Summary", outcome.summary))
    if outcome.new_thread_id:
        stdout_console().print(Text(f"new thread {outcome.new_thread_id}", "bold"))
    return code


def _ending(outcome: CommandOutcome) -> tuple[str, str, Exit]:
    if outcome.reason == "usage":
        return "✗", "red", Exit.USAGE
    return _ENDINGS.get(outcome.status or "failed", _ENDINGS["failed"])
