"""Checks folders and sockets: the runtime folder, the state directory and its daemon, and the
socket.
"""

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec
from trimpoint_protocol.errors import Reason

from trimpoint.doctor import kernel
from trimpoint.doctor.findings import Finding, Installation, fail, ok, warn
from trimpoint.system import SYSTEM
from trimpoint.transport.listeners import MAX_SOCKET_PATH_BYTES

_LOW_BYTES = 500 * 1024 * 1024
_FULL_BYTES = 20 * 1024 * 1024
_ANSWER_WITHIN_S = 5.0
_ELSEWHERE = "Name another place with --state-dir (TRIMPOINT_STATE_DIR)."
_QUESTION = b'{"id":1,"method":"sidecar/status"}\n'


class _ErrorData(msgspec.Struct, frozen=True):
    reason: str = ""


class _Error(msgspec.Struct, frozen=True):
    data: _ErrorData = _ErrorData()


class _Answer(msgspec.Struct, frozen=True):
    error: _Error = _Error()


def check_runtime_folder(installation: Installation) -> Iterator[Finding]:
    """Yields whether this user's runtime folder can be used for the socket."""
    named = installation.environ.get("XDG_RUNTIME_DIR")
    if not named:
        hint = "The socket is in the state directory instead, which works as well."
        yield Finding("ok", "XDG_RUNTIME_DIR is not set", hint)
        return
    problem = _unsafe(Path(named))
    if problem is None:
        yield ok(named, path=named)
    else:
        yield warn(
            "unsafe folder",
            f"{named} {problem}",
            "Log in again, or unset XDG_RUNTIME_DIR.",
            path=named,
        )


def check_state_directory(installation: Installation) -> Iterator[Finding]:
    """Yields whether the state directory exists, is private and writable, and has free space."""
    path = installation.state_dir
    if not path.exists():
        yield _absent_state_directory(path)
        return
    problem = _unsafe(path)
    if problem is not None:
        hint = f"No daemon starts on it. {_remedy(path)}"
        yield fail("unsafe folder", f"{path} {problem}", hint, path=str(path), exists=True)
    elif not os.access(path, os.W_OK):
        yield fail(
            "not writable",
            f"{path} cannot be written to",
            "Commands are refused until it can. Is the file system read-only?",
            path=str(path),
        )
    else:
        yield _room(path)


def _absent_state_directory(path: Path) -> Finding:
    facts = {"path": str(path), "exists": False}
    parent = next(folder for folder in path.parents if folder.exists())
    if not parent.is_dir():
        return fail(
            "no folder to be made in",
            f"{path} cannot be made: {parent} is not a folder",
            _ELSEWHERE,
            **facts,
        )
    if not os.access(parent, os.W_OK | os.X_OK):
        return fail(
            "not writable",
            f"{path} cannot be made: {parent} cannot be written to",
            _ELSEWHERE,
            **facts,
        )
    return ok(f"{path} is not there yet; the first daemon makes it", **facts)


def _remedy(path: Path) -> str:
    """Returns advice about a folder that `_unsafe` rejects."""
    if not path.is_dir():
        return f"Move it away, or do without it. {_ELSEWHERE}"
    owner = path.stat().st_uid
    if owner == os.geteuid():
        return f"Make it yours alone: chmod 700 {path}"
    if os.geteuid() == 0:
        return f"You are root here: run trimpoint as uid {owner}, without sudo. {_ELSEWHERE}"
    return _ELSEWHERE


def _room(path: Path) -> Finding:
    found = os.statvfs(path)
    free_bytes = found.f_bavail * found.f_frsize
    facts = {"path": str(path), "exists": True, "freeBytes": free_bytes}
    text = f"{path}, {free_bytes / 1024**3:.1f} GiB free"
    if free_bytes < _FULL_BYTES or (found.f_files and not found.f_favail):
        return fail(
            "full",
            f"{text}: full",
            "Commands are refused until there is room. Nothing that was acknowledged is lost.",
            **facts,
        )
    if free_bytes < _LOW_BYTES:
        return warn("soon full", f"{text}: soon full", "Make room on this file system.", **facts)
    if SYSTEM.is_on_network(path):
        hint = "Use a folder of this machine (TRIMPOINT_STATE_DIR): a network can break locks."
        return warn("on another machine", f"{text}: on the disk of another machine", hint, **facts)
    return ok(text, **facts)


def daemon_pid(installation: Installation) -> int | None:
    """Returns the id of the process that holds the state directory's lock, 0 if that process is not
    visible from here, or None if there is none.
    """
    holders = kernel.lock_holders(installation.state_dir / "lock")
    return holders[0] if holders else None


