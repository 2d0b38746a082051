"""Folders and files that are not as an agent leaves them: reading ends, and never with a traceback."""

import json
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trimpoint.sessionlogs.catalogue import Query, found_sessions, listed
from trimpoint.sessionlogs.export import exported, ndjson
from trimpoint.sessionlogs.live import live_window
from trimpoint.sessionlogs.opening import CannotRead, bytes_of, opened
from trimpoint.sessionlogs.overviews import Overviews
from trimpoint.sessionlogs.sessions import Reading

from tests.effort import tries
from tests.sessionlogs.sessions import FIXTURES, THREAD, homes, members, meta, said, write_rollout

SESSION = "11111111-1111-4111-8111-111111111111"
PLACES = {
    "codex": f"sessions/2026/01/02/rollout-2026-01-02T03-04-05-{THREAD}1.jsonl",
    "codex whole": f"sessions/rollout-2025-05-01-{THREAD}2.json",
    "claude": f"projects/-p/{SESSION}.jsonl",
    "gemini": "tmp/p/chats/session-2026-01-02T03-04-aaaaaaaa.jsonl",
    "gemini whole": "tmp/p/chats/session-2026-01-02T03-05-bbbbbbbb.json",
}
BESIDE = (
    "history.jsonl",
    "session_index.jsonl",
    "projects.json",
    "tmp/p/logs.json",
    "tmp/p/.project_root",
    "projects/-p/x/session-memory/summary.md",
)
# A row of each kind that the readers take apart; single members of them are exchanged.
ROWS = [
    json.loads(line)
    for path in sorted(FIXTURES.rglob("*.jsonl"))
    if path.parent.parent.name != "subagents"
    for line in path.read_bytes().split(b"\n")[:60]
    if line.endswith(b"}") and len(line) < 4000
]


def read_all(folder: Path) -> None:
    """Does everything with every session that can be found there."""
    listed(homes(folder), Overviews(None), Query())
    for found in found_sessions(homes(folder)):
        with suppress(CannotRead):
            for line in ndjson(found, include_compacted=True):
                json.loads(line)
            live_window(Reading(found))
            b"".join(exported(found, "markdown", include_compacted=True))


