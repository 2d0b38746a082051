"""`trimpoint threads rename | archive | unarchive | delete | fork` and `trimpoint interrupt`:
commands that act on a whole thread.
"""

import argparse
from functools import partial
from typing import Any

from rich.text import Text
from trimpoint_protocol.methods import SnapshotResult, ThreadOverview
from trimpoint_protocol.readmodel import OrchestrationThread
from trimpoint_protocol.shapes.slash_commands import CancelResult

from trimpoint.cli import keyboard
from trimpoint.cli.connection.client import Client, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.connection.known_threads import here, own_threads
from trimpoint.cli.exits import CliError, Exit, UsageError
from trimpoint.cli.terminal import one_line, print_json, stderr_console, stdout_console
from trimpoint.cli.thread_commands.named_ids import thread_of, turn_number
from trimpoint.cli.thread_commands.thread_choice import chosen_thread, described, print_thread
from trimpoint.core.model.decision import counted
from trimpoint.core.model.spelling import short_id


def run_rename(arguments: argparse.Namespace) -> int:
    """Runs `rename [THREAD] NAME`."""
    if not arguments.name.strip():
        raise UsageError("The name is empty.", "See trimpoint threads rename --help.")
    return with_daemon(arguments, partial(_rename, arguments))


def run_archive(arguments: argparse.Namespace) -> int:
    """Runs `archive [THREAD]`."""
    return with_daemon(arguments, partial(_archive, arguments))


def run_unarchive(arguments: argparse.Namespace) -> int:
    """Runs `unarchive [THREAD]`."""
    return with_daemon(arguments, partial(_unarchive, arguments))


def run_delete(arguments: argparse.Namespace) -> int:
    """Runs `delete THREAD`."""
    if arguments.thread is None:
        raise UsageError(
            "trimpoint threads delete needs a THREAD.", "`trimpoint threads` lists them."
        )
    return with_daemon(arguments, partial(_delete, arguments))


def run_fork(arguments: argparse.Namespace) -> int:
    """Runs `fork [THREAD] [--at TURN]`."""
    return with_daemon(arguments, partial(_fork, arguments))


def run_interrupt(arguments: argparse.Namespace) -> int:
    """Runs `interrupt [THREAD]`."""
    return with_daemon(arguments, partial(_interrupt, arguments), starts=False)


async def _rename(arguments: argparse.Namespace, client: Client) -> int:
    thread = await chosen_thread(client, arguments, changes=True)
    name = " ".join(arguments.name.split())
    await client.request("thread/name/set", threadId=thread.id, name=name)
    return _done(
        arguments, thread, f"{short_id(thread.id)} is now “{one_line(name, 100)}”.", name=name
    )


async def _archive(arguments: argparse.Namespace, client: Client) -> int:
    thread = await chosen_thread(client, arguments, changes=True)
    if thread.archived:
        return _skipped(arguments, thread, f"{short_id(thread.id)} is archived already.")
    await client.request("thread/archive", threadId=thread.id)
    back = f"To undo: trimpoint threads unarchive {short_id(thread.id)}"
    return _done(arguments, thread, f"Archived {described(thread)}.", back)


async def _unarchive(arguments: argparse.Namespace, client: Client) -> int:
    thread = await _archived(arguments, client)
    if not thread.archived:
        return _skipped(arguments, thread, f"{short_id(thread.id)} is not archived.")
    await client.request("thread/unarchive", threadId=thread.id)
    return _done(arguments, thread, f"{described(thread)} is back.")


async def _archived(arguments: argparse.Namespace, client: Client) -> ThreadOverview:
    """Returns the thread that was named, or else the most recently archived one of this place."""
    if arguments.thread is not None or arguments.last:
        return await chosen_thread(client, arguments)
    place = here()
    for thread in await own_threads(client):
        if thread.archived and thread.is_at(place) and thread.overview is not None:
            return thread.overview
    raise CliError(
        f"There is no archived thread in {place}.",
        "`trimpoint threads --all` lists those of all folders.",
        reason="thread_not_found",
    )


async def _delete(arguments: argparse.Namespace, client: Client) -> int:
    thread = await chosen_thread(client, arguments, changes=True)
    if not arguments.yes and not await _is_sure(thread):
        return _skipped(arguments, thread, "Nothing was deleted.")
    await client.request("thread/delete", threadId=thread.id)
    said = (
        f"Deleted {described(thread)} from Codex. Its journal and checkpoints are kept, as "
        "archived."
    )
    return _done(arguments, thread, said)


