"""The code for macOS on a C library of the test's own, which has Apple's layouts as the headers declare
them.
"""

import ctypes
import errno
import fcntl
import os
import socket
from ctypes import Structure, c_char, c_int16, c_int32, c_int64, c_uint32, c_uint64
from pathlib import Path
from typing import Any

import pytest
from trimpoint.system import SYSTEM
from trimpoint.system.darwin import Darwin
from trimpoint.system.port import Credentials, ProcessFacts
from trimpoint.transport.peer_process import ancestor_among

US, OUR_UID = os.getpid(), 501
ZOMBIE = 5


class BsdInfo(Structure):
    """proc_bsdinfo of sys/proc_info.h."""

    _fields_ = [
        *((name, c_uint32) for name in ("flags", "status", "xstatus", "pid", "ppid", "uid", "gid")),
        *((name, c_uint32) for name in ("ruid", "rgid", "svuid", "svgid", "rfu_1")),
        *(("comm", c_char * 16), ("name", c_char * 32)),
        *((name, c_uint32) for name in ("nfiles", "pgid", "pjobc", "tdev", "tpgid")),
        *(("nice", c_int32), ("start_tvsec", c_uint64), ("start_tvusec", c_uint64)),
    ]


class BsdShortInfo(Structure):
    """proc_bsdshortinfo of sys/proc_info.h."""

    _fields_ = [
        *((name, c_uint32) for name in ("pid", "ppid", "pgid", "status")),
        *(("comm", c_char * 16), ("flags", c_uint32), ("uid", c_uint32), ("gid", c_uint32)),
        *((name, c_uint32) for name in ("ruid", "rgid", "svuid", "svgid", "rfu")),
    ]


class TaskInfo(Structure):
    """proc_taskinfo of sys/proc_info.h."""

    _fields_ = [
        *((name, c_uint64) for name in ("virtual_size", "resident_size", "total_user")),
        *((name, c_uint64) for name in ("total_system", "threads_user", "threads_system")),
        *((f"count_{number}", c_int32) for number in range(12)),
    ]


class VnodeInfoPath(Structure):
    """vnode_info_path of sys/proc_info.h: a vnode_info, then the path."""

    _fields_ = [("info", c_char * 152), ("path", c_char * 1024)]


class VnodePathInfo(Structure):
    """proc_vnodepathinfo of sys/proc_info.h."""

    _fields_ = [("cdir", VnodeInfoPath), ("rdir", VnodeInfoPath)]


class Xucred(Structure):
    """xucred of sys/ucred.h."""

    _fields_ = [
        *(("version", c_uint32), ("uid", c_uint32), ("ngroups", c_int16)),
        ("groups", c_uint32 * 16),
    ]


class StatFs(Structure):
    """statfs of sys/mount.h, with 64-bit inode numbers."""

    _fields_ = [
        *(("bsize", c_uint32), ("iosize", c_int32)),
        *((name, c_uint64) for name in ("blocks", "bfree", "bavail", "files", "ffree")),
        *(("fsid", c_int32 * 2), ("owner", c_uint32), ("type", c_uint32), ("flags", c_uint32)),
        *(("fssubtype", c_uint32), ("fstypename", c_char * 16), ("mntonname", c_char * 1024)),
        *(("mntfromname", c_char * 1024), ("flags_ext", c_uint32), ("reserved", c_uint32 * 7)),
    ]


class Kevent(Structure):
    """kevent of sys/event.h."""

    _fields_ = [
        *(("ident", c_uint64), ("filter", c_int16), ("flags", ctypes.c_uint16)),
        *(("fflags", c_uint32), ("data", c_int64), ("udata", c_uint64)),
    ]