def check_daemon(installation: Installation) -> Iterator[Finding]:
    """Yields whether a daemon is running on the state directory."""
    pid = daemon_pid(installation)
    if pid is None:
        yield ok("none runs on this state directory", pid=None)
        return
    holder = kernel.process(pid)
    yield ok(
        f"pid {pid} ({holder.label})"
        if holder is not None
        else "one that cannot be seen from here",
        pid=pid,
    )


def check_socket(installation: Installation) -> Iterator[Finding]:
    """Yields whether clients can connect to the socket, or why they cannot."""
    path, facts = installation.socket, {"path": str(installation.socket)}
    size_bytes = len(os.fsencode(path))
    if size_bytes > MAX_SOCKET_PATH_BYTES:
        hint = "Give a shorter --socket, for example below $XDG_RUNTIME_DIR."
        yield fail(
            "path too long",
            f"{path} is {size_bytes} bytes long; at most {MAX_SOCKET_PATH_BYTES} are possible",
            hint,
            **facts,
        )
        return
    if path.parent.exists() and (problem := _unsafe(path.parent)) is not None:
        yield fail(
            "unsafe folder",
            f"its folder {path.parent} {problem}",
            "Give a --socket in a folder that only you can write to.",
            **facts,
        )
        return
    try:
        found = path.lstat()
    except FileNotFoundError:
        yield _absent_socket(installation)
        return
    yield _present_socket(installation, found)


def _absent_socket(installation: Installation) -> Finding:
    path = installation.socket
    pid = daemon_pid(installation)
    if pid is None:
        hint = "Nothing to do, or: trimpoint serve, trimpoint daemon service install."
        return Finding(
            "ok", f"no process listens at {path}", hint, {"path": str(path), "listening": False}
        )
    end = f"`kill {pid}`" if pid else "SIGTERM"
    hint = (
        "Either the daemon listens at another path, which `trimpoint daemon status` finds, or its "
        f"socket was removed: then end it with {end}, and the next command starts another."
    )
    return warn(
        "absent while a daemon runs",
        f"{path} is not there, but a daemon runs",
        hint,
        path=str(path),
        listening=False,
    )


def _present_socket(installation: Installation, found: os.stat_result) -> Finding:
    path, facts = installation.socket, {"path": str(installation.socket), "owner": found.st_uid}
    if not stat.S_ISSOCK(found.st_mode):
        return fail(
            "not a socket",
            f"{path} exists and is not a socket",
            "Move it away, or give another --socket.",
            **facts,
        )
    if found.st_uid != os.geteuid():
        return fail(
            "of another user",
            f"{path} belongs to uid {found.st_uid}",
            "Have it removed by its owner, or give another --socket.",
            **facts,
        )
    if not kernel.is_listening(path):
        return warn(
            "left over",
            f"{path} is left over: no process listens there",
            "The next daemon replaces it.",
            **facts,
            listening=False,
        )
    pid = daemon_pid(installation)
    if pid is None:
        # Connecting would start it.
        return ok(
            f"{path}: another process listens, perhaps systemd, which starts a daemon for the "
            "first client",
            **facts,
            listening=True,
        )
    problem = _why_no_answer(path)
    if problem is not None:
        return fail(
            "no answer",
            f"{path}: {problem}",
            "Look at the daemon's log; end it with SIGTERM if it is stuck.",
            **facts,
            listening=True,
        )
    return ok(f"{path}: the daemon answers", **facts, listening=True)


def _why_no_answer(path: Path) -> str | None:
    """Returns why no daemon answers at the socket, or None if one does. The request comes before
    `initialize`, so it is refused and starts nothing.
    """
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(_ANSWER_WITHIN_S)
        try:
            sock.connect(os.fspath(path))
            sock.sendall(_QUESTION)
            with sock.makefile("rb") as answers:
                answer = msgspec.json.decode(answers.readline(64 * 1024), type=_Answer)
        except TimeoutError:
            return f"no answer within {_ANSWER_WITHIN_S:.0f} s"
        except (OSError, msgspec.MsgspecError) as error:
            return f"no answer: {error}"
    return (
        None
        if answer.error.data.reason == Reason.NOT_INITIALIZED
        else "what answers is not a trimpoint daemon, or has too many clients"
    )


def _unsafe(folder: Path) -> str | None:
    found = folder.lstat()
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(found.st_mode) and not folder.is_dir():
        return "is not a folder"
    if folder.is_symlink():
        found = folder.stat()
        mode = stat.S_IMODE(found.st_mode)
    if found.st_uid != os.geteuid():
        return f"belongs to uid {found.st_uid}"
    if mode & 0o022:
        return f"can be written to by others (mode {mode:04o})"
    return None
