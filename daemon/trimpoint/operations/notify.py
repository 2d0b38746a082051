"""Runs a program of the person's when something happens that they may want to know of: an agent
asks, a turn has ended, the context is critical, the daemon has trimmed by itself, a compaction has
failed (docs/configuration.md, `[notify]`).

The program reads what happened from its environment, never from its arguments, so that no word of a
title is taken for a command. It cannot harm the daemon: it is run once at a time and in
`PAUSE_S` for each thread and kind of event, ended after a deadline, and what it prints is not read.
"""

import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from errno import ENOENT
from typing import Literal

import anyio
import structlog
from anyio.abc import TaskGroup

from trimpoint.background import spawn
from trimpoint.core.context.context_size import reported_level
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState
from trimpoint.programs import find_program
from trimpoint.threads.registry import ThreadRegistry

log = structlog.get_logger()

Kind = Literal["done", "asks", "critical", "automatic", "failed"]
"""The end of a turn; a question of the agent; a context that has become critical; an automatic
trim; a compaction that has failed.
"""
Run = Callable[[Sequence[str], Mapping[str, str]], Awaitable[None]]

LONGEST_RUN_S = 30.0
PAUSE_S = 5.0
_SAID: dict[Kind, str] = {
    "done": "The agent has finished.",
    "asks": "The agent asks for an answer.",
    "critical": "The context is nearly full.",
    "automatic": "The context was trimmed automatically.",
    "failed": "A compaction has failed; nothing was changed.",
}


class Notifications:
    """Runs `command` for the `events` that a person has chosen."""

    def __init__(
        self,
        registry: ThreadRegistry,
        command: Sequence[str],
        events: Sequence[Kind],
        tasks: TaskGroup,
        run: Run | None = None,
    ) -> None:
        self._registry = registry
        self._command = command
        self._events = frozenset(events)
        self._tasks = tasks
        self._run = run or run_program
        self._critical: set[str] = set()
        self._running: set[tuple[str, Kind]] = set()
        registry.subscribe(self._on_record)

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        writer = self._registry.loaded(thread_id)
        if writer is None:
            return
        for kind in self._kinds(writer.state, record):
            if kind in self._events and (thread_id, kind) not in self._running:
                self._running.add((thread_id, kind))
                spawn(self._tasks, self._notify, kind, environment(kind, writer.state))

    def _kinds(self, state: ThreadState, record: ev.Record) -> Iterator[Kind]:
        for event in record.events:
            match event:
                case ev.TurnCompleted():
                    yield "done"
                case ev.RequestOpened():
                    yield "asks"
                case ev.CompactionFailed():
                    yield "failed"
                case ev.TrimPointCreated(trigger="auto" | "overflow"):
                    yield "automatic"
                case ev.ContextMasked(trigger="autoMask"):
                    yield "automatic"
                case ev.UsageReported() if self._has_become_critical(state):
                    yield "critical"
                case _:
                    continue

    def _has_become_critical(self, state: ThreadState) -> bool:
        was_critical = state.id in self._critical
        is_critical = reported_level(state, self._registry.policy) == "critical"
        (self._critical.add if is_critical else self._critical.discard)(state.id)
        return is_critical and not was_critical

    async def _notify(self, kind: Kind, told: Mapping[str, str]) -> None:
        try:
            with anyio.fail_after(LONGEST_RUN_S):
                await self._run(self._command, told)
        except (OSError, TimeoutError) as error:
            detail = str(error) or f"it had not ended after {LONGEST_RUN_S:g} s"
            log.warning("notification_failed", command=self._command[0], detail=detail)
        await anyio.sleep(PAUSE_S)
        self._running.discard((told["TRIMPOINT_THREAD"], kind))


def environment(kind: Kind, state: ThreadState) -> dict[str, str]:
    """Returns what the program is told. The title is the thread's name; nothing of the conversation
    is passed on.
    """
    return {
        "TRIMPOINT_EVENT": kind,
        "TRIMPOINT_SAID": _SAID[kind],
        "TRIMPOINT_THREAD": state.id,
        "TRIMPOINT_TITLE": state.name or os.path.basename(state.cwd) or state.cwd,
        "TRIMPOINT_FOLDER": state.cwd,
    }


async def run_program(command: Sequence[str], told: Mapping[str, str]) -> None:
    """Runs the program until it has ended, and ends it when the caller's time is over.

    :raises OSError: when it cannot be started.
    """
    program = find_program(command[0])
    if program is None:
        raise FileNotFoundError(ENOENT, "There is no such program in PATH", command[0])
    process = await anyio.open_process(
        [str(program), *command[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **told},
        start_new_session=True,
    )
    try:
        status = await process.wait()
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with anyio.CancelScope(shield=True):
            await process.wait()
        raise
    if status:
        log.warning("notification_failed", command=command[0], detail=f"exit code {status}")
