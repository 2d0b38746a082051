"""Ends children that a killed daemon left behind, from records on disk.

Always true: a process is signalled only if its pid exists, its start time and boot id are the
recorded ones, and either its arguments name the recorded binary or its environment has the recorded
mark. A pid that was reused fails at least one of these checks. Other processes of the child's group
are recognized by the random mark alone.

Where the system shows no start times, nothing is recorded and nothing is ended; there, a child ends
by itself at the end of its input.
"""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Generator
from pathlib import Path

import anyio
import msgspec

from trimpoint.atomic_files import replace_file
from trimpoint.processes import pidfd_of
from trimpoint.system import SYSTEM

# In the child's environment: `<pid of the daemon>-<random>`. The child's own children inherit it.
CHILD_MARK = "TRIMPOINT_CHILD"

_LOOK_AGAIN_S = 0.001
_LOAD_DEADLINE_S = 2.0


class ChildRecord(msgspec.Struct, frozen=True, rename="camel"):
    """The content of the file `child-<profile key>.pid`, as JSON."""

    pid: int
    start_time_ticks: int
    boot_id: str
    mark: str
    codex: str


def process_start_ticks(pid: int) -> int | None:
    """Returns the start time of a process as the system counts it, or None if there is no such
    process or it cannot be seen.
    """
    try:
        return SYSTEM.facts(pid).started
    except OSError:
        return None


def started_as_provider(environ: dict[str, str], parent_pid: int) -> bool:
    """Returns whether trimpoint started this process as its Codex; it must then not go on, or
    daemons would start without end.

    Only the direct child counts, because commands that an agent runs inherit the mark too, and may
    run trimpoint.
    """
    return re.fullmatch(rf"{parent_pid}-\w+", environ.get(CHILD_MARK, "")) is not None


def record_child(state_dir: Path, profile_key: str, *, pid: int, mark: str, codex: Path) -> None:
    """Records a child that was just spawned, in place of the profile's previous one. The file is
    replaced atomically, with mode 0600.

    :raises OSError: when the folder cannot be written.
    """
    start_time_ticks = process_start_ticks(pid)
    if start_time_ticks is None:
        return
    record = ChildRecord(pid, start_time_ticks, SYSTEM.boot_id(), mark, str(codex))
    replace_file(_record_path(state_dir, profile_key), msgspec.json.encode(record))


def forget_child(state_dir: Path, profile_key: str, *, mark: str) -> None:
    """Removes the record of a child that has ended. The record of another child stays."""
    path = _record_path(state_dir, profile_key)
    record = _read(path)
    if record is not None and record.mark == mark:
        path.unlink(missing_ok=True)


def recorded_children(state_dir: Path) -> list[tuple[ChildRecord, bool]]:
    """Returns every recorded child, and whether it is certain to be running. Ends no process."""
    records = filter(None, map(_read, _record_paths(state_dir)))
    return [(record, _is_ours(record)) for record in records]


async def reap_orphans(
    state_dir: Path, *, term_grace_s: float = 2.0, kill_grace_s: float = 5.0
) -> list[ChildRecord]:
    """Ends every recorded child that is still running, and waits for its end. Call it with the
    state directory locked.

    The child's group gets SIGTERM, and SIGKILL after `term_grace_s` seconds. The record is removed
    once the child has ended; a child that has not ended `kill_grace_s` seconds after SIGKILL,
    because it is stuck in the kernel, keeps its record for the next start.

    :returns: the records of the children that were running and have ended.
    """
    reaped: list[ChildRecord] = []
    for path in _record_paths(state_dir):
        record = _read(path)
        if record is not None:
            ended = await _end(record, term_grace_s, kill_grace_s)
            if ended is False:
                continue
            reaped += [record] if ended else []
            await _kill_members(record)
        path.unlink(missing_ok=True)
    return reaped


def _record_path(state_dir: Path, profile_key: str) -> Path:
    return state_dir / f"child-{profile_key}.pid"


def _record_paths(state_dir: Path) -> list[Path]:
    return sorted(state_dir.glob("child-*.pid"))


def _read(path: Path) -> ChildRecord | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=ChildRecord)
    except (OSError, msgspec.MsgspecError):
        # A record that cannot be read does not identify a process, so none is signalled.
        return None


async def _end(record: ChildRecord, term_grace_s: float, kill_grace_s: float) -> bool | None:
    """Returns whether the recorded child has ended, or None if it was not running."""
    await _program_is_loaded(record.pid)
    with _watched(record) as pidfd:
        if pidfd is None:
            return None
        for number, grace_s in ((signal.SIGTERM, term_grace_s), (signal.SIGKILL, kill_grace_s)):
            _signal_group(record.pid, number)
            with anyio.move_on_after(grace_s):
                await _readable(pidfd)
                return True
    return False


async def _kill_members(record: ChildRecord) -> None:
    """Kills the processes that outlived the child in its process group, recognized by the mark in
    their environment.
    """
    for pid in SYSTEM.pids():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if pid != record.pid == os.getpgid(pid) and await has_mark(pid, record.mark):
                os.kill(pid, signal.SIGKILL)


async def has_mark(pid: int, mark: str) -> bool:
    """Returns whether a process has the mark in its environment. If it is about to execute a
    program it has none yet, so this waits until it has.
    """
    await _program_is_loaded(pid)
    return _assignment(mark) in (SYSTEM.environment(pid) or ())


async def _program_is_loaded(pid: int) -> None:
    with anyio.move_on_after(_LOAD_DEADLINE_S):
        # The kernel reports no event for this.
        while _loads_a_program(pid):  # noqa: ASYNC110
            await anyio.sleep(_LOOK_AGAIN_S)


def _loads_a_program(pid: int) -> bool:
    try:
        is_ended = SYSTEM.facts(pid).is_ended
    except OSError:
        return False
    # The kernel shows a command line once the whole program is in place. It shows that of a
    # hardened process, too, whose environment it hides.
    return not is_ended and SYSTEM.command_line(pid) == [b""]


@contextlib.contextmanager
def _watched(record: ChildRecord) -> Generator[int | None]:
    """Yields a file descriptor that becomes readable when the recorded child ends, or None if the
    child is not running.
    """
    with pidfd_of(record.pid) as pidfd:
        # Checked after the descriptor was opened, so that the descriptor refers to the checked
        # process.
        yield pidfd if _is_ours(record) else None


async def _readable(descriptor: int) -> None:
    ready = anyio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


def _is_ours(record: ChildRecord) -> bool:
    return (
        process_start_ticks(record.pid) == record.start_time_ticks
        and SYSTEM.boot_id() == record.boot_id
        and _looks_like(record)
    )


def _looks_like(record: ChildRecord) -> bool:
    # One of the two is enough: a launcher script executes another binary, and a hardened process
    # hides its environment.
    named = os.fsencode(record.codex) in SYSTEM.command_line(record.pid)
    return named or _assignment(record.mark) in (SYSTEM.environment(record.pid) or ())


def _assignment(mark: str) -> bytes:
    return f"{CHILD_MARK}={mark}".encode()


def _signal_group(leader_pid: int, number: int) -> None:
    # The spawn made the child the leader of a session of its own, so its pid names the group.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader_pid, number)
