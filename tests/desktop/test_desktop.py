"""`trimpoint desktop` as a person starts it: Qt's Chromium without a screen, the real Codex, and
the sidecar at the end of a pipe.

Needs the extra `desktop` (`scripts/install-test-tools` installs it); without it these tests are
skipped. TRIMPOINT_REQUIRE_DESKTOP=1 makes that a failure.
"""

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.abc
import pytest
from trimpoint.http.static_files import BUILT, default_folder
from trimpoint.testkit import say

from tests.cli.stage import CliHarness
from tests.deadlines import SCENARIO_S
from tests.desktop.devtools import DevTools, devtools
from tests.ports import free_port

REQUIRED = bool(os.environ.get("TRIMPOINT_REQUIRE_DESKTOP"))
HAS_QT = find_spec("PySide6") is not None and find_spec("PySide6.QtWebEngineCore") is not None
IS_BUILT = (default_folder() / BUILT).exists()

pytestmark = [pytest.mark.processes, pytest.mark.codex]
needs_qt = pytest.mark.skipif(
    not (HAS_QT and IS_BUILT) and not REQUIRED,
    reason="the extra `desktop` is not installed, or the page is not built (scripts/build-web)",
)


class Desk(NamedTuple):
    """A shown window, and its process."""

    page: DevTools
    process: anyio.abc.Process
    debug_port: int

    def sidecar(self) -> int:
        """Returns the id of the process through which the window reaches the daemon."""
        [pid] = [pid for pid in children_of(self.process.pid) if b"stdio" in command_of(pid)]
        return pid


@asynccontextmanager
async def opened_desk(stage: CliHarness) -> AsyncGenerator[Desk]:
    """Yields a window without a screen."""
    port = free_port()
    environment = stage.environment | {
        "QT_QPA_PLATFORM": "offscreen",
        "QTWEBENGINE_DISABLE_SANDBOX": "1",
        "QTWEBENGINE_REMOTE_DEBUGGING": f"127.0.0.1:{port}",
    }
    with anyio.fail_after(SCENARIO_S):
        async with stage.running("desktop", env=environment) as command, devtools(port) as page:
            yield Desk(page, command.process, port)
            assert page.faults == []
            command.process.terminate()
            assert await command.ended() == 0, command.err
            assert "Traceback" not in command.err


@needs_qt
async def test_the_window_holds_a_conversation_and_opens_no_port(stage: CliHarness) -> None:
    async with stage.daemon() as client, opened_desk(stage) as desk:
        await desk.page.until_shown("No thread is open")
        thread_id = await stage.thread(client)
        await desk.page.evaluate(f"location.hash = '#/thread/{thread_id}'")
        stage.script.then(say("apple-1."), say("pear-2."))
        await desk.page.type("one?")
        await desk.page.until_shown("apple-1.")
        await desk.page.type("/clear 0")
        await desk.page.until_shown("2 messages pruned")
        await desk.page.type("two?")
        await desk.page.until_shown("pear-2.")
        assert "apple-1." not in str(stage.model.turn_requests()[-1].input)
        assert listening_ports(desk.process.pid) <= {desk.debug_port}
        assert listening_ports(desk.sidecar()) == set()


@needs_qt
async def test_the_desktop_is_told_the_daemons_events_in_its_words(stage: CliHarness) -> None:
    async with stage.daemon() as client, opened_desk(stage) as desk:
        await desk.page.until_shown("No thread is open")
        thread_id = await stage.thread(client)
        await desk.page.evaluate(
            "window.sent = [], window.pass = qt.webChannelTransport.send, document.hasFocus = () =>"
            " false, qt.webChannelTransport.send = (line) => { sent.push(line);"
            " pass.call(qt.webChannelTransport, line); }"
        )
        await desk.page.evaluate(f"location.hash = '#/thread/{thread_id}'")
        stage.script.then(say("apple-1."))
        await desk.page.type("one?")
        told = f'[\\"{stage.worktree.name}\\",\\"The agent has finished.\\"]'
        await desk.page.until(f'sent.some((line) => line.includes("{told}"))')


@needs_qt
async def test_the_window_comes_back_when_its_sidecar_is_killed(stage: CliHarness) -> None:
    async with stage.daemon() as client, opened_desk(stage) as desk:
        await desk.page.until_shown("No thread is open")
        thread_id = await stage.thread(client)
        await desk.page.evaluate(f"location.hash = '#/thread/{thread_id}'")
        await desk.page.until("document.querySelector('textarea') !== null")
        for number in range(2):
            os.kill(desk.sidecar(), signal.SIGKILL)
            stage.script.then(say(f"answer-{number}."))
            await stage.turn(client, thread_id, f"prompt-{number}?")
            await desk.page.until_shown(f"answer-{number}.")
        prompts = "[...document.querySelectorAll('.prompt')].map((one) => one.innerText.trim())"
        assert await desk.page.evaluate(prompts) == ["prompt-0?", "prompt-1?"]


@needs_qt
async def test_the_window_starts_a_daemon_where_none_runs_and_again_when_it_is_killed(
    stage: CliHarness,
) -> None:
    async with opened_desk(stage) as desk:
        await desk.page.until_shown("No thread is open")
        [daemon] = stage.background_daemons()
        os.kill(daemon, signal.SIGKILL)
        await desk.page.until_shown("The daemon cannot be reached")
        await desk.page.until("document.querySelector('.connection') === null")
        assert stage.background_daemons() not in ([], [daemon])


async def test_without_qt_the_command_says_how_to_get_it(stage: CliHarness) -> None:
    hidden = stage.folder / "hidden" / "PySide6"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").touch()  # a package without the browser engine
    path = os.pathsep.join([str(hidden.parent), stage.environment["PYTHONPATH"]])
    ended = await stage.run("desktop", PYTHONPATH=path)
    assert ended.code == 1
    assert "[desktop]'" in ended.err


def children_of(pid: int) -> list[int]:
    """Returns the ids of a process's descendants."""
    found = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    for child in list(found):
        found += children_of(child)
    return found


def command_of(pid: int) -> list[bytes]:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


def listening_ports(pid: int) -> set[int]:
    """Returns the TCP ports at which a process listens."""
    links = {
        link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()
    }
    lines = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    listening = "0A"
    return {
        int(row[1].rpartition(":")[2], 16)
        for row in lines
        if row[3] == listening and f"socket:[{row[9]}]" in links
    }
