"""A snapshot restores the state that it was made of, only for the code and the journal that it was
made for.
"""

from __future__ import annotations

import shutil
from collections.abc import MutableMapping, MutableSequence
from pathlib import Path

import msgspec
import pytest
from trimpoint.core.model.state import Receipt, ThreadState
from trimpoint.journal import framing
from trimpoint.journal.codec import snapshots
from trimpoint.journal.codec.lazy_list import CHUNK_ITEMS, YIELD_EVERY_ITEMS, LazyIndex, LazyList
from trimpoint.journal.codec.snapshots import DICT_ITEMS, SnapshotWriter, decode_snapshot
from trimpoint.journal.port import Bookmark, Position

from tests.core.given import THREAD, Conversation, started

BOOKMARK = Bookmark(Position(1234, 5), b"digest")


def lived() -> Conversation:
    thread = started(turns=3)
    thread.clear(1)
    thread.turn("after", "the clear", activities=["ls"])
    return thread


def snapshot_of(state: ThreadState, thread_id: str = THREAD) -> memoryview:
    writer = SnapshotWriter(thread_id, state, BOOKMARK)
    parts = [bytes(part) for part in writer]
    return memoryview(b"".join([writer.head(), *parts]))


def test_the_state_comes_back_with_its_bookmark() -> None:
    state = lived().state
    found = decode_snapshot(snapshot_of(state), THREAD)
    assert found is not None
    assert found.bookmark == BOOKMARK
    assert found.state == state


def test_a_state_from_a_snapshot_folds_on_like_one_that_was_replayed() -> None:
    thread = lived()
    for _ in range(3):
        found = decode_snapshot(snapshot_of(thread.state), THREAD)
        assert found is not None
        thread.state = found.state
        thread.turn("more", "and more")
        thread.clear(2)
        thread.turn("last", "one")
        assert thread.state == thread.replayed()


def test_fields_that_grow_without_bound_stay_packed() -> None:
    found = decode_snapshot(snapshot_of(lived().state), THREAD)
    assert found is not None
    for field in msgspec.structs.fields(ThreadState):
        declared, value = getattr(field.type, "__origin__", None), getattr(found.state, field.name)
        assert isinstance(value, LazyList) == (declared is MutableSequence)
        assert isinstance(value, LazyIndex) == (declared is MutableMapping)


@pytest.mark.parametrize("turns", [3 * CHUNK_ITEMS, 3 * CHUNK_ITEMS + 44])
def test_what_a_revert_removed_is_stored_in_parts_and_comes_back(turns: int) -> None:
    thread = started()
    thread.trusts_decisions = True
    thread.turns(turns)
    thread.revert(turn_count=0, scope="context")
    found = decode_snapshot(snapshot_of(thread.state), THREAD)
    assert found is not None
    assert found.state == thread.state
    largest = max(map(len, SnapshotWriter(THREAD, thread.state, BOOKMARK)))
    assert largest < len(snapshot_of(thread.state)) / 2
    thread.state = found.state
    thread.revert(undo=True, scope="context")
    assert len(thread.state.turns) == turns
    assert thread.state == thread.replayed()


def test_receipts_are_stored_in_parts_in_their_order() -> None:
    state = lived().state
    receipt = Receipt(b"print", 1, 1, 0, (), None)
    state.receipts = {f"command {number}": receipt for number in range(DICT_ITEMS * 2 + 1)}
    found = decode_snapshot(snapshot_of(state), THREAD)
    assert found is not None
    assert list(found.state.receipts.items()) == list(state.receipts.items())


def test_there_may_be_no_snapshot() -> None:
    assert decode_snapshot(None, THREAD) is None


def test_another_threads_snapshot_is_ignored() -> None:
    assert decode_snapshot(snapshot_of(lived().state, "another"), THREAD) is None


def test_a_snapshot_of_code_that_folds_otherwise_is_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored = snapshot_of(lived().state)
    monkeypatch.setattr(snapshots, "fingerprint", lambda: b"other code")
    assert decode_snapshot(stored, THREAD) is None


def test_a_change_of_any_module_of_the_core_is_other_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = snapshots.fingerprint.__wrapped__()
    assert snapshots.fingerprint.__wrapped__() == before
    for package in ("trimpoint.core", "trimpoint.journal"):
        shutil.copytree(str(snapshots.files(package)), tmp_path / package)
    monkeypatch.setattr(snapshots, "files", lambda package: tmp_path / package)
    copied = snapshots.fingerprint.__wrapped__()
    (tmp_path / "trimpoint.core/model/notes.txt").write_text("no code")
    assert snapshots.fingerprint.__wrapped__() == copied
    (tmp_path / "trimpoint.core/model/state.py").write_text("class ThreadState: ...")
    assert snapshots.fingerprint.__wrapped__() != copied


def test_a_large_index_comes_back_although_others_had_their_turn_while_it_was_written() -> None:
    state = lived().state
    state.turn_index.update({f"turn-{number}": number for number in range(2 * YIELD_EVERY_ITEMS)})
    assert b"" in [bytes(part) for part in SnapshotWriter(THREAD, state, BOOKMARK)]
    found = decode_snapshot(snapshot_of(state), THREAD)
    assert found is not None
    assert dict(found.state.turn_index) == dict(state.turn_index)


def test_a_snapshot_of_a_newer_layout_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = snapshot_of(lived().state)
    monkeypatch.setattr(snapshots, "FORMAT", snapshots.FORMAT + 1)
    assert decode_snapshot(stored, THREAD) is None


def test_content_that_is_no_snapshot_is_ignored() -> None:
    stored = bytes(snapshot_of(lived().state))
    for content in (b"", b"abc", b"\xff" * 40, stored[:40], stored[1:]):
        assert decode_snapshot(memoryview(content), THREAD) is None


def test_in_its_checked_file_no_flipped_byte_and_no_cut_goes_unseen() -> None:
    payload = bytes(snapshot_of(lived().state))
    stored = framing.seal((payload,)) + payload
    for at in range(len(stored)):
        assert framing.unseal(stored[:at]) is None
        assert framing.unseal(stored[:at] + bytes([stored[at] ^ 0x10]) + stored[at + 1 :]) is None
