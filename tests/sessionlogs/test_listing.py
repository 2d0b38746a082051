"""The list of sessions, and the cache behind it."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from trimpoint.cli.main import main
from trimpoint.sessionlogs.catalogue import Ambiguous, Query, listed, session_named
from trimpoint.sessionlogs.overviews import MAX_COUNTED_BYTES, Overviews
from trimpoint.sessionlogs.text.whole import MAX_WHOLE_BYTES

from tests.sessionlogs.sessions import FIXTURES, THREAD, homes, meta, said, write_rollout

FORKED = FIXTURES / "codex-0.171.0" / "forked"


def ids(folder: Path, query: Query, cache: Path | None = None) -> list[str]:
    return [one.id for one in listed(homes(folder), Overviews(cache), query)]


def test_a_list_says_what_happened_in_each_session(tmp_path: Path) -> None:
    newest, origin = listed(homes(FORKED), Overviews(tmp_path / "cache"), Query())
    assert (newest.lineage, newest.lineage_kind) == (origin.id, "forked")
    assert (newest.compactions, newest.turns, newest.tokens) == (1, 3, 3030)
    assert (origin.compactions, origin.first_prompt, origin.cwd) == (
        0,
        "first",
        "/home/you/project",
    )


def test_a_cached_list_is_the_same_and_follows_the_files(tmp_path: Path) -> None:
    cache, home = tmp_path / "cache" / "sessions", tmp_path / "home"
    path = write_rollout(home, 1, [meta(1), said("user", "first")])
    once = listed(homes(home), Overviews(cache), Query())
    assert listed(homes(home), Overviews(cache), Query()) == once
    with path.open("ab") as file:
        file.write(json.dumps(said("user", "second")).encode() + b"\n")
    [grown] = listed(homes(home), Overviews(cache), Query())
    assert (once[0].turns, grown.turns) == (1, 2)


def test_a_file_that_was_rewritten_in_place_is_read_again(tmp_path: Path) -> None:
    cache, home = tmp_path / "cache", tmp_path / "home"
    write_rollout(home, 1, [meta(1), said("user", "first")])
    assert listed(homes(home), Overviews(cache), Query())[0].first_prompt == "first"
    path = write_rollout(home, 1, [meta(1), said("user", "other")])
    assert path.stat().st_size
    assert listed(homes(home), Overviews(cache), Query())[0].first_prompt == "other"


def test_a_cached_session_follows_a_clear_that_another_file_tells_of(tmp_path: Path) -> None:
    cache, home = tmp_path / "cache", tmp_path / "home"
    cleared = FIXTURES / "claude-code-2.1.332" / "cleared"
    files = sorted(cleared.rglob("*.jsonl"), key=lambda path: path.read_text()[-400:])
    projects = home / "projects" / "-home-you-project"
    projects.mkdir(parents=True)
    shutil.copy(cleared / "history.jsonl", home)
    counted: list[list[int]] = []
    for path in [one for one in files if one.name != "history.jsonl"]:
        shutil.copy(path, projects)
        kept = listed(homes(home), Overviews(cache), Query())
        assert kept == listed(homes(home), Overviews(None), Query())
        counted.append(sorted(one.clears or 0 for one in kept))
    assert counted[-1] == [0, 1, 1]


@pytest.mark.parametrize("damage", [b"", b"\x93\x00", b"nonsense" * 100])
def test_a_damaged_cache_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    cache = tmp_path / "cache"
    cache.write_bytes(damage)
    assert len(ids(FORKED, Query(), cache)) == 2
    assert cache.read_bytes() != damage


def test_a_list_can_be_narrowed(tmp_path: Path) -> None:
    write_rollout(tmp_path, 1, [meta(1), said("user", "Fix the login bug")])
    write_rollout(tmp_path, 2, [meta(2, cwd="/q"), said("user", "Add a rate limit", at=5)])
    first, second = f"{THREAD}1", f"{THREAD}2"
    assert ids(tmp_path, Query()) == [second, first]
    assert ids(tmp_path, Query(search="LOGIN fix")) == [first]
    assert ids(tmp_path, Query(cwd="/q")) == [second]
    assert ids(tmp_path, Query(agent="gemini")) == []
    assert ids(tmp_path, Query(since=datetime(2027, 1, 1, tzinfo=UTC))) == []


def test_a_log_too_large_to_be_counted_is_listed_all_the_same(tmp_path: Path) -> None:
    path = write_rollout(tmp_path, 1, [meta(1)])
    with path.open("ab") as file:
        file.truncate(MAX_COUNTED_BYTES + 1)
    [one] = listed(homes(tmp_path), Overviews(None), Query())
    assert (one.turns, one.problem) == (None, None)
    assert one.updated_at is not None


def test_a_session_in_one_object_that_is_too_large_says_so_everywhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "project" / "chats"
    chats.mkdir(parents=True)
    with (chats / "session-2026-01-02T03-04-0a0b0c0d.json").open("wb") as file:
        file.write(b'{"sessionId": "0a0b0c0d-0000-4000-8000-000000000000", "messages": [')
        file.truncate(MAX_WHOLE_BYTES + 1)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["sessions", "list", "--agent", "gemini", "--json"]) == 0
    [one] = json.loads(capsys.readouterr().out)["sessions"]
    assert "too large to be read" in one["problem"]
    for action in ("show", "export"):
        assert main(["sessions", action, one["id"]]) == 1
        assert "too large to be read" in " ".join(capsys.readouterr().err.split())


def test_a_session_is_named_by_the_end_of_its_id(tmp_path: Path) -> None:
    for number in (1, 2):
        write_rollout(tmp_path, number, [meta(number)])
    assert session_named(homes(tmp_path), "00000001").id == f"{THREAD}1"
    with pytest.raises(Ambiguous, match="may be"):
        session_named(homes(tmp_path), "01a00000")
    with pytest.raises(Ambiguous, match="no session"):
        session_named(homes(tmp_path), "nothing")


def test_a_part_of_many_ids_tells_some_of_them_and_how_many_there_are(tmp_path: Path) -> None:
    for number in range(8):
        write_rollout(tmp_path, number, [meta(number)])
    with pytest.raises(Ambiguous) as told:
        session_named(homes(tmp_path), "01a00000")
    assert str(told.value).startswith(f"'01a00000' may be {THREAD}0 (codex) or ")
    assert str(told.value).endswith(f" or {THREAD}4 (codex) or one of 3 more.")


def test_a_missing_thread_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("TRIMPOINT_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("TRIMPOINT_SOCKET", f"{tmp_path}/s")
    assert main(["sessions", "show", "abcd1234", "--agent", "trimpoint"]) == 2
    assert "There is no thread 'abcd1234' of trimpoint's." in capsys.readouterr().err


def test_an_error_names_the_whole_path_of_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    path = write_rollout(tmp_path, 1, [])
    path.unlink()
    path.mkdir()
    assert main(["sessions", "show", f"{THREAD}1"]) == 1
    assert path.name in capsys.readouterr().err.replace("\n", "")


def test_the_command_lists_and_exports(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(FORKED))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["sessions", "--agent", "codex", "--json"]) == 0
    [newest, _] = json.loads(capsys.readouterr().out)["sessions"]
    assert newest["compactions"] == 1
    assert main(["sessions", "list", "--agent", "codex"]) == 0
    assert "⤵1" in capsys.readouterr().out
    out = tmp_path / "out"
    export = ["sessions", "export", newest["id"], "-o", str(out), "--include-compacted"]
    assert main(export) == 0
    assert [json.loads(line)["type"] for line in out.read_text().splitlines()].count("message") == 8
    assert main(export) == 1
    assert main(["sessions", "export", "nothing"]) == 2


@pytest.mark.parametrize("include", [True, False])
def test_messages_that_left_the_context_are_exported_when_asked_for(
    include: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(FIXTURES / "codex-0.171.0" / "compacted-by-hand"))
    [found] = ids(FIXTURES / "codex-0.171.0" / "compacted-by-hand", Query())
    more = ["--include-compacted"] if include else []
    for form, name in (("markdown", "a.md"), ("html", "a.html"), ("unified-json", "a.json")):
        out = tmp_path / name
        assert main(["sessions", "export", found, "--format", form, "-o", str(out), *more]) == 0
        assert ("reply 2" in out.read_text()) is include
        assert "SUMMARY" in out.read_text()


def test_a_document_has_what_tools_were_given_and_returned(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = FIXTURES / "gemini-cli-0.61.0" / "compressed"
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path))
    (tmp_path / ".gemini").symlink_to(home)
    found = ids(home, Query(agent="gemini"))[0]
    for form in ("markdown", "html"):
        out = tmp_path / form
        words = ["--agent", "gemini", "--format", form, "--include-compacted", "-o", str(out)]
        assert main(["sessions", "export", found, *words]) == 0
        assert "list_directory" in out.read_text()
        assert "project is empty" in out.read_text()
    assert "- Session: gemini `" in (tmp_path / "markdown").read_text()