class FakeLibc:
    """The calls that are asked for. `children` are the processes, with parent and start."""

    def __init__(self) -> None:
        self.processes = {US: BsdInfo(pid=US, ppid=7, uid=OUR_UID, status=2, start_tvsec=3)}
        self.arguments = b""
        self.watched: list[Kevent] = []
        self.renamed: list[tuple[Any, ...]] = []
        self.refuses = 0
        self.is_local = True

    def proc_listpids(self, kind: int, _: int, buffer: Any, size: int) -> int:
        assert kind == 1
        pids = (c_int32 * (len(self.processes) + 1))(0, *self.processes)
        if buffer is not None:
            ctypes.memmove(buffer, pids, min(size, ctypes.sizeof(pids)))
        return ctypes.sizeof(pids)

    def proc_pidinfo(self, pid: int, kind: int, argument: Any, buffer: Any, size: int) -> int:
        found = self.processes.get(pid)
        if found is None or (found.status == ZOMBIE and not argument.value):
            return self._fails(errno.ESRCH, 0)
        if kind != 13 and found.uid != OUR_UID:
            return self._fails(errno.EPERM, 0)
        cdir = VnodeInfoPath(path=os.fsencode(os.getcwd()))
        kinds: dict[int, Structure] = {
            3: self.processes[pid],
            4: TaskInfo(virtual_size=9, resident_size=4711),
            9: VnodePathInfo(cdir=cdir, rdir=VnodeInfoPath(path=b"/")),
            13: BsdShortInfo(pid=pid, ppid=found.ppid, status=found.status, uid=found.uid, gid=4),
        }
        answer = kinds[kind]
        assert size == ctypes.sizeof(answer)
        ctypes.memmove(buffer, ctypes.byref(answer), size)
        return size

    def sysctl(self, name: Any, _: int, buffer: Any, size: Any, *__: object) -> int:
        assert list(name)[:2] == [1, 49]
        if name[2] not in self.processes:
            return self._fails(errno.EINVAL)
        ctypes.memmove(buffer, self.arguments, len(self.arguments))
        size._obj.value = len(self.arguments)
        return 0

    def sysctlbyname(self, name: bytes, buffer: Any, *_: object) -> int:
        assert name == b"kern.bootsessionuuid"
        ctypes.memmove(buffer, b"AB-CD\0", 6)
        return 0

    def kqueue(self) -> int:
        return os.open(os.devnull, os.O_RDONLY)

    def kevent(self, _: int, change: bytes, count: int, *__: object) -> int:
        assert count == 1
        event = Kevent.from_buffer_copy(change)
        if event.ident not in self.processes:
            return self._fails(errno.ESRCH)
        self.watched.append(event)
        return 0

    def renameatx_np(self, *arguments: Any) -> int:
        *places, flags = arguments
        self.renamed.append((*places, flags.value))
        return self._fails(self.refuses) if self.refuses else 0

    def statfs(self, _: bytes, buffer: Any) -> int:
        found = StatFs(flags=0x1000 if self.is_local else 0, fstypename=b"nfs")
        assert ctypes.sizeof(found) == len(buffer)
        ctypes.memmove(buffer, ctypes.byref(found), len(buffer))
        return 0

    def _fails(self, number: int, result: int = -1) -> int:
        ctypes.set_errno(number)
        return result


@pytest.fixture
def libc() -> FakeLibc:
    """Returns the library of a Mac on which this process runs."""
    return FakeLibc()


@pytest.fixture
def mac(libc: FakeLibc) -> Darwin:
    """Returns the system on it."""
    return Darwin(libc)


def test_processes_are_listed_with_parent_start_user_and_end(mac: Darwin, libc: FakeLibc) -> None:
    libc.processes[9] = BsdInfo(
        pid=9, ppid=US, uid=OUR_UID, status=ZOMBIE, start_tvsec=4, start_tvusec=5
    )
    assert set(mac.pids()) == {US, 9}
    assert mac.facts(US) == ProcessFacts(parent=7, started=3_000_000)
    assert mac.facts(9) == ProcessFacts(parent=US, started=4_000_005, is_ended=True)
    assert (mac.owner(US), mac.owner(9), mac.owner(10)) == (OUR_UID, OUR_UID, None)
    with pytest.raises(ProcessLookupError):
        mac.facts(10)


def test_the_ancestors_of_a_process_are_followed_through_those_of_other_users(
    mac: Darwin, libc: FakeLibc, monkeypatch: pytest.MonkeyPatch
) -> None:
    libc.processes[7] = BsdInfo(pid=7, ppid=6, uid=0, start_tvsec=2)  # login
    libc.processes[6] = BsdInfo(pid=6, ppid=1, uid=OUR_UID, start_tvsec=1)
    libc.processes[1] = BsdInfo(pid=1, ppid=0, uid=0)  # launchd
    assert mac.facts(7) == ProcessFacts(parent=6, started=None)
    assert (mac.owner(7), mac.owner(1)) == (0, 0)
    monkeypatch.setattr(SYSTEM, "facts", mac.facts)
    assert ancestor_among(US, {10}) is None
    assert ancestor_among(US, {6}) == 6
    libc.processes[6].start_tvsec = 4
    with pytest.raises(ProcessLookupError):
        ancestor_among(US, {10})


