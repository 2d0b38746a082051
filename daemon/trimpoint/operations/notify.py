"""Tells a person elsewhere when something happens that they may want to know of: an agent asks, a
turn has ended, the context is critical, the daemon has trimmed by itself, a compaction has failed
(docs/configuration.md, `[notify]`). Clients show it, a program of theirs is run, or a webhook is
posted to. All say the same words, which are here.

The program reads what happened from its environment, never from its arguments, so that no word of a
title is taken for a command. None can harm the daemon: each is called once at a time and in
`PAUSE_S` for each thread and kind of event, and given up after a deadline; what it answers is not
read. What happens meanwhile is told once, afterwards, so that the last end of a turn is not missed.
"""

import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from errno import ENOENT
from functools import partial
from itertools import product
from typing import NamedTuple, get_args
from urllib.parse import urlsplit

import anyio.to_thread
import msgspec
import structlog
from anyio.abc import TaskGroup
from trimpoint_protocol.shapes.notices import Notice, NoticeKind

from trimpoint.background import spawn
from trimpoint.config.sections import NotifySection
from trimpoint.core.context.context_size import reported_level
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import asks
from trimpoint.core.model.state import ThreadState
from trimpoint.programs import find_program
from trimpoint.threads.catalogue import first_prompt
from trimpoint.threads.registry import ThreadRegistry

log = structlog.get_logger()

EVERY_KIND: tuple[NoticeKind, ...] = get_args(NoticeKind)


class Call(NamedTuple):
    """What is called once at a time: the name of a way, for a thread and a kind of event."""

    way: str
    thread_id: str
    kind: NoticeKind


class Way(NamedTuple):
    """A way to tell the person the `kinds` that they have chosen for it. `tell` raises OSError when
    it fails. `name` is for the log.
    """

    name: str
    tell: Callable[[Notice], Awaitable[None]]
    kinds: Sequence[NoticeKind]


LONGEST_RUN_S = 30.0
PAUSE_S = 5.0
_pause = anyio.sleep
_SAID: dict[NoticeKind, str] = {
    "done": "The agent has finished.",
    "asks": "The agent asks for an answer.",
    "critical": "The context is nearly full.",
    "automatic": "The context was trimmed automatically.",
    "failed": "A compaction has failed; nothing was changed.",
}
_ENDED = {"failed": "The turn has failed.", "interrupted": "The turn was interrupted."}


class Notifications:
    """Tells what happens in each of the `ways`. `has_prompts`: a thread without a name goes by its
    first prompt.
    """

    def __init__(
        self,
        registry: ThreadRegistry,
        ways: Sequence[Way],
        tasks: TaskGroup,
        *,
        has_prompts: bool = False,
    ) -> None:
        self._registry = registry
        self._ways = ways
        self._tasks = tasks
        self._has_prompts = has_prompts
        self._critical: set[str] = set()
        self._running: dict[Call, Notice | None] = {}
        registry.subscribe(self._on_record)

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        writer = self._registry.loaded(thread_id)
        if writer is None:
            return
        for kind, way in product(self._kinds(writer.state, record), self._ways):
            if kind not in way.kinds:
                continue
            call, notice = Call(way.name, thread_id, kind), self._notice(kind, writer.state)
            if call in self._running:
                self._running[call] = notice
            else:
                self._running[call] = None
                spawn(self._tasks, self._notify, way, notice, call)

    def _notice(self, kind: NoticeKind, state: ThreadState) -> Notice:
        name = state.name or (first_prompt(state) if self._has_prompts else "")
        ended = _ENDED.get(state.turns[-1].status) if kind == "done" and state.turns else None
        return Notice(
            thread_id=state.id,
            event=kind,
            said=ended or _SAID[kind],
            title=_printable(name) or os.path.basename(state.cwd) or state.cwd,
            folder=state.cwd,
        )

    def _kinds(self, state: ThreadState, record: ev.Record) -> Iterator[NoticeKind]:
        for event in record.events:
            match event:
                # Else it was read back, or broken off, or its work goes on.
                case ev.TurnCompleted(items_heard=True, error_kind=kind) if kind != ev.PAUSED:
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

    async def _notify(self, way: Way, notice: Notice, call: Call) -> None:
        latest: Notice | None = notice
        while latest is not None:
            self._running[call] = None
            try:
                with anyio.fail_after(LONGEST_RUN_S):
                    await way.tell(latest)
            except (OSError, TimeoutError) as error:
                detail = str(error) or f"it had not ended after {LONGEST_RUN_S:g} s"
                log.warning("notification_failed", way=way.name, detail=detail)
            await _pause(PAUSE_S)
            latest = self._running[call]
            if latest is not None and not self._is_true(latest):
                latest = None
        del self._running[call]

    def _is_true(self, notice: Notice) -> bool:
        """Returns whether what happened is still so: a question may have been answered."""
        writer = self._registry.loaded(notice.thread_id)
        return notice.event != "asks" or (writer is not None and asks(writer.state) is not None)


def ways_to_tell(section: NotifySection) -> list[Way]:
    """Returns the ways that a person has configured; an empty command or webhook is none."""
    ways: list[Way] = []
    if command := section.command:
        ways.append(Way(command[0], partial(run_program, command), section.events))
    if webhook := section.webhook:
        # The path of a webhook is often its password, so it is not logged.
        host = urlsplit(webhook).netloc.rpartition("@")[2]
        ways.append(Way(host, partial(post, webhook), section.events))
    return ways


def _printable(text: str) -> str:
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def _environment(notice: Notice) -> dict[str, str]:
    return {
        "TRIMPOINT_EVENT": notice.event,
        "TRIMPOINT_SAID": notice.said,
        "TRIMPOINT_THREAD": notice.thread_id,
        "TRIMPOINT_TITLE": notice.title,
        "TRIMPOINT_FOLDER": notice.folder,
    }


async def run_program(command: Sequence[str], notice: Notice) -> None:
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
        env={**os.environ, **_environment(notice)},
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


async def post(url: str, notice: Notice) -> None:
    """Posts what happened as a JSON object: `event`, `said`, `thread`, `title`, `folder`, and in
    `text`, which chat services show, the title and what happened.

    :raises OSError: when there is no answer, or one that is no success.
    """
    told = _environment(notice)
    content = {name.removeprefix("TRIMPOINT_").lower(): value for name, value in told.items()}
    content["text"] = f"{notice.title}: {notice.said}"
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