def write(folder: Path, place: str, data: bytes) -> Path:
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "id", "x"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@settings(max_examples=tries(120), deadline=None)
@given(data=st.data())
def test_members_of_other_types_than_are_known_end_nothing(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("types")
    rows = json.loads(json.dumps(data.draw(st.lists(st.sampled_from(ROWS), max_size=6))))
    for row in rows:
        container, key = data.draw(st.sampled_from(list(members(row))))
        container[key] = data.draw(JSON)
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    for place in PLACES.values():
        write(folder, place, lines)
    read_all(folder)


SCENES = [
    next((FIXTURES / scene).rglob(pattern))
    for scene, pattern in (
        ("codex-0.171.0/compacted-by-hand", "rollout-*.jsonl"),
        ("codex-0.171.0/interrupted", "rollout-*.jsonl"),
        ("claude-code-2.1.332/compacted", "projects/*/*.jsonl"),
        ("claude-code-2.1.332/rewound-behind-a-compaction", "projects/*/*.jsonl"),
        ("gemini-cli-0.61.0/resumed-and-compressed", "session-*.jsonl"),
        ("gemini-cli-0.61.0/rewound", "session-*.jsonl"),
    )
]


@settings(max_examples=tries(30), deadline=None)
@given(data=st.data())
def test_lines_in_any_order_end_nothing(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("order")
    real = data.draw(st.sampled_from(SCENES)).read_bytes().splitlines(keepends=True)
    chosen = data.draw(st.lists(st.integers(0, len(real) - 1), max_size=80))
    lines = b"".join(real[at] for at in chosen)
    for place in PLACES.values():
        write(folder, place, lines)
    read_all(folder)


@settings(max_examples=tries(60), deadline=None)
@given(st.lists(st.binary(max_size=60) | st.sampled_from([b"\x00" * 99, b"\xff\xfe{", b"[[[["])))
def test_files_of_any_bytes_end_nothing(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    for place in (*PLACES.values(), *BESIDE):
        write(folder, place, b"\n".join(parts))
    write(folder, PLACES["codex"] + ".zst", b"\x28\xb5\x2f\xfd" + b"".join(parts))
    read_all(folder)


@pytest.mark.parametrize("place", [*PLACES.values(), *BESIDE])
def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(tmp_path / place)
    read_all(tmp_path)


@pytest.mark.parametrize("place", [*PLACES.values(), *BESIDE])
def test_a_folder_in_place_of_a_file_is_passed_over(tmp_path: Path, place: str) -> None:
    (tmp_path / place).mkdir(parents=True)
    read_all(tmp_path)


def test_links_in_a_circle_and_links_to_nothing_end_nothing(tmp_path: Path) -> None:
    write_rollout(tmp_path, 1, [meta(1), said("user", "hi")])
    (tmp_path / "sessions" / "round").symlink_to(tmp_path / "sessions", target_is_directory=True)
    for name, place in PLACES.items():
        if name != "codex":
            (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / place).symlink_to(tmp_path / place)
    (tmp_path / "history.jsonl").symlink_to(tmp_path / "nothing")
    read_all(tmp_path)
    assert len(list(found_sessions(homes(tmp_path), "codex"))) >= 1


def test_names_that_are_no_text_are_escaped(tmp_path: Path) -> None:
    home = tmp_path / os.fsdecode(b"caf\xe9")
    project, chats = home / "projects" / home.name, home / "tmp" / home.name / "chats"
    write(home, f"sessions/rollout-{home.name}-{THREAD}1.jsonl", b"")
    write(home, f"projects/-p/{home.name}.jsonl", b"")
    write(project, f"{SESSION}.jsonl", b"")
    write(project / SESSION / "subagents", f"agent-{home.name}.jsonl", b"")
    write(project, f"agent-{home.name}.jsonl", b"")
    write(chats, f"session-{home.name}.jsonl", b"")
    write(chats / home.name, f"{home.name}.jsonl", b"")
    write(chats, "session-x.json", b"{}")
    write(project / SESSION / "session-memory", "summary.md", b"")
    read_all(home)
    cache = tmp_path / "cache"
    sessions = listed(homes(home), Overviews(cache), Query())
    assert len(sessions) == 8
    assert sessions == listed(homes(home), Overviews(cache), Query())
    assert all(r"/caf\xe9/" in one.files[0] for one in sessions)
    (project / f"{SESSION}.jsonl").unlink()
    (project / f"{SESSION}.jsonl").mkdir()
    [problem] = filter(None, (one.problem for one in listed(homes(home), Overviews(None), Query())))
    assert r"/caf\xe9/" in problem


def test_a_device_is_no_session_file(tmp_path: Path) -> None:
    path = tmp_path / PLACES["codex"]
    path.parent.mkdir(parents=True)
    path.symlink_to("/dev/zero")
    read_all(tmp_path)
    assert bytes_of(path, 0, 10) == b""
    with pytest.raises(CannotRead, match="not a regular file"), opened(path):
        pass


def test_a_file_that_may_not_be_read_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_rollout(tmp_path, 1, [meta(1), said("user", "hi")])
    real = os.open

    def refused(wanted: Any, *arguments: Any, **more: Any) -> int:
        if Path(wanted) == path:
            raise PermissionError(13, "Permission denied", str(path))
        return real(wanted, *arguments, **more)

    monkeypatch.setattr(os, "open", refused)  # a test that runs as root may read everything
    [one] = listed(homes(tmp_path), Overviews(None), Query())
    assert "Permission denied" in (one.problem or "")
    read_all(tmp_path)


@pytest.mark.parametrize(
    "closed",
    [".", "sessions", "projects", "projects/-p", f"projects/-p/{SESSION}", "tmp", "tmp/p/chats"],
)
def test_a_folder_that_may_not_be_entered_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    for place in (*PLACES.values(), f"projects/-p/{SESSION}/session-memory/summary.md"):
        write(tmp_path, place, b"{}")
    write_rollout(tmp_path, 3, [meta(3), said("user", "hi")])

    def guarded(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any = ".", *arguments: Any, **more: Any) -> Any:
            if not isinstance(path, int) and (tmp_path / closed) in Path(os.fspath(path)).parents:
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *arguments, **more)

        return call

    for name in ("open", "stat", "lstat"):  # a test that runs as root may read everything
        monkeypatch.setattr(os, name, guarded(getattr(os, name)))
    read_all(tmp_path)


def test_a_file_that_grows_while_it_is_read_ends_where_it_ended_at_first(tmp_path: Path) -> None:
    path = write_rollout(tmp_path, 1, [meta(1), *(said("user", f"p{n}") for n in range(200))])
    [found] = found_sessions(homes(tmp_path), "codex")
    stop = threading.Event()

    def grow() -> None:
        with path.open("ab", buffering=0) as file:
            while not stop.is_set():
                file.write(json.dumps(said("user", "more")).encode() + b"\n")

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        *_, end = (json.loads(line) for line in ndjson(found, include_compacted=True))
    finally:
        stop.set()
        writer.join()
    assert end["messages"] >= 200
    assert end["unparsed"] == 0


def test_a_file_that_is_cut_while_it_is_read_ends_nothing(tmp_path: Path) -> None:
    path = write_rollout(tmp_path, 1, [meta(1), *(said("user", f"p{n}" * 99) for n in range(2000))])
    [found] = found_sessions(homes(tmp_path), "codex")
    reading = iter(Reading(found))
    next(reading)
    os.truncate(path, 40_000)
    assert len(list(reading)) > 1
