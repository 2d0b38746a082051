# Tests look at the files themselves; nothing else waits for their loop.
# ruff: noqa: ASYNC240
from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from trimpoint.journal import StateDirectory, StateDirectoryBusy
from trimpoint.journal.errors import StateDirectoryUnsafe
from trimpoint.journal.storage.directory import file_stem

from tests.journal.faults import FaultyFiles

HOLDER = """
import sys
from pathlib import Path
from trimpoint.journal import StateDirectory
with StateDirectory(Path(sys.argv[1])).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder(root: Path) -> Generator[subprocess.Popen[str]]:
    """Runs another process that holds the directory until its stdin is closed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(root)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process


@pytest.mark.processes
def test_the_error_of_a_second_process_names_the_holder_of_the_directory(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        with pytest.raises(StateDirectoryBusy, match=f"in use by process {process.pid}") as busy:
            StateDirectory(tmp_path).lock()
        assert busy.value.pid == process.pid
    with StateDirectory(tmp_path).lock():
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    assert (tmp_path / "lock").read_text() == ""


@pytest.mark.processes
def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        with StateDirectory(tmp_path).lock():
            pass


def test_a_holder_that_has_not_written_its_pid_is_another_process(tmp_path: Path) -> None:
    with StateDirectory(tmp_path).lock():
        (tmp_path / "lock").write_text("")
        with pytest.raises(StateDirectoryBusy, match="in use by another process") as busy:
            StateDirectory(tmp_path).lock()
        assert busy.value.pid is None


def test_a_full_disk_names_the_file_that_has_no_room_and_frees_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match="No space left") as refused:
            StateDirectory(tmp_path).lock()
        assert refused.value.filename == str(tmp_path / "lock")
    with StateDirectory(tmp_path).lock():
        pass


async def test_every_directory_and_file_is_private(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        store = StateDirectory(tmp_path / "a" / "b")
        with store.lock():
            await store.open_journal("t")
            await store.write_atomic("snapshots/t", b"x")
    finally:
        os.umask(previous)
    found = {
        str(path.relative_to(tmp_path)): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")
    }
    directories = ("a", "a/b", "a/b/snapshots", "a/b/threads")
    files = ("a/b/lock", "a/b/snapshots/t", "a/b/threads/t.journal")
    assert found == {**dict.fromkeys(directories, 0o700), **dict.fromkeys(files, 0o600)}


async def test_only_journals_are_listed(tmp_path: Path) -> None:
    store = StateDirectory(tmp_path)
    journal = await store.open_journal("t")
    await journal.close()
    path = store.journal_path("t")
    path.write_bytes(path.read_bytes()[:-1])
    assert (await store.open_journal("t")).report.kept_at is not None
    path.with_name("notes.txt").touch()
    assert [name for name, _ in await store.scan()] == ["t"]


async def test_a_damaged_checked_file_reads_as_none(tmp_path: Path) -> None:
    store = StateDirectory(tmp_path)
    await store.write_atomic("catalogue", b"content")
    path = tmp_path / "catalogue"
    path.write_bytes(path.read_bytes()[:-1] + b"T")
    assert await store.read_checked("catalogue") is None


async def test_a_replacement_cut_short_is_overwritten_by_the_next(tmp_path: Path) -> None:
    store = StateDirectory(tmp_path)
    (tmp_path / ".catalogue.tmp").write_bytes(b"left by a crash, and longer than what comes")
    await store.write_atomic("catalogue", b"x")
    assert await store.read_checked("catalogue") == b"x"
    assert os.listdir(tmp_path) == ["catalogue"]


async def test_a_replacement_is_durable_before_its_name_is(tmp_path: Path) -> None:
    files = FaultyFiles()
    await StateDirectory(tmp_path, files=files).write_atomic("catalogue", b"x")
    assert files.log == ["open for writing", "write", "datasync", "replace", "sync_directory"]


def test_each_directory_made_is_durable_in_its_parent(tmp_path: Path) -> None:
    files = FaultyFiles()
    with StateDirectory(tmp_path / "a" / "b" / "c", files=files).lock():
        assert files.log == ["sync_directory"] * 3


async def test_a_thread_id_can_name_a_checked_file(tmp_path: Path) -> None:
    store = StateDirectory(tmp_path)
    for thread_id in ("..", ".x", "a/b", "ü ~"):
        await store.write_atomic(f"snapshots/{file_stem(thread_id)}", thread_id.encode())
        assert await store.read_checked(f"snapshots/{file_stem(thread_id)}") == thread_id.encode()


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_directory_that_others_can_write_to_is_refused_before_anything_is_put_there(
    tmp_path: Path, mode: int
) -> None:
    root = tmp_path / "state"
    root.mkdir()
    root.chmod(mode)
    with pytest.raises(
        StateDirectoryUnsafe, match=f"can be written to by others .mode {mode:04o}."
    ):
        StateDirectory(root).lock()
    assert list(root.iterdir()) == []


def test_a_directory_of_someone_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(StateDirectoryUnsafe, match=f"belongs to uid {owner}"):
        StateDirectory(tmp_path).lock()
