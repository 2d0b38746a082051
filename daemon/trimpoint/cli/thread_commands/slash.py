"""Runs the commands of the shell that are slash commands too: each is sent to the daemon as if it
were typed in a chat.
"""

import argparse
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import msgspec
from rich.text import Text
from trimpoint_protocol.lenient import as_dict, as_list
from trimpoint_protocol.methods import CommandDraft, CommandOutcome

from trimpoint.cli import keyboard
from trimpoint.cli.connection.client import Client, ConnectionLost, PendingAnswer, RemoteError
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.exits import Exit, UsageError
from trimpoint.cli.json_output import as_shown
from trimpoint.cli.parsing.context_arguments import turns_named, typed
from trimpoint.cli.terminal import (
    one_line,
    print_json,
    print_line,
    printable,
    stderr_console,
    stdout_console,
)
from trimpoint.cli.thread_commands.drafts import decide, refuse_without_terminal, taken
from trimpoint.cli.thread_commands.named_ids import thread_of
from trimpoint.cli.thread_commands.thread_choice import print_thread
from trimpoint.cli.views.spinner import Spinner
from trimpoint.cli.views.timeline_view import summary_panel
from trimpoint.core.commands.clear import Clear
from trimpoint.core.commands.declaration import Command
from trimpoint.core.commands.parsing import parse
from trimpoint.core.commands.revert import Revert
from trimpoint.core.model.decision import counted
from trimpoint.core.model.spelling import Spelling, undo_text
from trimpoint.core.views.outcome_text import done_text

_CANCEL_DEADLINE_S = 10.0
_GOES_ON = "It continues in the daemon: see trimpoint daemon status."
_MAX_FILES = 20
_ENDINGS = {
    "completed": ("✓", "green", Exit.DONE),
    "skipped": ("–", "yellow", Exit.SKIPPED),
    "failed": ("✗", "red", Exit.FAILED),
}


def run(arguments: argparse.Namespace) -> int:
    """Runs a command that is declared in `core/commands`."""
    text = typed(arguments)
    parsed = parse(text)
    if isinstance(parsed, Command) and parsed.is_of_all:
        return with_daemon(arguments, partial(_of_all, arguments, text))
    return with_daemon(arguments, partial(_type, arguments, text))


async def _of_all(arguments: argparse.Namespace, text: str, client: Client) -> int:
    if arguments.thread is not None or arguments.last:
        raise UsageError("--by and --since sum all threads.", "Leave the thread out.")
    return await carry_out(client, None, text, as_json=arguments.json)


async def _type(arguments: argparse.Namespace, text: str, client: Client) -> int:
    thread = await thread_of(client, arguments, turns_named(arguments), changes=True)
    if not arguments.json:
        print_thread(thread, arguments)
    return await carry_out(client, thread.id, text, as_json=arguments.json)


async def carry_out(
    client: Client, thread_id: str | None, text: str, *, as_json: bool = False
) -> Exit:
    """Runs a slash command, shows its outcome, and returns the exit code that it has.

    A `/clear` or `/revert` that names no turn asks a person who can answer.

    :param thread_id: None if there is no thread; the daemon refuses what needs one.

    :raises UsageError: when the person chose nothing.
    """
    parsed = parse(text)
    if isinstance(parsed, Command) and not as_json and not keyboard.is_there():
        refuse_without_terminal(parsed)
    if as_json:
        answer = await _answered(client, thread_id, text)
        print_json(as_shown({"threadId": thread_id, **answer}))
        return _ending(msgspec.convert(answer, CommandOutcome))[2]
    if thread_id is not None and keyboard.is_there():
        text = await _with_number(client, thread_id, text)
    async with _progress(client, text) as spinner:
        answer = await _answered(client, thread_id, text, spinner)
    outcome = msgspec.convert(answer, CommandOutcome)
    if outcome.draft is not None and keyboard.is_there():
        return await _decide(client, thread_id, outcome.draft)
    return show_outcome(outcome, answer)


async def _decide(client: Client, thread_id: str | None, draft: CommandDraft) -> Exit:
    """Has the person decide about a draft, and carries it out."""
    decided = await decide(draft.text, can_be_anew=draft.anew is not None)
    if decided.is_guidance:
        return await carry_out(client, thread_id, f"{draft.anew} {decided.text}")
    accept = f"{draft.accept} {decided.text}"
    return await taken(decided.text, lambda: carry_out(client, thread_id, accept))


async def _with_number(client: Client, thread_id: str, text: str) -> str:
    """Returns a command with the turn that it does not name, and any other as it is."""
    parsed = parse(text)
    if not isinstance(parsed, Clear | Revert) or not parsed.is_unnamed:
        return text
    found = await client.request("orchestration/snapshot", threadId=thread_id, turns=0)
    name, _, switches = text.partition(" ")
    if isinstance(parsed, Clear):
        number = await _turns_to_keep(int(found["thread"]["activeTurnCount"]))
    else:
        number = await _turn_to_go_back_to(int(found["thread"]["turnCount"]))
    return text if number is None else f"{name} {number} {switches}".strip()


