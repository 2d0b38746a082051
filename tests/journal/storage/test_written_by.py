"""Which version can read a state directory."""

from pathlib import Path

import pytest
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.journal.storage.written_by import FILE_NAME, newest_version, note_version


def test_the_newest_version_that_has_served_is_kept(tmp_path: Path) -> None:
    assert newest_version(tmp_path) is None
    assert note_version(tmp_path, "0.9.0") is None
    assert note_version(tmp_path, "0.10.0") is None
    assert newest_version(tmp_path) == "0.10.0"
    assert note_version(tmp_path, "0.9.1") == "0.10.0", "an older one is told which is needed"
    assert StateDirectory(tmp_path).newest_version() == "0.10.0"


@pytest.mark.parametrize("noted", [b"", b"nonsense", b"\xff", b"-1"])
def test_a_note_that_says_nothing_is_none(tmp_path: Path, noted: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(noted)
    assert newest_version(tmp_path) is None
    assert note_version(tmp_path, "1.0") is None
    assert newest_version(tmp_path) == "1.0"
