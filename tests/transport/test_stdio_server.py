"""Serving one client over stdin and stdout of every kind."""

import fcntl
import os
import pty
import signal
import socket
import subprocess
import sys
import tty
from pathlib import Path
from typing import TypedDict

import pytest

from tests.deadlines import STEP_S

REQUEST = b'{"id":1,"method":"m"}\n'
ANSWER = b'{"id":1,"result":"m"}\n'

STDIO_SERVER = """
import os, subprocess, sys, anyio
if sys.stdout and not sys.stdout.isatty():
    print("printed before")
from trimpoint.transport.connection import Connection
from trimpoint.transport.limits import Limits
from trimpoint.transport.listeners import StdioClosed, take_stdio
import structlog
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))

def answer(connection, message):
    print("a stray print", flush=True)
    subprocess.run([sys.executable, "-c", "import sys; print('a child read', len(sys.stdin.read()))"])
    connection.answer(message, message.request.method)

async def serve():
    transport = take_stdio()
    try:
        await Connection(transport, Limits(), answer).run()
        print("printed last")
    finally:
        transport.close()

try:
    anyio.run(serve)
except StdioClosed as error:
    sys.exit(f"{error}. {error.hint}")
"""


class ServerCommand(TypedDict):
    args: list[str]
    env: dict[str, str]


def server_command() -> ServerCommand:
    # The print before serving is held back in a buffer, which this variable would switch off.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    return {"args": [sys.executable, "-W", "error", "-c", STDIO_SERVER], "env": environment}


STRAYS = [b"printed before", b"a stray print", b"a child read 0", b"printed last"]


@pytest.mark.processes
def test_over_pipes_nothing_but_answers_reaches_stdout() -> None:
    done = subprocess.run(
        **server_command(), input=REQUEST + REQUEST, capture_output=True, timeout=STEP_S, check=True
    )
    assert done.stdout == ANSWER * 2
    assert all(stray in done.stderr for stray in STRAYS)


@pytest.mark.processes
def test_over_sockets_the_end_of_input_ends_it_after_the_answer() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = subprocess.Popen(
                **server_command(),
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
            )
        ours.settimeout(STEP_S)
        ours.sendall(REQUEST)
        ours.shutdown(socket.SHUT_WR)
        assert ours.makefile("rb").read() == ANSWER
        assert process.wait(STEP_S) == 0


@pytest.mark.processes
def test_files_are_read_and_written_from_where_they_stand(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"skipped\n" + REQUEST)
    (tmp_path / "out").write_bytes(b"kept\n")
    with (
        (tmp_path / "in").open("rb", buffering=0) as source,
        (tmp_path / "out").open("r+b") as sink,
    ):
        source.seek(8)
        sink.seek(5)
        subprocess.run(
            **server_command(),
            stdin=source,
            stdout=sink,
            stderr=subprocess.DEVNULL,
            timeout=STEP_S,
            check=True,
        )
    assert (tmp_path / "out").read_bytes() == b"kept\n" + ANSWER


@pytest.mark.processes
def test_no_input_at_all_ends_it() -> None:
    done = subprocess.run(
        **server_command(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=STEP_S,
        check=True,
    )
    assert done.stdout == b""


@pytest.mark.processes
def test_on_a_terminal_it_answers_and_leaves_the_terminal_blocking() -> None:
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    process = subprocess.Popen(
        **server_command(), stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL
    )
    try:
        os.write(ours, REQUEST)
        text = b""
        while not text.endswith(b"\n"):
            text += os.read(ours, 1000)
        assert text == ANSWER
        assert not fcntl.fcntl(theirs, fcntl.F_GETFL) & os.O_NONBLOCK
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(STEP_S)
        os.close(ours)
        os.close(theirs)


@pytest.mark.processes
@pytest.mark.parametrize("fd", [0, 1])
def test_without_stdin_or_stdout_it_says_what_is_missing(fd: int) -> None:
    command = server_command()
    command["args"] = ["sh", "-c", f'exec "$@" {fd}>&-', "sh", *command["args"]]
    done = subprocess.run(**command, capture_output=True, timeout=STEP_S, check=False)
    assert done.returncode == 1
    assert f"file descriptor {fd}: is closed".encode() in done.stderr


@pytest.mark.processes
def test_a_closed_stderr_is_no_trouble() -> None:
    command = server_command()
    command["args"] = ["sh", "-c", 'exec "$@" 2>&-', "sh", *command["args"]]
    done = subprocess.run(**command, input=REQUEST, capture_output=True, timeout=STEP_S, check=True)
    assert done.stdout == ANSWER