async def _turns_to_keep(count: int) -> int | None:
    if count < 2:
        return None
    return await _number(
        f"The agent's context has {count} turns. How many of the last ones stay? [0] ",
        0,
        UsageError(
            "Nothing was chosen, so nothing was cleared.",
            "`trimpoint clear 3` keeps the last 3 turns, `trimpoint clear 0` none.",
        ),
    )


async def _turn_to_go_back_to(count: int) -> int | None:
    if count < 1:
        return None
    return await _number(
        f"The conversation has {counted(count, 'turn')}. After which one does it go on? "
        f"[{count - 1}] ",
        count - 1,
        UsageError(
            "Nothing was chosen, so nothing was reverted.",
            "`trimpoint revert 3` goes back to after turn 3, `revert 0` to the beginning.",
        ),
    )


async def _number(question: str, otherwise: int, unanswered: UsageError) -> int:
    while True:
        stderr_console().print(question, end="", markup=False, highlight=False)
        line = await keyboard.typed_line()
        if line is None:
            raise unanswered
        if line.isdecimal() or not line:
            return int(line or otherwise)


async def _answered(
    client: Client, thread_id: str | None, text: str, spinner: Spinner | None = None
) -> dict[str, Any]:
    """Sends a command and returns the daemon's answer. Ctrl-C cancels a compaction whose summary
    the model is still writing, and prints the outcome.
    """
    before = len(client.messages)
    begun = client.begin("commands/execute", threadId=thread_id, text=text)
    try:
        return dict(await begun.result())
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            said = await _cancelled(client, begun, before)
            if spinner is not None:
                spinner.hide()  # it would share its line with the sentence
            print_line(Text(said, "yellow"))
        raise


async def _cancelled(client: Client, begun: PendingAnswer, before: int) -> str:
    """Interrupts a command after Ctrl-C and returns its outcome as a sentence. `before` is how many
    messages there were: those of an earlier command name another operation.
    """
    with anyio.move_on_after(_CANCEL_DEADLINE_S):
        try:
            step = await client.received("commands/progress", after=before)
            operation_id = step["params"]["operationId"]
            await client.request("commands/cancel", operationId=operation_id)
            outcome = await begun.result_as(CommandOutcome)
        except (RemoteError, ConnectionLost):
            return _GOES_ON
        if outcome.status != "completed":
            return "Cancelled. The agent's context is as it was."
        return f"Too late to cancel: {one_line(done_text(outcome, Spelling.SHELL) or 'it is done')}"
    return _GOES_ON


@asynccontextmanager
async def _progress(client: Client, text: str) -> AsyncGenerator[Spinner]:
    """Shows the daemon's progress messages beside a spinner while the block runs; nothing if no
    person watches.
    """
    spinner = Spinner(stderr_console(), one_line(text, 60))
    async with anyio.create_task_group() as tasks:

        async def follow() -> None:
            seen = len(client.messages)
            while True:
                step = await client.received("commands/progress", after=seen)
                seen = client.messages.index(step, seen) + 1
                spinner.doing = one_line(step["params"]["message"]).rstrip(".")

        tasks.start_soon(follow)
        try:
            spinner.show()
            yield spinner
        finally:
            spinner.hide()
            tasks.cancel_scope.cancel()


def show_outcome(outcome: CommandOutcome, answer: Mapping[str, Any] | None = None) -> Exit:
    """Prints an outcome and returns its exit code. `answer` has its files."""
    glyph, colour, code = _ending(outcome)
    message = printable(done_text(outcome, Spelling.SHELL))
    stdout_console().print(Text.assemble((f"{glyph} ", f"bold {colour}"), message))
    if outcome.blocker is not None and outcome.blocker.kind == "turn":
        stdout_console().print(Text("  Stop it with: trimpoint interrupt", "dim"))
    for line in _file_lines(as_dict((answer or {}).get("files"))):
        stdout_console().print(line)
    if outcome.summary:
        stdout_console().print(summary_panel("Summary", outcome.summary))
    if outcome.undo:
        stdout_console().print(Text(undo_text(outcome.undo, Spelling.SHELL)))
    return code


def _file_lines(files: Mapping[str, Any]) -> Iterator[Text]:
    """Yields a line for each file that was changed, or would be: a sign and its path."""
    for kind, sign, style in (
        ("written", "~", "yellow"),
        ("removed", "-", "red"),
        ("kept", "=", "dim"),
    ):
        paths = as_list(files.get(kind))
        for path in paths[:_MAX_FILES]:
            yield Text(
                f"  {sign} {one_line(str(path))}{'  (kept as it is)' if kind == 'kept' else ''}",
                style,
            )
        if len(paths) > _MAX_FILES:
            yield Text(f"  {sign} … and {len(paths) - _MAX_FILES} more", style)


def _ending(outcome: CommandOutcome) -> tuple[str, str, Exit]:
    if outcome.reason == "usage":
        return "✗", "red", Exit.USAGE
    return _ENDINGS.get(outcome.status or "failed", _ENDINGS["failed"])
