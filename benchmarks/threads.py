"""Writes threads with a long history as a daemon would, but without waiting for the disk."""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.journal.storage.file_ops import SystemFiles
from trimpoint.operations.provider.settings import initial_settings
from trimpoint.threads.ids import new_uuid7
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

# Written out now and then, so that no batch grows without bound.
TURNS_A_BATCH = 1000
READ = "The file has a function that greets, and one that does not. " * 8
TurnEvents = Callable[[str], tuple[ev.AnyEvent, ...]]


class Unsynced(SystemFiles):
    """File operations without syncs, because durability does not matter here."""

    def datasync(self, fd: int) -> None:
        """Does nothing."""

    def sync_directory(self, path: Path) -> None:
        """Does nothing."""


class Grown(NamedTuple):
    """A thread to write, and its number of turns.

    `rollout_path` is the path of its rollout, if Codex has one; `newest_turn_id` is the last turn
    in that rollout, with which the ledger must end, so that the daemon does not find turns that it
    missed.
    """

    thread_id: str
    cwd: str
    rollout_path: str | None
    turns: int
    newest_turn_id: str | None = None


async def grow(state_dir: Path, threads: list[Grown], events: TurnEvents | None = None) -> None:
    """Writes the journals of these threads, and the catalogue, into a state directory. `events`
    returns those of a turn; None means `turn_events`.
    """
    async with _registry(state_dir) as registry:
        for thread in threads:
            writer = await _create(registry, thread)
            await write_turns(writer, thread.turns, thread.newest_turn_id, events or turn_events)


async def fill_with_idle(state_dir: Path, how_many: int) -> None:
    """Writes `how_many` threads of one turn each."""
    async with _registry(state_dir) as registry:
        for _ in range(how_many):
            await write_turns(
                await _create(registry, Grown(new_uuid7(), "/work", "/rollout", 1)), 1
            )


@asynccontextmanager
async def _registry(state_dir: Path) -> AsyncGenerator[ThreadRegistry]:
    async with ThreadRegistry.running(
        StateDirectory(state_dir, files=Unsynced()), Policy()
    ) as registry:
        yield registry


async def _create(registry: ThreadRegistry, thread: Grown) -> ThreadWriter:
    params = {"cwd": thread.cwd, "approvalPolicy": "never", "sandbox": "danger-full-access"}
    return await registry.create(
        internal.CreateThread(
            thread_id=thread.thread_id,
            cwd=thread.cwd,
            origin="started",
            settings=initial_settings(params, thread.cwd),
            provider_thread_id=thread.thread_id,
            rollout_path=thread.rollout_path,
            raw_events=True,
        )
    )


async def write_turns(
    writer: ThreadWriter,
    turns: int,
    newest_turn_id: str | None = None,
    events: TurnEvents | None = None,
) -> None:
    """Appends turns with these events, of two messages each if `events` is None."""
    of_turn = events or turn_events
    stem = f"{time.time_ns():x}"
    for number in range(turns):
        is_newest = number == turns - 1
        name = (newest_turn_id if is_newest else None) or f"{stem}-{number}"
        writer.record_facts(*of_turn(name))
        if number % TURNS_A_BATCH == 0:
            await writer.flush()
    await writer.flush()


def turn_events(turn_id: str) -> tuple[ev.AnyEvent, ...]:
    """Returns the six events of a turn."""
    prompt, answer = "What does this do?", "It greets whoever is named, and the world otherwise."
    return (
        ev.TurnStarted(turn_id, 1),
        ev.EntryRecorded(turn_id, f"{turn_id}-u", "message", "user", prompt),
        ev.EntryRecorded(turn_id, f"{turn_id}-a", "message", "assistant", answer),
        ev.ContextItemsRecorded(
            turn_id,
            (_item("user", "input_text", prompt), _item("assistant", "output_text", answer)),
        ),
        ev.UsageReported(turn_id, 1200, 1200, 272_000),
        ev.TurnCompleted(turn_id, "completed"),
    )


def _item(role: str, part: str, text: str) -> bytes:
    return msgspec.json.encode(
        {"type": "message", "role": role, "content": [{"type": part, "text": text}]}
    )


def turn_with_a_read(turn_id: str) -> tuple[ev.AnyEvent, ...]:
    """Returns the events of a turn with a file that was read."""
    call, item = f"{turn_id}-c", msgspec.json.encode
    shown = {"type": "commandExecution", "id": call, "command": "cat a.py", "status": "completed"}
    prompt, answer = "What does this do?", "It greets whoever is named, and the world otherwise."
    items = (
        _message("user", "input_text", prompt),
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": call},
        {"type": "function_call_output", "call_id": call, "output": READ},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": answer}],
        },
    )
    return (
        ev.TurnStarted(turn_id, 1),
        ev.EntryRecorded(turn_id, f"{turn_id}-u", "message", "user", prompt),
        ev.EntryRecorded(turn_id, call, "activity", "commandExecution", "cat a.py", item(shown)),
        ev.EntryRecorded(turn_id, f"{turn_id}-a", "message", "assistant", answer),
        ev.ContextItemsRecorded(turn_id, tuple(map(item, items))),
        ev.UsageReported(turn_id, 1200, 200_000, 272_000),
        ev.TurnCompleted(turn_id, "completed"),
    )


def _message(role: str, part: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": part, "text": text}]}
