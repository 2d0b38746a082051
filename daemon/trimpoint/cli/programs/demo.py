"""`trimpoint demo`: runs the demonstration on the real Codex and shows it in the terminal or on the
web page.
"""

import argparse
import signal
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec
from rich.console import Console
from trimpoint_protocol.readmodel import ContextTrimPointDivider, TimelineEntry

from trimpoint import event_loop
from trimpoint.cli.connection.browser import show_page
from trimpoint.cli.connection.client import Client, connect
from trimpoint.cli.connection.settings import codex_binary
from trimpoint.cli.exits import CliError, Exit, sole_error
from trimpoint.cli.terminal import plain_console, print_json, stderr_console, stdout_console
from trimpoint.cli.views.timeline_view import Marks, timeline_rows
from trimpoint.demo.model_input import Row
from trimpoint.demo.proof import Findings
from trimpoint.demo.stage import opened_stage
from trimpoint.demo.story import IN_PAGE, IN_TERMINAL, DemoFailed, Pauses, Story
from trimpoint.logging import configure_logging

_LOOK_AGAIN_S = 0.1


def run(arguments: argparse.Namespace) -> int:
    """Runs the demonstration; the exit code is 1 if something that was pruned was found in the
    model's input.

    :raises CliError: when there is no usable Codex or folder, or Codex did not do what the
        demonstration needs.
    """
    codex = codex_binary(argparse.Namespace(codex=arguments.codex, config=None))
    configure_logging("error")
    try:
        return event_loop.run(_play, arguments, codex)
    except (BaseExceptionGroup, DemoFailed, ValueError, TimeoutError) as raised:
        error = sole_error(raised)
        if isinstance(error, DemoFailed | ValueError | TimeoutError):
            raise CliError(
                f"The demo could not continue: {error or 'Codex took too long'}."
            ) from error
        raise


async def _play(arguments: argparse.Namespace, codex: Path) -> int:
    console = _console(arguments)
    with stderr_console().status("Starting Codex …") as waiting:
        async with opened_stage(codex) as stage, connect(stage.socket) as client:
            await client.initialize("trimpoint-demo")
            waiting.stop()
            pauses = _pauses(console, arguments)
            story = Story(console, stage, client, partial(_show_timeline, console, client), pauses)
            if arguments.web:
                await story.begin()
                await _page_opened(console, client, only_print=arguments.print)
            # The page is there to look around in.
            play = story.play_all if arguments.all or arguments.web else story.play
            findings = await play()
            if arguments.web:
                await _until_interrupted(console)
    if arguments.json:
        print_json(_document(story, findings))
    return Exit.DONE if findings.are_good else Exit.FAILED


def _pauses(console: Console, arguments: argparse.Namespace) -> Pauses:
    if arguments.web:
        return IN_PAGE
    return IN_TERMINAL if console.is_terminal else Pauses()


async def _page_opened(console: Console, client: Client, *, only_print: bool) -> None:
    """Opens the web page and waits until a browser has connected."""
    status = await client.request("sidecar/status")
    before = status["clients"]
    address = await client.request("sidecar/loginUrl", listen=True)
    show_page(address["url"], Path(status["stateDir"]), only_print=only_print)
    console.print("It begins when the page is there; Ctrl-C ends it.")
    while True:
        if (await client.request("sidecar/status"))["clients"] > before:
            return
        await anyio.sleep(_LOOK_AGAIN_S)


async def _until_interrupted(console: Console) -> None:
    """Keeps the page available until Ctrl-C."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        console.print("The page stays until you press Ctrl-C.")
        async for _ in signals:
            return


def _console(arguments: argparse.Namespace) -> Console:
    if arguments.json:
        return Console(quiet=True, force_terminal=False)
    return plain_console() if arguments.plain else stdout_console()


async def _show_timeline(console: Console, client: Client, thread_id: str) -> None:
    page = await client.request("timeline/read", threadId=thread_id, expand="all")
    entries = msgspec.convert(page["entries"], list[TimelineEntry])
    points = [
        entry.trim_point_id for entry in entries if isinstance(entry, ContextTrimPointDivider)
    ]
    marks = Marks(trim_points={point: number for number, point in enumerate(points, 1)})
    for row in timeline_rows(entries, marks):
        console.print(row)


def _document(story: Story, findings: Findings) -> dict[str, Any]:
    steps = [
        {
            "command": step.command,
            "message": step.message,
            "modelInput": [_row(row) for row in step.rows],
        }
        for step in story.steps
    ]
    return {
        "steps": steps,
        "prunedTextFound": findings.leaked,
        "keptTextMissing": findings.missing,
        "ok": findings.are_good,
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "role": row.role,
        "text": row.text,
        "before": bool(row.seen[0]),
        "after": bool(row.seen[-1]),
    }