def test_the_folder_and_the_memory_of_a_process_are_known(mac: Darwin) -> None:
    assert mac.working_folder(US) == os.getcwd()
    assert mac.working_folder(10) is None
    assert mac.resident_bytes() == 4711


def test_arguments_and_environment_are_read(mac: Darwin, libc: FakeLibc) -> None:
    head = (2).to_bytes(4, "little") + b"/bin/codex\0\0\0\0\0\0"
    libc.arguments = head + b"codex\0app-server\0A=1\0B=\0\0ptr=x\0"
    assert mac.command_line(US) == [b"codex", b"app-server"]
    assert mac.environment(US) == [b"A=1", b"B="]
    libc.arguments = head + b"codex\0app-server\0\0"
    assert mac.command_line(US) == [b"codex", b"app-server"]
    assert mac.environment(US) is None, "the hardened runtime hides it"
    assert mac.command_line(10) == []
    assert mac.boot_id() == "AB-CD"


def test_the_end_of_a_process_is_an_event_of_a_queue(mac: Darwin, libc: FakeLibc) -> None:
    descriptor = mac.open_pidfd(US)
    assert descriptor is not None
    os.close(descriptor)
    (event,) = libc.watched
    assert (event.ident, event.filter, event.flags) == (US, -5, 0x11)
    assert event.fflags == 0x80000000
    with pytest.raises(ProcessLookupError):
        mac.open_pidfd(10)


def test_who_connected_a_unix_socket_is_asked_of_the_socket(mac: Darwin) -> None:
    class Connected:
        def getsockopt(self, level: int, name: int, size: int = 0) -> bytes | int:
            assert level == 0
            if name == 2:
                return 4711
            assert (name, size) == (1, ctypes.sizeof(Xucred))
            return bytes(Xucred(version=0, uid=501, ngroups=1, groups=(20,)))

    sock: Any = Connected()
    assert mac.peer(sock) == Credentials(pid=4711, uid=501, gid=20)


def test_swap_and_exclusive_have_apple_s_numbers(mac: Darwin, libc: FakeLibc) -> None:
    assert mac.rename((3, b"a"), (4, b"b"), exchange=True)
    assert mac.rename((3, b"a"), (4, b"b"), exchange=False)
    assert libc.renamed == [(3, b"a", 4, b"b", 2), (3, b"a", 4, b"b", 4)]
    libc.refuses = errno.ENOTSUP
    assert not mac.rename((3, b"a"), (4, b"b"), exchange=True)
    libc.refuses = errno.EEXIST
    with pytest.raises(FileExistsError):
        mac.rename((3, b"a"), (4, b"b"), exchange=False)


@pytest.mark.parametrize(
    ("lacking", "done"),
    [((), [51]), ((51,), [51, 85]), ((51, 85), [51, 85, "fsync"])],
    ids=["disk", "barrier", "network"],
)
def test_a_sync_reaches_as_far_as_the_volume_can(
    mac: Darwin, monkeypatch: pytest.MonkeyPatch, lacking: tuple[int, ...], done: list[object]
) -> None:
    calls: list[object] = []

    def control(_: int, command: int) -> int:
        calls.append(command)
        if command in lacking:
            raise OSError(errno.ENOTSUP, "")
        return 0

    monkeypatch.setattr(fcntl, "fcntl", control)
    monkeypatch.setattr(os, "fsync", lambda _: calls.append("fsync"))
    mac.sync_data(3)
    assert calls == done


def test_a_disk_that_fails_is_not_synced_in_a_weaker_way(
    mac: Darwin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def control(_: int, __: int) -> int:
        raise OSError(errno.EIO, "")

    monkeypatch.setattr(fcntl, "fcntl", control)
    with pytest.raises(OSError, match="5"):
        mac.sync_folder(3)


def test_a_volume_of_another_machine_is_known(mac: Darwin, libc: FakeLibc) -> None:
    assert not mac.is_on_network(Path("/"))
    libc.is_local = False
    assert mac.is_on_network(Path("/"))


def test_a_socket_is_private_from_its_first_instant(mac: Darwin, tmp_path: Path) -> None:
    assert mac.max_socket_path_bytes == 103
    path = tmp_path / "s"
    before = os.umask(0o022)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            mac.bind(listener, str(path))
            assert path.stat().st_mode & 0o777 == 0o600
            assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
