"""The first screen of the chat, which is there before the chat: what is typed into it arrives."""

import fcntl
import functools
import itertools
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread
import pytest
from trimpoint.first_frame import Line
from trimpoint.testkit import say
from trimpoint.tui.widgets.driver import ChatDriver

from tests.chat.terminal import chat
from tests.cli.stage import CliHarness
from tests.tui.terminal import PAUSE_S, Terminal, program_in_terminal

READY = "Ask, / for commands"
SIZE = (24, 60)
PASTE = "\x1b[200~two\r\nlines\x1b[201~"


@pytest.mark.parametrize(
    ("typed", "text", "sent"),
    [
        ("hello", "hello", []),
        ("héllo 中\x7f!", "héllo !", []),
        ("one\rtwo", "two", ["one"]),
        ("\r \r", "", []),
        (f"a{PASTE}b", "atwo\r\nlinesb", []),
        ("a\x1b[D\x1b[1;5C\x1bOP\x1bx\x1b\x1b[Ab", "ab", []),
        ("gone\x03kept", "kept", []),
        ("gone\x15kept\x04", "kept", []),
    ],
)
def test_the_picture_of_what_was_typed_is_the_same_however_it_arrives(
    typed: str, text: str, sent: list[str]
) -> None:
    data = typed.encode()
    for cut in itertools.pairwise(range(len(data) + 1)):
        line = Line()
        leaves = [line.feed(data[: cut[1]]), line.feed(data[cut[1] :])]
        assert (line.text, line.sent, line.is_whole, any(leaves)) == (text, sent, True, False)


@pytest.mark.parametrize("key", ["\x03", "\x04", "x\x7f\x04", "x\x03\x03"])
def test_ctrl_c_and_ctrl_d_in_an_empty_line_leave(key: str) -> None:
    assert Line().feed(key.encode())
    assert not Line().feed(f"a prompt\r{key}".encode())


@pytest.mark.parametrize("begun", [b"\x1b", b"\x1b[1;", b"\x1b[200~a", "é".encode()[:1]])
def test_what_has_begun_is_known_to_be_unfinished(begun: bytes) -> None:
    line = Line()
    assert not line.feed(b"a" + begun)
    assert not line.is_whole
    assert line.is_in_paste is (begun == b"\x1b[200~a")


def test_an_escape_that_nothing_follows_at_once_is_the_key() -> None:
    line = Line()
    line.feed(b"a\x1b")
    assert line.settle()
    assert not line.settle()
    line.feed(b"b\x1b[")
    assert not line.settle()
    line.feed(b"D\x1bx")
    assert (line.text, line.is_whole) == ("ab", True)
    line.feed(b"\x1b[200~\x1b")
    assert not line.settle()
    line.feed(b"\x1b[201~")
    assert (line.text, line.is_whole) == ("ab\x1b", True)


def test_a_paste_is_read_part_by_part_and_looked_through_once() -> None:
    looked = list[int]()

    class Counting(Line):
        def _paste(self, came: str, at: int) -> int:
            looked.append(len(came) - at)
            return super()._paste(came, at)

    line, part, parts = Counting(), b"x" * 4_000 + b"\x1b[2", 200
    line.feed(b"\x1b[200~")
    for _ in range(parts):
        line.feed(part)
    line.feed(b"\x1b[201~\x7f\x7f")
    assert line.text == ((part * parts).decode())[:-2]
    assert line.end(5) == "xxxx\x1b"
    assert sum(looked) < 2 * parts * len(part)