async def _is_sure(thread: ThreadOverview) -> bool:
    if not keyboard.is_there():
        hint = "Say so with --yes, or archive it: trimpoint threads archive."
        raise UsageError("Deleting a conversation from Codex cannot be undone.", hint)
    question = f"Delete {described(thread)} from Codex, for good? [y/N] "
    stderr_console().print(Text.assemble(("? ", "bold yellow"), question), end="", soft_wrap=True)
    return (await keyboard.typed_line() or "").lower() in {"y", "yes"}


async def _fork(arguments: argparse.Namespace, client: Client) -> int:
    ids = [arguments.at] if arguments.at is not None else []
    thread = await thread_of(client, arguments, ids)
    params: dict[str, Any] = {"threadId": thread.id, "excludeTurns": True}
    until = ""
    if arguments.at is not None:
        number, params["lastTurnId"] = await _turn_named(client, thread, arguments.at)
        until = f" as it was after turn {number}"
    answer = await client.request("thread/fork", **params)
    new_id = str(answer["thread"]["id"])
    said = f"{short_id(new_id)} is a copy of {described(thread)}{until}. The files are shared."
    return _done(
        arguments,
        thread,
        said,
        f"Go on in it: trimpoint ask -t {short_id(new_id)} TEXT",
        newThreadId=new_id,
    )


async def _turn_named(client: Client, thread: ThreadOverview, name: str) -> tuple[int, str]:
    """Returns the number and the id of a turn that the agent still knows."""
    turns = (await _snapshot(client, thread)).turns
    number = await turn_number(client, thread, name)
    if number is None or not 1 <= number <= len(turns):
        raise UsageError(
            f"--at {name}: the thread has {counted(len(turns), 'turn')}.", "See trimpoint timeline."
        )
    if turns[number - 1].trimmed:
        first = next((at for at, turn in enumerate(turns, 1) if not turn.trimmed), None)
        hint = "A copy without --at has all that it still knows."
        said = f"--at {name}: that turn is no longer in the agent's context."
        raise UsageError(
            said, hint if first is None else f"{hint} Turn {first} is the first that it knows."
        )
    return number, turns[number - 1].id


async def _interrupt(arguments: argparse.Namespace, client: Client) -> int:
    thread = await chosen_thread(client, arguments, changes=True)
    found = await _snapshot(client, thread)
    running = [turn for turn in found.turns if turn.status == "running"]
    if not running:
        operation_id = "" if found.operation is None else found.operation.id
        if operation_id and await _cancelled(client, operation_id):
            said = "The compaction was cancelled."
            return _done(arguments, thread, said, operationId=operation_id)
        return _skipped(arguments, thread, "No turn is running.")
    if not arguments.json:
        print_thread(thread, arguments)
    for turn in running:
        await client.request("turn/interrupt", threadId=thread.id, turnId=turn.id)
    return _done(
        arguments, thread, "The turn was interrupted.", turnIds=[turn.id for turn in running]
    )


async def _cancelled(client: Client, operation_id: str) -> bool:
    """Cancels a compaction; returns False for another operation, and for one that has ended."""
    answer = await ask(client, CancelResult, "commands/cancel", operationId=operation_id)
    return answer.cancelled


async def _snapshot(client: Client, thread: ThreadOverview) -> OrchestrationThread:
    found = (await ask(client, SnapshotResult, "orchestration/snapshot", threadId=thread.id)).thread
    assert found is not None
    return found


def _done(
    arguments: argparse.Namespace, thread: ThreadOverview, said: str, hint: str = "", **facts: Any
) -> int:
    if arguments.json:
        print_json({"threadId": thread.id, "status": "completed", **facts})
    else:
        stdout_console().print(Text.assemble(("✓ ", "bold green"), said))
        if hint:
            stdout_console().print(Text(hint))
    return Exit.DONE


def _skipped(arguments: argparse.Namespace, thread: ThreadOverview, said: str) -> int:
    if arguments.json:
        print_json({"threadId": thread.id, "status": "skipped"})
    else:
        stdout_console().print(Text.assemble(("– ", "yellow"), said))
    return Exit.SKIPPED
