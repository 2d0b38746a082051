"""A conversation is read from exactly those of Codex's files that Codex itself loads."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from trimpoint.codex.history import rollout_files
from trimpoint.codex.history.rollout_files import (
    conversation_lines,
    own_lines,
    thread_of_file,
    threads_of_source,
)

THREAD, FORK = "01a221fe-d1e5-77c0-a9a9-a99946f0a08b", "01a221fe-d821-7b22-a152-c481f89dabc8"
SEGMENT, LATER = "01a221fe-d6cb-7d21-843b-2e0769d1beb3", "01a221fe-d9be-7210-b979-82aacce27355"


def base(file_id: str, end: int) -> dict[str, Any]:
    return {
        "history_base": {"thread_id": file_id, "end_ordinal_exclusive": end, "end_byte_offset": 1}
    }


def content(ordinals: range, meta: dict[str, Any] | None = None) -> bytes:
    """Returns the content of a file whose lines are numbered, with a first line that describes the
    file.
    """
    lines = [
        {"type": "session_meta", "ordinal": ordinals.start, "payload": {"id": "x", **(meta or {})}}
    ]
    lines += [{"type": "event_msg", "ordinal": ordinal, "payload": {}} for ordinal in ordinals[1:]]
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def put(
    home: Path, file_id: str, data: bytes, folder: str = "sessions/2026/11/28", suffix: str = ""
) -> str:
    path = home / folder / f"rollout-2026-11-28T11-51-17-{file_id}.jsonl{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def ordinals(lines: list[bytes]) -> list[int]:
    return [msgspec.json.decode(line)["ordinal"] for line in lines]


def test_a_reverted_thread_is_its_newest_file_and_what_that_builds_on(tmp_path: Path) -> None:
    first = put(tmp_path, THREAD, content(range(10)))
    put(
        tmp_path,
        f"{THREAD}_{SEGMENT}",
        content(range(5, 9), base(THREAD, 5)),
        "sessions/2026/11/29",
    )
    put(
        tmp_path,
        f"{THREAD}_{LATER}",
        content(range(7, 12), base(SEGMENT, 7)),
        "sessions/2026/11/30",
    )
    put(tmp_path, FORK, content(range(50)))
    assert ordinals(conversation_lines(first)) == list(range(12))
    assert ordinals(own_lines(first)) == list(range(10))


def test_a_revert_to_before_an_earlier_one_cuts_what_stands_further_back(tmp_path: Path) -> None:
    put(tmp_path, THREAD, content(range(10)))
    put(tmp_path, f"{THREAD}_{SEGMENT}", content(range(8, 12), base(THREAD, 8)))
    newest = put(tmp_path, f"{THREAD}_{LATER}", content(range(3, 5), base(SEGMENT, 3)))
    assert ordinals(conversation_lines(newest)) == [0, 1, 2, 3, 4]


def test_a_fork_builds_on_the_file_that_was_the_newest_then(tmp_path: Path) -> None:
    put(tmp_path, THREAD, content(range(10)), "archived_sessions")
    put(tmp_path, f"{THREAD}_{SEGMENT}", content(range(5, 9), base(THREAD, 5)), "archived_sessions")
    put(tmp_path, f"{THREAD}_{LATER}", content(range(2, 4), base(SEGMENT, 2)), "archived_sessions")
    fork = put(tmp_path, FORK, content(range(9, 12), base(SEGMENT, 9)))
    assert ordinals(conversation_lines(fork)) == list(range(12))


def test_a_fork_that_names_only_its_origin_is_read_too(tmp_path: Path) -> None:
    put(tmp_path, THREAD, content(range(10)))
    origin = {"forked_from_id": THREAD, "forked_from_ordinal_exclusive": 4}
    fork = put(tmp_path, FORK, content(range(4, 6), origin))
    assert ordinals(conversation_lines(fork)) == list(range(6))


def test_a_fork_that_holds_a_copy_is_read_alone(tmp_path: Path) -> None:
    put(tmp_path, THREAD, content(range(10)))
    fork = put(tmp_path, FORK, content(range(3), {"forked_from_id": THREAD}))
    assert ordinals(conversation_lines(fork)) == [0, 1, 2]


def test_an_archived_thread_is_found_where_it_is_now(tmp_path: Path) -> None:
    put(tmp_path, THREAD, content(range(3)), "archived_sessions")
    before = str(tmp_path / "sessions/2026/11/28" / f"rollout-2026-11-28T11-51-17-{THREAD}.jsonl")
    assert ordinals(conversation_lines(before)) == ordinals(own_lines(before)) == [0, 1, 2]


@pytest.mark.parametrize("archives", [True, False], ids=["archived", "unarchived"])
@pytest.mark.parametrize("moment", ["searched", "read"])
def test_a_file_that_is_moved_while_it_is_looked_for_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archives: bool, moment: str
) -> None:
    folders = ["sessions/2026/11/28", "archived_sessions"]
    before, after = folders if archives else reversed(folders)
    moved = Path(put(tmp_path, THREAD, content(range(10)), before))
    fork = put(tmp_path, FORK, content(range(9, 12), base(THREAD, 9)))
    (tmp_path / after).mkdir(parents=True, exist_ok=True)

    def move() -> None:
        if moved.exists():
            moved.rename(tmp_path / after / moved.name)

    if moment == "searched":
        glob = Path.glob

        def found_then_moved(folder: Path, pattern: str) -> Iterator[Path]:
            yield from list(glob(folder, pattern))
            if THREAD in pattern:
                move()

        monkeypatch.setattr(Path, "glob", found_then_moved)
    else:
        read = Path.read_bytes

        def moved_then_read(path: Path) -> bytes:
            if path == moved:
                move()
            return read(path)

        monkeypatch.setattr(Path, "read_bytes", moved_then_read)
    assert ordinals(conversation_lines(fork)) == list(range(12))


def test_a_compressed_file_is_read_unless_a_plain_one_is_beside_it(tmp_path: Path) -> None:
    halves = content(range(2)), content(range(2, 4))
    packed = b"".join(zstandard.ZstdCompressor().compress(half) for half in halves)
    put(tmp_path, THREAD, packed, suffix=".zst")
    fork = put(tmp_path, FORK, content(range(4, 6), base(THREAD, 4)))
    assert ordinals(conversation_lines(fork)) == list(range(6))
    thread = put(tmp_path, THREAD, content(range(1)))
    assert ordinals(own_lines(thread)) == [0]
    assert ordinals(conversation_lines(fork)) == [0, 4, 5]


def test_a_compressed_file_that_is_damaged_counts_as_gone(tmp_path: Path) -> None:
    put(tmp_path, THREAD, b"no such thing", suffix=".zst")
    fork = put(tmp_path, FORK, content(range(4, 6), base(THREAD, 4)))
    assert ordinals(conversation_lines(fork)) == [4, 5]


def test_a_compressed_file_counts_as_gone_where_nothing_can_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(
        tmp_path, THREAD, zstandard.ZstdCompressor().compress(content(range(2))), suffix=".zst"
    )
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert conversation_lines(path) == own_lines(path) == []


def test_files_that_refer_to_each_other_are_each_read_once(tmp_path: Path) -> None:
    put(tmp_path, THREAD, content(range(3), base(FORK, 2)))
    fork = put(tmp_path, FORK, content(range(3, 5), base(THREAD, 3)))
    assert ordinals(conversation_lines(fork)) == [0, 1, 2, 3, 4]


def test_a_missing_rollout_yields_no_lines(tmp_path: Path) -> None:
    gone = str(tmp_path / "sessions" / f"rollout-x-{THREAD}.jsonl")
    assert conversation_lines(gone) == own_lines(gone) == []
    fork = put(tmp_path, FORK, content(range(4, 6), base(THREAD, 4)))
    assert ordinals(conversation_lines(fork)) == [4, 5]


def test_a_line_that_is_still_being_written_is_left_out(tmp_path: Path) -> None:
    path = put(tmp_path, THREAD, content(range(3)) + b'{"ordinal":3')
    assert ordinals(conversation_lines(path)) == [0, 1, 2]


@pytest.mark.parametrize("piece_bytes", [1, 7, 64, 10_000])
def test_a_long_file_is_split_into_the_same_lines_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece_bytes: int
) -> None:
    data = content(range(9)) + b"\r\n\n" + content(range(9, 12)) + b"torn"
    path = put(tmp_path, THREAD, data)
    monkeypatch.setattr(rollout_files, "PIECE_BYTES", piece_bytes)
    assert own_lines(path) == data[: data.rfind(b"\n") + 1].splitlines()


def test_damage_takes_nothing_else_along(tmp_path: Path) -> None:
    put(tmp_path, THREAD, content(range(3)) + b"torn\n" + content(range(3, 9)))
    fork = put(tmp_path, FORK, content(range(5, 6), base(THREAD, 5)))
    lines = conversation_lines(fork)
    assert b"torn" in lines
    assert ordinals([line for line in lines if line != b"torn"]) == [0, 1, 2, 3, 4, 5]
    assert ordinals(
        conversation_lines(put(tmp_path / "other", THREAD, b"torn\n" + content(range(2))))[1:]
    ) == [0, 1]


def test_a_file_of_another_name_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "conversation.jsonl"
    path.write_bytes(content(range(2)))
    assert ordinals(conversation_lines(str(path))) == [0, 1]


def test_the_first_line_tells_which_thread_a_file_belongs_to(tmp_path: Path) -> None:
    meta = {"id": THREAD}
    segment = put(tmp_path, f"{THREAD}_{SEGMENT}", content(range(4), meta))
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(content(range(1), meta))
    misnamed = put(tmp_path, FORK, content(range(1), meta))
    assert [thread_of_file(str(path)) for path in (segment, copy, misnamed)] == [THREAD] * 3


def test_the_name_tells_which_thread_a_file_that_is_gone_belonged_to(tmp_path: Path) -> None:
    gone = put(tmp_path, f"{THREAD}_{SEGMENT}", b"")
    Path(gone).unlink()
    compressed = put(tmp_path, FORK, zstandard.compress(content(range(1))), suffix=".zst")
    assert [thread_of_file(path) for path in (gone, compressed)] == [THREAD, FORK]


@pytest.mark.parametrize("data", [b"", b"no json\n", b"[]\n", b'{"payload": {"id": 5}}\n', b"\xff"])
def test_another_file_belongs_to_no_thread(tmp_path: Path, data: bytes) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(data)
    places = (str(other), str(tmp_path), str(tmp_path / "nothing"), "/dev/zero", "a\0b")
    assert [thread_of_file(place) for place in places] == [None] * 5


def test_threads_of_a_source_are_found_by_their_first_line_and_the_time_in_their_id(
    tmp_path: Path,
) -> None:
    source = "trimpoint-operation"
    path = put(tmp_path, THREAD, content(range(2)))
    put(tmp_path, FORK, content(range(2), {"thread_source": source}), "sessions/2026/11/29")
    put(tmp_path, SEGMENT, content(range(2), {"thread_source": "user"}))
    put(tmp_path, LATER, b"no rollout")
    (tmp_path / "sessions/2026/11/28/rollout-odd.jsonl").write_bytes(b"")
    begun_ms = int(FORK.replace("-", "")[:12], 16)
    assert threads_of_source(path, source, begun_ms) == [FORK]
    assert threads_of_source(path, source, begun_ms + 1) == []
    assert threads_of_source("/elsewhere/file", source, 0) == []
