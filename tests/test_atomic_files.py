"""Replacing a file: whole, with its mode, and in the order that a power failure needs."""

import os
import stat
from pathlib import Path

import pytest
from trimpoint.atomic_files import replace_file


def test_the_file_has_the_content_and_the_mode_whatever_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"one")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"one", 0o600)
    replace_file(path, b"two", mode=0o644)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"two", 0o644)
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_is_replaced_and_what_it_names_stays(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"theirs")
    (tmp_path / "file").symlink_to(other)
    replace_file(tmp_path / "file", b"ours")
    assert not (tmp_path / "file").is_symlink()
    assert other.read_bytes() == b"theirs"


def test_a_file_that_cannot_be_written_keeps_its_content_and_nothing_lies_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdatasync", no_space)
    with pytest.raises(OSError, match="No space"):
        replace_file(path, b"new", synced=True)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("synced", [True, False])
def test_a_synced_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synced: bool
) -> None:
    done: list[str] = []
    sync, replace = os.fdatasync, os.replace

    def fdatasync(descriptor: int) -> None:
        assert os.fstat(descriptor).st_size == 3
        done.append("synced")
        sync(descriptor)

    def replaced(source: str, target: Path) -> None:
        done.append("replaced")
        replace(source, target)

    monkeypatch.setattr(os, "fdatasync", fdatasync)
    monkeypatch.setattr(os, "replace", replaced)
    replace_file(tmp_path / "file", b"new", synced=synced)
    assert done == ["synced", "replaced"][not synced :]
