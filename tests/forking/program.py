"""The fork server: a Python that has imported what `trimpoint` imports, and becomes a process of
trimpoint in each of its forks.

    python program.py SOCKET_FD PADDING

It runs by itself, without the modules of the tests. For each request it makes a child of the
process that asked (CLONE_PARENT), which that process waits for, signals and kills like one that it
has started itself. The fork continues with this module's last line, as `python -m trimpoint` would.

Always true: it has one thread, and a fork has nothing of the server's but its imports.
"""

import atexit
import ctypes
import gc
import io
import json
import os
import platform
import resource
import runpy
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

_CLONE_PARENT = 0x8000
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}[platform.machine()]
_ABOVE = 200  # where descriptors wait until those that the fork asked for are in place
# What a process of trimpoint imports late, if at all, and what not every machine has.
_NOT_IMPORTED = ("trimpoint.testkit", "trimpoint.desktop", "trimpoint.__main__", "trimpoint.tui")
# With it, Python itself starts the measurement of coverage when it starts.
_MEASURED = "COVERAGE_PROCESS_CONFIG"
_STANDARD = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def _import_all() -> None:
    # structlog takes rich for tracebacks if there is one, which the daemon prevents.
    sys.modules["rich"] = None  # type: ignore[assignment]
    import structlog  # noqa: F401

    del sys.modules["rich"]
    with suppress(ModuleNotFoundError):
        import coverage  # noqa: F401
    import anyio._backends._asyncio  # noqa: F401
    import jsonrpcserver  # noqa: F401
    import rich.console  # noqa: F401
    import trimpoint
    import trimpoint_protocol

    for package in (trimpoint, trimpoint_protocol):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith(_NOT_IMPORTED):
                with suppress(ModuleNotFoundError):  # an extra that is not installed
                    import_module(module.name)


def _serve(server: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Answers each request with the process id of a fork, until nobody is left who could ask.
    Returns in the fork, with the request and the descriptors that came with it.
    """
    python = ctypes.PyDLL(None, use_errno=True)
    python.syscall.restype = ctypes.c_long
    while True:
        data, descriptors, _, _ = socket.recv_fds(server, 64, 64)
        if not data:
            sys.exit()
        with open(descriptors[0], "rb") as content:
            request = json.load(content)
        python.PyOS_BeforeFork()
        pid = python.syscall(_SYS_CLONE, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
        if pid == 0:
            python.PyOS_AfterFork_Child()
            server.detach()
            return request, descriptors[1:]
        error = ctypes.get_errno() if pid < 0 else 0
        python.PyOS_AfterFork_Parent()
        for descriptor in descriptors[1:]:
            os.close(descriptor)
        server.send(json.dumps({"pid": pid, "errno": error}).encode())


def _place(descriptors: list[int], numbers: list[int]) -> None:
    """Makes these the fork's only descriptors, with these numbers."""
    import fcntl

    waiting = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, _ABOVE) for one in descriptors]
    for one, number in zip(waiting, numbers, strict=True):
        os.dup2(one, number)
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in numbers:
            with suppress(OSError):
                os.close(int(name))


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Makes the fork what a program is that has just been started."""
    _place(descriptors, request["numbers"])
    if request["new_session"]:
        os.setsid()
    if request["process_group"] is not None:
        os.setpgid(0, request["process_group"])
    os.umask(request["umask"])
    for number, limits in request["limits"]:
        resource.setrlimit(number, limits)
    for number in request["ignored_signals"]:
        signal.signal(number, signal.SIG_IGN)
    if signal.SIGINT not in request["ignored_signals"]:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, request["blocked_signals"])
    os.chdir(request["cwd"])
    os.environb.clear()
    os.environb.update(
        (name.encode("latin-1"), value.encode("latin-1")) for name, value in request["environment"]
    )
    time.tzset()
    sys.path[:] = [request["cwd"], *request["path"], *_own_path()]
    words = request["command"]
    sys.orig_argv[:] = words
    sys.argv[:] = words[1:2] + words[3:]
    _show_command(words)
    for fd, (name, mode) in enumerate(_STANDARD):
        stream = _standard_stream(fd, name, mode)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if _MEASURED in os.environ:
        import coverage

        coverage.process_startup()


def _own_path() -> Iterator[str]:
    """Returns `sys.path` without this program's folder and PYTHONPATH."""
    given = _STARTED_WITH_PATH.split(os.pathsep)
    return (entry for entry in sys.path[1:] if entry not in given)


def _standard_stream(fd: int, name: str, mode: str) -> io.TextIOWrapper | None:
    """Returns what Python itself makes of a standard stream."""
    try:
        os.fstat(fd)
    except OSError:
        return None
    unbuffered = mode == "w" and bool(os.environ.get("PYTHONUNBUFFERED"))
    buffer: Any = open(fd, f"{mode}b", 0 if unbuffered else -1, closefd=False)  # noqa: SIM115
    raw = buffer if unbuffered else buffer.raw
    raw.name = f"<{name}>"
    is_terminal = raw.isatty()
    stream = io.TextIOWrapper(
        buffer,
        encoding=sys.__stderr__.encoding,
        errors="backslashreplace" if name == "stderr" else getattr(sys, name).errors,
        newline=None if mode == "r" else "\n",
        line_buffering=not unbuffered and (is_terminal or name == "stderr"),
        write_through=unbuffered,
    )
    stream.mode = mode  # type: ignore[misc]
    return stream


def _show_command(words: list[str]) -> None:
    """Writes the command line where other processes read it, over this program's own."""
    with open("/proc/self/stat", "rb") as stat:
        fields = stat.read().rpartition(b")")[2].split()
    begin, end = int(fields[45]), int(fields[46])
    line = b"\0".join(os.fsencode(word) for word in words)[: end - begin - 1]
    ctypes.memmove(begin, line.ljust(end - begin, b"\0"), end - begin)


def _exit(code: Any) -> None:
    """Does what Python does at its end, except for taking apart what it has imported, which takes
    a fork longer than its command. Returns where something else than that is to be done.
    """
    if code is None or isinstance(code, int):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit((code or 0) & 0xFF)


if __name__ == "__main__":
    _STARTED_WITH_PATH = os.environ.get("PYTHONPATH", "")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    _import_all()
    gc.collect()
    gc.freeze()
    if len(os.listdir("/proc/self/task")) != 1:
        sys.exit("The fork server has more than one thread.")
    _connection = socket.socket(fileno=int(sys.argv[1]))
    _connection.send(b"ready")
    _become(*_serve(_connection))
    try:
        runpy._run_module_as_main("trimpoint")  # type: ignore[attr-defined]  # what `-m` runs
    except SystemExit as ended:
        _exit(ended.code)
        raise