def test_no_key_is_waited_for_once_the_terminal_is_no_longer_read() -> None:
    driver, looks = ChatDriver.__new__(ChatDriver), list[float]()

    class Undone(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            looks.append(timeout or 0)
            if len(looks) == 2:
                driver.exit_event.set()
            return False

    driver.exit_event = threading.Event()
    driver._wait_for(Undone())
    driver._wait_for(Undone())
    assert len(looks) == 2


async def test_a_key_is_done_if_the_application_takes_no_more_calls() -> None:
    class Ended:
        def call_later(self, _call: object) -> bool:
            return False

    driver, is_done = ChatDriver.__new__(ChatDriver), threading.Event()
    driver._app = Ended()  # type: ignore[assignment]
    await driver._follow(is_done)
    assert is_done.is_set()


@asynccontextmanager
async def at_once(stage: CliHarness) -> AsyncIterator[Terminal]:
    """Runs the chat, and yields its terminal with the first screen."""
    command, folder = stage.command("chat"), str(stage.worktree)
    async with program_in_terminal(command, stage.environment, folder, SIZE) as terminal:
        await terminal.shows(READY)
        yield terminal


def ended(
    stage: CliHarness,
    typed: bytes,
    *words: str,
    number: int = 0,
    seen: str = READY,
    program: list[str] | None = None,
    **environment: str,
) -> tuple[int, str]:
    """Runs the program in a terminal until it ends; types, or sends the signal of this number, once
    its screen has been seen. Returns its exit code and all that it wrote. The terminal is as it
    was.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
    before, said = termios.tcgetattr(theirs), b""
    process = subprocess.Popen(
        program or stage.command(*words), stdin=theirs, stdout=theirs, stderr=theirs, cwd=stage.worktree,
        env=stage.environment | {"TERM": "xterm-256color"} | environment, start_new_session=True,
    )  # fmt: skip
    try:
        while process.poll() is None:
            while select.select([ours], [], [], 0.02)[0]:
                said += os.read(ours, 65_536)
            if (typed or number) and seen.encode() in said:
                os.write(ours, typed)
                if number:
                    process.send_signal(number)
                typed, number = b"", 0
        while select.select([ours], [], [], 0.02)[0]:
            said += os.read(ours, 65_536)
        assert termios.tcgetattr(theirs) == before
        return process.returncode, said.decode()
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


@pytest.mark.processes
@pytest.mark.parametrize("typed", [b"\x03", b"\x04", b"abc\x03\x03"])
async def test_one_can_leave_before_the_chat_is_there(stage: CliHarness, typed: bytes) -> None:
    code, said = await anyio.to_thread.run_sync(ended, stage, typed, "chat")
    assert code == 0
    assert said.count("\x1b[?1049h") == said.count("\x1b[?1049l") == 1


@pytest.mark.processes
async def test_a_refusal_stands_on_the_person_s_own_screen(stage: CliHarness) -> None:
    async with stage.serving():
        code, said = await anyio.to_thread.run_sync(
            ended, stage, b"x", "chat", "--thread", "0a0a0a0a"
        )
    assert code == 2
    left, _, after = said.rpartition("\x1b[?1049l")
    assert READY in left
    assert "0a0a0a0a" in after


@pytest.mark.processes
@pytest.mark.parametrize(
    ("words", "environment"),
    [(["chat", "--help"], {}), (["version"], {}), (["chat", "--new", "--last"], {"TERM": "dumb"})],
)
async def test_what_prints_and_a_terminal_without_a_cursor_get_no_screen(
    stage: CliHarness, words: list[str], environment: dict[str, str]
) -> None:
    function = functools.partial(ended, stage, b"", *words, **environment)
    assert "\x1b[?1049h" not in (await anyio.to_thread.run_sync(function))[1]


ALONE = "from trimpoint import first_frame; first_frame.show([]); import time; time.sleep(600)"
BROKEN = """
from trimpoint import first_frame
first_frame.FirstFrame._screen = lambda self: 1 // 0
first_frame.show([])
"""
NOWHERE = """
import os, tempfile
from trimpoint import first_frame
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
del os.environ["PWD"]
first_frame.show([])
first_frame.end()
"""


@pytest.mark.processes
@pytest.mark.parametrize(("program", "code"), [(BROKEN, 1), (NOWHERE, 0)])
async def test_the_terminal_is_as_it_was_whatever_the_first_screen_comes_upon(
    stage: CliHarness, program: str, code: int
) -> None:
    function = functools.partial(ended, stage, b"", program=[sys.executable, "-c", program])
    assert (await anyio.to_thread.run_sync(function))[0] == code


@pytest.mark.processes
async def test_a_signal_to_end_finds_the_terminal_as_it_was(stage: CliHarness) -> None:
    function = functools.partial(
        ended, stage, b"", number=signal.SIGTERM, program=[sys.executable, "-c", ALONE]
    )
    code, said = await anyio.to_thread.run_sync(function)
    assert code == -signal.SIGTERM
    assert said.count("\x1b[?1049h") == said.count("\x1b[?1049l") == 1


@pytest.mark.codex
async def test_a_signal_ends_the_chat_with_the_terminal_as_it_was(stage: CliHarness) -> None:
    async with stage.serving():
        function = functools.partial(
            ended, stage, b"", "chat", number=signal.SIGTERM, seen="[new thread]"
        )
        code, said = await anyio.to_thread.run_sync(function)
    assert code == 128 + signal.SIGTERM
    assert "\x1b[?1003l" in said.rpartition("[new thread]")[2]
    assert "\x1b[?1049l" in said.rpartition("[new thread]")[2]


@pytest.mark.codex
async def test_a_letter_typed_after_an_escape_is_a_letter(stage: CliHarness) -> None:
    async with stage.serving(), at_once(stage) as terminal:
        terminal.presses(b"ab\x1b")
        await anyio.to_thread.run_sync(functools.partial(select.select, [], [], [], PAUSE_S))
        terminal.presses(b"z")
        await terminal.shows("[new thread]")
        await terminal.shows("abz")


@pytest.mark.processes
async def test_the_first_screen_follows_the_size_of_the_window(stage: CliHarness) -> None:
    command, folder = [sys.executable, "-c", ALONE], str(stage.worktree)
    async with program_in_terminal(command, stage.environment, folder, SIZE) as terminal:
        await terminal.shows(READY)
        terminal.resize(12, 40)
        terminal.presses("中".encode() * 30)
        await terminal.shows("中中")
        await terminal.shows(
            lambda text: [len(row) for row in text.splitlines() if row[:1] == "╭"] == [40]
        )


@pytest.mark.codex
async def test_keys_that_come_at_once_are_done_in_their_order(stage: CliHarness) -> None:
    stage.script.then(say("An answer."))
    async with stage.serving(), at_once(stage) as terminal:
        await terminal.shows("[new thread]")
        # Textual would insert the letters before it runs what Backspace is bound to.
        terminal.presses(b"prompt-xy\x7f\x7f1.\r")
        await terminal.shows("An answer.")
    assert stage.model.turn_requests()[-1].mentions("prompt-1.")


@pytest.mark.codex
async def test_what_is_typed_before_the_chat_is_there_is_sent_once_and_in_order(
    stage: CliHarness,
) -> None:
    stage.script.then(say("An answer."), say("Another."))
    async with stage.serving(), at_once(stage) as terminal:
        terminal.presses(b"prompt-1x\x7f.\rdraft \x1b[D\x1b[Dy")
        await terminal.shows("An answer.")
        await terminal.shows("drafyt")
        terminal.presses(b"\x1b[F\x15prompt-2.\r")
        await terminal.shows("Another.")
    requests = stage.model.turn_requests()
    assert [request.mentions("prompt-1.") for request in requests] == [True, True]
    assert len(requests) == 2


@pytest.mark.codex
async def test_the_screen_is_as_large_as_the_terminal_whatever_the_environment_says(
    stage: CliHarness,
) -> None:
    async with (
        stage.serving(),
        chat(stage, size=(16, 50), LINES="24", COLUMNS="80") as terminal,
    ):
        for rows, columns in ((16, 50), (12, 40)):
            terminal.resize(rows, columns)
            await terminal.shows(
                lambda text, rows=rows, columns=columns: (
                    text.split("\n")[rows - 2][:1] == "╰"
                    and len(text.split("\n")[rows - 2]) == columns
                )
            )


def is_kept(stage: CliHarness, words: str) -> bool:
    """Returns whether a draft with these words is on disk."""
    kept = (path for path in stage.worktree.parent.rglob("*") if "draft" in str(path))
    return any(words.encode() in path.read_bytes() for path in kept if path.is_file())


@pytest.mark.codex
async def test_a_kept_draft_is_not_sent_with_what_is_typed_before_the_chat_is_there(
    stage: CliHarness,
) -> None:
    stage.script.then(say("An answer."))
    async with stage.serving():
        async with at_once(stage) as terminal:
            await terminal.shows("[new thread]")
            terminal.presses(b"old words")
            await terminal.shows("old words")
            await terminal.shows(lambda _: is_kept(stage, "old words"))
        async with at_once(stage) as terminal:
            terminal.presses(b"prompt-1.\r")
            await terminal.shows("An answer.")
            await terminal.shows(lambda text: "old words" in text.rpartition("An answer.")[2])
    [request] = stage.model.turn_requests()
    assert request.mentions("prompt-1.")
    assert not request.mentions("old words")
