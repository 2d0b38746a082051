"""Each optional call of the system is asked for in one place, and its absence is borne."""

import ctypes
import errno
import os
import runpy
from pathlib import Path
from typing import Any

import pytest
from trimpoint.system import linux
from trimpoint.system.linux import Linux
from trimpoint.system.port import System
from trimpoint.system.posix import Posix

SYSTEMS = pytest.mark.parametrize("system", [Linux(), Posix()], ids=["linux", "posix"])


@SYSTEMS
def test_what_was_written_is_synced(tmp_path: Path, system: System) -> None:
    with (tmp_path / "file").open("wb") as file:
        system.sync_data(file.fileno())


def test_a_python_without_fdatasync_syncs_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "fdatasync")
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with (tmp_path / "file").open("wb") as file:
        Linux().sync_data(file.fileno())
        assert synced == [file.fileno()]


@SYSTEMS
def test_a_file_that_exists_is_never_overwritten(tmp_path: Path, system: System) -> None:
    (tmp_path / "one").write_text("1")
    (tmp_path / "other").write_text("2")
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        if system.rename((folder, b"one"), (folder, b"other"), exchange=True):
            assert (tmp_path / "one").read_text() == "2"
            with pytest.raises(FileExistsError):
                system.rename((folder, b"one"), (folder, b"other"), exchange=False)
    finally:
        os.close(folder)
    assert {path.read_text() for path in tmp_path.iterdir()} == {"1", "2"}


class WithoutRenameat2:
    """A C library that lacks the call."""


class Refusing:
    """A kernel or a file system that lacks the call."""

    def __init__(self, number: int) -> None:
        self._number = number

    def renameat2(self, *_: object) -> int:
        ctypes.set_errno(self._number)
        return -1


@pytest.mark.parametrize(
    "libc",
    [WithoutRenameat2(), *map(Refusing, (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP))],
    ids=["library", "kernel", "file system", "flags"],
)
def test_a_rename_in_one_step_that_cannot_be_had_is_reported(
    monkeypatch: pytest.MonkeyPatch, libc: object
) -> None:
    monkeypatch.setattr(linux, "_libc", libc)
    assert not Linux().rename((0, b"a"), (0, b"b"), exchange=False)
    assert not Linux().rename((0, b"a"), (0, b"b"), exchange=True)


def test_what_asks_for_the_platform_outside_of_its_room_is_found() -> None:
    path = Path(__file__).parents[1] / "scripts" / "check_platform.py"
    names: dict[str, Any] = runpy.run_path(str(path))
    source = """
import ctypes, sys
from os import fdatasync
'''/proc is mentioned'''
if sys.platform == "linux":
    open("/proc/self/stat")
    sock.getsockopt(1, socket.SO_PEERCRED)
    print("see /proc")
"""
    found = {what for _, what in names["asked"](source)}
    assert found == {
        *("ctypes", "os.fdatasync", "sys.platform", "/proc/self/stat", "socket.SO_PEERCRED")
    }


@pytest.mark.parametrize(
    ("mounts", "path", "networked"),
    [
        ("/dev/a / ext4 rw 0 0\nhost:/h /home nfs4 rw 0 0\n", "/home/me", True),
        ("/dev/a / ext4 rw 0 0\nhost:/h /home nfs4 rw 0 0\n", "/var", False),
        (
            "/dev/a / ext4 rw 0 0\nhost:/h /home nfs4 rw 0 0\n/dev/b /home xfs rw 0 0\n",
            "/home",
            False,
        ),
        ("host:/h /a\\040b nfs rw 0 0\n", "/a b/c", True),
        ("", "/", False),
    ],
    ids=["home", "beside", "mounted over", "blank", "hidden"],
)
def test_a_folder_of_another_machine_is_known_by_its_mount(
    monkeypatch: pytest.MonkeyPatch, mounts: str, path: str, networked: bool
) -> None:
    monkeypatch.setattr(Path, "resolve", lambda self: self)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: mounts)
    assert Linux().is_on_network(Path(path)) is networked
