"""The refusal of a thread whose journal cannot be opened says what to do about its file."""

from pathlib import Path

import pytest
from trimpoint.journal.errors import JournalError, JournalForeign, JournalNewer, JournalWriteError
from trimpoint.journal.storage.written_by import note_version
from trimpoint.threads.errors import journal_not_opened

PATH = Path("/state/threads/t.journal")


def test_the_version_that_is_needed_is_named_where_it_was_noted(tmp_path: Path) -> None:
    note_version(tmp_path, "7.1")
    refusal = journal_not_opened(JournalNewer(tmp_path / "threads" / "t.journal", 2, 1))
    assert "Run trimpoint 7.1 or a later one" in refusal.hint


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (JournalForeign(PATH), "move it out of the state directory"),
        (JournalNewer(PATH, 2, 1), "Run the version of trimpoint that wrote it"),
        (JournalWriteError(PATH, 28, "write"), "Free disk space"),
    ],
)
def test_the_hint_depends_on_why_a_journal_cannot_be_opened(error: JournalError, hint: str) -> None:
    refusal = journal_not_opened(error)
    assert hint in refusal.hint
    assert str(error) in str(refusal)
