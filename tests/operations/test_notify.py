"""What is told a person elsewhere when something happens: which events, by a program of theirs and
by a webhook.
"""

import json
import os
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Self

import anyio.to_thread
import msgspec
import pytest
from trimpoint.config.sections import NotifySection, ThreadsSection
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.operations import notify
from trimpoint.operations.notify import (
    EVERY_KIND,
    Notifications,
    Way,
    run_program,
    ways_to_tell,
)
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter
from trimpoint_protocol.shapes.notices import Notice, NoticeKind

from tests.codex.children import ending_of, has_ended
from tests.deadlines import STEP_S
from tests.threads.stage import THREAD, Disk, Store, begin, turn

HAPPENED = Notice(
    thread_id=THREAD, event="asks", said="The agent asks.", title='a "shop"', folder="/shop"
)
FULL = ev.UsageReported("T1", 950, 950, 1_000, 940, 0, 10, 0)
SMALL = ev.UsageReported("T1", 100, 1_050, 1_000, 90, 0, 10, 0)


class Told(list[Notice]):
    """What the program was told, one notice a run. A run ends when `released` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.released = anyio.Event()
        self.released.set()

    async def tell(self, notice: Notice) -> None:
        self.append(notice)
        await self.released.wait()

    @property
    def kinds(self) -> list[str]:
        return [one.event for one in self]


@asynccontextmanager
async def watched(
    told: Told, kinds: Sequence[NoticeKind] = EVERY_KIND, *, has_prompts: bool = False
) -> AsyncGenerator[ThreadWriter]:
    async with (
        ThreadRegistry.running(Store(Disk()), Policy(), ThreadsSection(300.0)) as registry,
        anyio.create_task_group() as tasks,
    ):
        ways = [Way("tell-me", told.tell, kinds)]
        Notifications(registry, ways, tasks, has_prompts=has_prompts)
        with anyio.fail_after(STEP_S):
            yield await begin(registry)
            tasks.cancel_scope.cancel()


async def record(writer: ThreadWriter, *facts: ev.AnyEvent) -> None:
    """Records facts, and lets what they start run."""
    writer.record_facts(*facts)
    await writer.flush()
    await anyio.wait_all_tasks_blocked()


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        ("done", turn("T1")),
        ("asks", (ev.RequestOpened("Q", "item/commandExecution/requestApproval"),)),
        ("critical", (ev.TurnStarted("T1", 1), FULL)),
    ],
)
async def test_each_event_is_reported_once(
    kind: NoticeKind, facts: tuple[ev.AnyEvent, ...]
) -> None:
    told = Told()
    async with watched(told) as writer:
        await record(writer, *facts)
    assert told.kinds == [kind]
    (only,) = told
    assert (only.thread_id, only.title, only.folder) == (THREAD, "/", "/")
    assert only.said.endswith(".")


async def test_a_turn_that_was_read_back_or_broken_off_is_not_reported() -> None:
    told = Told()
    async with watched(told) as writer:
        missed = ev.TurnCompleted("T1", "interrupted", None, items_heard=False)
        await record(writer, ev.TurnStarted("T1", 1), missed)
    assert told == []


@pytest.mark.parametrize("has_prompts", [False, True])
async def test_a_prompt_is_the_title_of_a_thread_without_a_name_only_where_asked(
    has_prompts: bool,
) -> None:
    told = Told()
    async with watched(told, has_prompts=has_prompts) as writer:
        prompt = ev.EntryRecorded("T1", "E1", "message", "user", "my\x00secret\n plan")
        await record(writer, ev.TurnStarted("T1", 1), prompt, ev.TurnCompleted("T1", "completed"))
    assert [one.title for one in told] == ["my secret plan" if has_prompts else "/"]


async def test_what_was_not_asked_for_is_not_reported() -> None:
    told = Told()
    async with watched(told, ["asks"]) as writer:
        await record(writer, *turn("T1"), ev.TurnStarted("T2", 1), FULL)
    assert told == []


async def test_a_context_is_told_to_be_critical_once_until_it_has_been_smaller() -> None:
    told = Told()
    async with watched(told, ["critical"]) as writer:
        await record(writer, ev.TurnStarted("T1", 1), FULL)
        await record(writer, FULL)
        assert told.kinds == ["critical"]
        await record(writer, SMALL)
    assert told.kinds == ["critical"]


async def test_a_program_that_hangs_is_run_once_and_keeps_nobody_waiting() -> None:
    told = Told()
    told.released = anyio.Event()
    async with watched(told, ["done"]) as writer:
        for number in range(50):
            await record(writer, *turn(f"T{number}"))
        assert told.kinds == ["done"]


class Pauses:
    """Takes the place of the pauses after a notice; each ends when the test says so."""

    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[None]()

    async def sleep(self, _seconds: float) -> None:
        await self._receive.receive()

    async def end(self) -> None:
        """Ends a pause, and lets what waited for it run."""
        await self._send.send(None)
        await anyio.wait_all_tasks_blocked()

    def close(self) -> None:
        self._send.close()
        self._receive.close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pauses]:
    found = Pauses()
    monkeypatch.setattr(notify, "_pause", found.sleep)
    yield found
    found.close()


async def test_what_happens_soon_after_is_reported_once_after_the_pause(pauses: Pauses) -> None:
    told = Told()
    async with watched(told, ["done"]) as writer:
        for number in range(5):
            await record(writer, *turn(f"T{number}"))
        assert told.kinds == ["done"]
        await pauses.end()
        assert told.kinds == ["done", "done"]
        await pauses.end()
        await record(writer, *turn("T5"))
        assert told.kinds == ["done", "done", "done"]


@pytest.mark.parametrize("is_answered", [True, False])
async def test_a_question_that_was_answered_during_the_pause_is_not_reported(
    pauses: Pauses, is_answered: bool
) -> None:
    told = Told()
    async with watched(told, ["asks"]) as writer:
        for question in ("Q1", "Q2"):
            method = "item/commandExecution/requestApproval"
            await record(writer, ev.RequestOpened(question, method))
            if is_answered:
                await record(writer, ev.RequestClosed(question, "answered"))
        await pauses.end()
        assert told.kinds == ["asks"] * (1 if is_answered else 2)


async def test_a_program_that_fails_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify, "PAUSE_S", 0.0)
    told = Told()

    async def broken(notice: Notice) -> None:
        told.append(notice)
        raise FileNotFoundError(2, "There is no such program")

    monkeypatch.setattr(told, "tell", broken)
    async with watched(told, ["done"]) as writer:
        await record(writer, *turn("T1"))
        await record(writer, *turn("T2"))
        assert told.kinds == ["done", "done"]


def test_the_settings_name_the_events_that_there_are() -> None:
    assert set(NotifySection().events) < set(EVERY_KIND)


@pytest.mark.processes
async def test_the_program_reads_what_happened_from_its_environment(tmp_path: Path) -> None:
    title = "$(touch hacked); `touch hacked`"
    script = f'printf "%s|%s" "$TRIMPOINT_EVENT" "$TRIMPOINT_TITLE" >{tmp_path}/told'
    with anyio.fail_after(STEP_S):
        await run_program(["sh", "-c", script], msgspec.structs.replace(HAPPENED, title=title))
    assert (tmp_path / "told").read_text() == f"asks|{title}"
    assert not (tmp_path / "hacked").exists()


@pytest.mark.processes
async def test_a_program_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    started = anyio.Path(tmp_path / "started")
    os.mkfifo(started)
    script = f"sleep 1000 & echo $! >{started}; wait"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_program, ["sh", "-c", script], HAPPENED)
        with anyio.fail_after(STEP_S):
            child = int(await started.read_text())
        with ending_of(child) as ending:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await has_ended(ending)


async def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="no such program"):
        await run_program(["no-such-program-anywhere"], HAPPENED)


class Service:
    """An HTTP server on the loopback that keeps what is posted, and answers with `status`."""

    def __init__(self, status: int) -> None:
        posted = self.posted = list[tuple[str, bytes]]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                posted.append((self.headers["Content-Type"], self.rfile.read(size)))
                self.send_response(status)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Prints nothing."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/secret"

    async def __aenter__(self) -> Self:
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await anyio.to_thread.run_sync(self._server.shutdown)
        self._thread.join()
        self._server.server_close()


async def test_a_webhook_is_posted_what_happened() -> None:
    async with Service(204) as service:
        [way] = ways_to_tell(NotifySection(webhook=service.url))
        await way.tell(HAPPENED)
    [(kind, body)] = service.posted
    assert kind == "application/json"
    assert json.loads(body) == {
        "event": "asks",
        "said": "The agent asks.",
        "thread": THREAD,
        "title": 'a "shop"',
        "folder": "/shop",
        "text": 'a "shop": The agent asks.',
    }


async def test_a_webhook_that_refuses_or_is_not_there_fails_and_its_path_is_not_logged() -> None:
    async with Service(403) as service:
        [way] = ways_to_tell(NotifySection(webhook=service.url))
        with pytest.raises(OSError, match="403"):
            await way.tell(HAPPENED)
    with pytest.raises(OSError, match="refused"):
        await way.tell(HAPPENED)
    assert way.name == service.url.split("/")[2]


async def test_a_webhook_that_hangs_keeps_no_program_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notify, "PAUSE_S", 0.0)
    hanging, quick = Told(), Told()
    hanging.released = anyio.Event()
    async with (
        ThreadRegistry.running(Store(Disk()), Policy(), ThreadsSection(300.0)) as registry,
        anyio.create_task_group() as tasks,
    ):
        ways = [Way("webhook", hanging.tell, ["done"]), Way("program", quick.tell, ["done"])]
        Notifications(registry, ways, tasks)
        writer = await begin(registry)
        await record(writer, *turn("T1"))
        await record(writer, *turn("T2"))
        assert (hanging.kinds, quick.kinds) == (["done"], ["done", "done"])
        tasks.cancel_scope.cancel()


def test_a_webhook_is_a_url() -> None:
    with pytest.raises(ValueError, match="http"):
        NotifySection(webhook="file:///etc/passwd")
