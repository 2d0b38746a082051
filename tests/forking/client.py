"""Makes processes of `trimpoint` that a test starts forks of one Python that has imported it, which
saves each of them its imports. They are real processes, and children of the test's own process.
Where coverage is measured in them, a fork measures itself from its first line.

`subprocess.Popen` asks for a fork where it is given exactly `[sys.executable, "-m", "trimpoint", …]`
and nothing that a fork cannot be given. Everything else is started as always, and so is all in the
modules that `EXECUTED` names.
"""

import json
import os
import platform
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any, BinaryIO

PROGRAM = Path(__file__).with_name("program.py")
ROOT = Path(__file__).parents[2]
SOURCES = [str(ROOT / "daemon"), str(ROOT / "protocol")]
COMMAND = [sys.executable, "-m", "trimpoint"]
# What Python reads of its environment when it starts, which is over when it forks.
READ_AT_START = ("PYTHON", "LC_", "LANG")
MEASURED = "COVERAGE_PROCESS_CONFIG"
LONGEST_COMMAND_LINE = 4096
MACHINES = {"x86_64", "aarch64"}  # whose system calls `program.py` knows
# Modules about how a program of ours starts, whose processes are no forks.
EXECUTED = {
    "benchmarks": "they measure programs as they are",
    "cli/arguments/test_command_line.py": "what Python does with closed streams, a full disk and Ctrl-C at start",
    "cli/arguments/test_imports.py": "what a command imports",
    "cli/daemon/test_plain_system.py": "the operating system is chosen at the import",
    "cli/daemon/test_signals.py": "signals at every instant of the start",
    "cli/daemon/test_upgrade.py": "another version is imported",
}
LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]


class ForkServerError(Exception):
    """The fork server has ended. The message has what it wrote."""


class ForkServer:
    """The server of this process, started when the first fork is wanted. It ends with this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._written: BinaryIO | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def fork(self, request: dict[str, Any], descriptors: list[int]) -> int:
        """Makes a child of this process, and returns its id."""
        with self._lock, tempfile.TemporaryFile() as content:
            if self._owner != os.getpid():
                self._start()
            assert self._connection is not None
            content.write(json.dumps(request).encode())
            content.flush()
            content.seek(0)
            try:
                socket.send_fds(self._connection, [b"fork"], [content.fileno(), *descriptors])
                answer = json.loads(self._answer())
            except OSError:
                raise self._ended() from None
        if answer["pid"] < 0:
            raise OSError(answer["errno"], os.strerror(answer["errno"]))
        return int(answer["pid"])

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._written = tempfile.TemporaryFile()  # noqa: SIM115
        environment = {name: value for name, value in os.environ.items() if name != MEASURED}
        with theirs:
            self._process = subprocess.Popen(
                # The last argument makes room for the command lines that other processes are shown.
                [sys.executable, str(PROGRAM), str(theirs.fileno()), "-" * LONGEST_COMMAND_LINE],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._written,
                stderr=self._written,
                env=environment | {"PYTHONPATH": os.pathsep.join(SOURCES)},
                cwd="/",
            )
        self._connection, self._owner = ours, os.getpid()
        assert self._answer() == b"ready"

    def _answer(self) -> bytes:
        assert self._connection is not None
        answer = self._connection.recv(4096)
        if not answer:
            raise self._ended()
        return answer

    def _ended(self) -> ForkServerError:
        assert self._process is not None
        assert self._written is not None
        assert self._connection is not None
        self._owner = 0  # the next one who asks starts another
        self._connection.close()
        with self._written as written:
            written.seek(0)
            said = written.read().decode(errors="replace")
        return ForkServerError(f"The fork server ended with {self._process.wait()}: {said}")


_server = ForkServer()
_execute: Callable[..., None] = subprocess.Popen._execute_child  # type: ignore[attr-defined]
_signature = signature(_execute)


class Forking:
    """Whether processes of trimpoint are forked; set for each test."""

    enabled = False

    @classmethod
    def set_for(cls, module: str) -> None:
        """Sets it for a test in this module, named by its path in `tests`."""
        known = sys.platform == "linux" and platform.machine() in MACHINES
        cls.enabled = known and not module.startswith(tuple(EXECUTED))


def _execute_child(popen: Any, *arguments: Any, **named: Any) -> None:
    """Does what `Popen._execute_child` does, by a fork where that is the same."""
    asked = _signature.bind(popen, *arguments, **named).arguments
    request = _request(asked) if Forking.enabled else None
    if request is None:
        _execute(popen, *arguments, **named)
        return
    sys.audit("subprocess.Popen", sys.executable, asked["args"], asked["cwd"], asked["env"])
    standard = [asked["p2cread"], asked["c2pwrite"], asked["errwrite"]]
    numbers = {number: number if fd == -1 else fd for number, fd in enumerate(standard)}
    numbers |= {fd: fd for fd in asked["pass_fds"]}
    open_ones = {number: fd for number, fd in numbers.items() if _is_open(fd)}
    request["numbers"] = list(open_ones)
    popen.pid = _server.fork(request, list(open_ones.values()))
    popen._child_created = True
    popen._close_pipe_fds(
        asked["p2cread"], asked["p2cwrite"], asked["c2pread"], asked["c2pwrite"],
        asked["errread"], asked["errwrite"],
    )  # fmt: skip


def _request(asked: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the request for a fork; None if a fork would not be what was asked for."""
    environment = dict(os.environ if asked["env"] is None else asked["env"])
    if not _is_plain(asked) or not _starts_alike(environment):
        return None
    try:
        folder = os.path.join(os.getcwd(), os.fspath(asked["cwd"] or ""))
    except OSError:
        return None
    if not os.access(folder, os.X_OK):
        return None
    ignored = [
        number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN
    ]
    return {
        "command": list(asked["args"]),
        "path": environment["PYTHONPATH"].split(os.pathsep),
        "environment": [[_text(name), _text(value)] for name, value in environment.items()],
        "cwd": folder,
        "umask": _umask() if asked["umask"] < 0 else asked["umask"],
        "new_session": asked["start_new_session"],
        "process_group": None if asked["process_group"] < 0 else asked["process_group"],
        "limits": [[number, resource.getrlimit(number)] for number in LIMITS],
        "ignored_signals": ignored,
        "blocked_signals": list(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    }


def _is_plain(asked: dict[str, Any]) -> bool:
    command = asked["args"]
    return (
        isinstance(command, (list, tuple))  # asyncio gives a tuple
        and list(command[:3]) == COMMAND
        and all(isinstance(word, str) for word in command)
        and asked["executable"] in {None, sys.executable}
        and asked["preexec_fn"] is None
        and asked["close_fds"]
        and not asked["shell"]
        and asked["restore_signals"]
        and all(asked[name] is None for name in ("gid", "gids", "uid"))
    )


def _starts_alike(environment: dict[str, str]) -> bool:
    """Returns whether Python would start with this environment as it does with our own."""
    path = environment.get("PYTHONPATH", "").split(os.pathsep)
    return set(SOURCES).issubset(path) and _read_at_start(environment) == _read_at_start(os.environ)


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(READ_AT_START) and name != "PYTHONPATH"
    }


def _text(value: str) -> str:
    return os.fsencode(value).decode("latin-1")


def _umask() -> int:
    [line] = re.findall(r"^Umask:\s*(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(line, 8)


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


subprocess.Popen._execute_child = _execute_child  # type: ignore[attr-defined]
