"""Each optional call of the system is asked for in one place, and its absence is borne."""

import ctypes
import errno
import os
import re
from pathlib import Path

import pytest
import trimpoint
from trimpoint.system import linux
from trimpoint.system.linux import Linux
from trimpoint.system.port import System
from trimpoint.system.posix import Posix

PACKAGE = Path(trimpoint.__file__).parent
OPTIONAL = re.compile(r"\bos\.(pidfd_open|fdatasync)\b|\.renameat2\b")
SYSTEMS = pytest.mark.parametrize("system", [Linux(), Posix()], ids=["linux", "posix"])


def test_no_other_module_asks_for_an_optional_call() -> None:
    asking = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if OPTIONAL.search(path.read_text(encoding="utf-8"))
    }
    assert asking == {"system/linux.py"}


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
