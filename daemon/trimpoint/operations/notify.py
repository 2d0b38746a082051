"""Tells a person elsewhere when something happens that they may want to know of: an agent asks, a
turn has ended, the context is critical, the daemon has trimmed by itself, a compaction has failed
(docs/configuration.md, `[notify]`). A program of theirs is run, or a webhook is posted to.

The program reads what happened from its environment, never from its arguments, so that no word of a
title is taken for a command. Neither can harm the daemon: each is called once at a time and in
`PAUSE_S` for each thread and kind of event, and given up after a deadline; what it answers is not
read.
"""

import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from errno import ENOENT
from functools import partial
from itertools import product
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

import anyio.to_thread
import msgspec
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


class Way(NamedTuple):
    """A way to tell the person. `tell` is given what happened, as `environment` names it; it raises
    OSError when it fails. `name` is for the log.
    """

    name: str
    tell: Callable[[Mapping[str, str]], Awaitable[None]]


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
    """Tells the `events` that a person has chosen in each of the `ways`."""

    def __init__(
        self,
        registry: ThreadRegistry,
        ways: Sequence[Way],
        events: Sequence[Kind],
        tasks: TaskGroup,
    ) -> None:
        self._registry = registry
        self._ways = ways
        self._events = frozenset(events)
        self._tasks = tasks
        self._critical: set[str] = set()
        self._running: set[tuple[str, str, Kind]] = set()
        if ways:
            registry.subscribe(self._on_record)

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        writer = self._registry.loaded(thread_id)
        if writer is None:
            return
        for kind, way in product(self._kinds(writer.state, record), self._ways):
            running = (way.name, thread_id, kind)
            if kind in self._events and running not in self._running:
                self._running.add(running)
                told = environment(kind, writer.state)
                spawn(self._tasks, self._notify, way, told, running)

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

    async def _notify(
        self, way: Way, told: Mapping[str, str], running: tuple[str, str, Kind]
    ) -> None:
        try:
            with anyio.fail_after(LONGEST_RUN_S):
                await way.tell(told)
        except (OSError, TimeoutError) as error:
            detail = str(error) or f"it had not ended after {LONGEST_RUN_S:g} s"
            log.warning("notification_failed", way=way.name, detail=detail)
        await anyio.sleep(PAUSE_S)
        self._running.discard(running)


def ways_to_tell(command: Sequence[str], webhook: str) -> list[Way]:
    """Returns the ways that a person has chosen; an empty `command` or `webhook` is none."""
    ways: list[Way] = []
    if command:
        ways.append(Way(command[0], partial(run_program, command)))
    if webhook:
        # The path of a webhook is often its password, so it is not logged.
        ways.append(Way(urlsplit(webhook).netloc.rpartition("@")[2], partial(post, webhook)))
    return ways


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

    :raises OSError: when it cannot be started, or fails.
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
        raise OSError(f"exit code {status}")


async def post(url: str, told: Mapping[str, str]) -> None:
    """Posts what happened as a JSON object: `event`, `said`, `thread`, `title`, `folder`, and in
    `text`, which chat services show, the title and what happened.

    :raises OSError: when there is no answer, or one that is no success.
    """
    content = {name.removeprefix("TRIMPOINT_").lower(): value for name, value in told.items()}
    content["text"] = f"{content['title']}: {content['said']}"
    # A server that never ends its answer keeps a thread, and nobody waiting.
    await anyio.to_thread.run_sync(_post, url, msgspec.json.encode(content), abandon_on_cancel=True)


def _post(url: str, body: bytes) -> None:
    # They would cost the start of the daemon too much.
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    request = Request(url, body, {"Content-Type": "application/json"})
    try:
        urlopen(request, timeout=LONGEST_RUN_S).close()
    except HTTPError as error:
        with error:
            raise OSError(f"it answered with {error.code} {error.reason}") from error
    except (HTTPException, ValueError) as error:
        raise OSError(f"no HTTP answer: {error}") from error
