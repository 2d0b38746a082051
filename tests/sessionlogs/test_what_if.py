"""`trimpoint sessions what-if` on logs of every kind: what is counted, chosen and left out."""

import json
import os
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from trimpoint.cli.main import main

from tests.sessionlogs.made_sessions import sessions_of, written
from tests.sessionlogs.sessions import FIXTURES, THREAD, meta, row, said, write_rollout

SECRET = "the-word-that-must-stay"


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing but a Codex home without sessions."""
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "TRIMPOINT_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "bare"))
    (tmp_path / "bare").mkdir()
    return tmp_path / "bare"


def counted(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["sessions", "what-if", "--json", *arguments]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def sessions(found: dict[str, Any]) -> dict[str, int]:
    return {name: group["sessions"] for name, group in found["groups"].items()}


def test_every_agent_is_replayed_and_only_numbers_are_printed(
    bare: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    written(tmp_path / "logs", sessions_of(3))
    for name in ("claude-code-2.1.332/compacted", "gemini-cli-0.61.0/compressed-twice"):
        shutil.copytree(FIXTURES / name, bare, dirs_exist_ok=True)
    shutil.copytree(FIXTURES / name, bare / ".gemini", dirs_exist_ok=True)
    write_rollout(
        bare, 2, [meta(2, cwd=f"/{SECRET}"), said("user", SECRET), said("assistant", "Y")]
    )
    found = counted(capsys)
    assert sessions(found) == {"all": 3, "codex": 1, "claude": 1, "gemini": 1}
    assert SECRET not in json.dumps(found)
    assert found["groups"]["codex"]["sessionsWithoutUsage"] == 1
    assert sessions(counted(capsys, "--agent", "claude")) == {"all": 1, "claude": 1}


def test_the_table_names_what_was_left_out_and_what_is_assumed(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(bare, sessions_of(5))
    write_rollout(bare, 2, [meta(2)])
    write_rollout(bare, 3, [b"\x00 no row \xff\n", said("user", "a"), said("assistant", "b")])
    broken = write_rollout(bare, 4, [])
    broken.unlink()
    broken.mkdir()
    assert main(["sessions", "what-if"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "2 sessions, " in out
    assert "Left out: 1 session without a call of the model." in out
    assert "Left out: 1 session that cannot be read" in out
    assert "1 session without reported usage: only estimates." in out
    assert "mask then compact" in out
    assert "A summary takes 2,000 tokens" in out


def test_where_nothing_is_logged_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert sessions(counted(capsys)) == {"all": 0}
    assert main(["sessions", "what-if"]) == 0
    assert capsys.readouterr().out == "No session matches.\n"
    assert main(["sessions", "what-if", "/no/such/folder"]) == 2
    assert "There is no folder '/no/such/folder'." in capsys.readouterr().err


def test_folders_choose_where_was_worked_or_hold_logs_themselves(
    bare: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    inside = project / "inside"
    for folder in (inside, other):
        folder.mkdir(parents=True)
    for number, folder in ((1, project), (2, inside), (3, other)):
        rows = [meta(number, cwd=str(folder)), said("user", "a"), said("assistant", "b")]
        write_rollout(bare, number, rows)
    assert sessions(counted(capsys, str(project))) == {"all": 2, "codex": 2}
    assert sessions(counted(capsys, str(inside), str(other)))["all"] == 2
    copy = tmp_path / "copy"
    shutil.copytree(bare, copy / ".codex")
    assert sessions(counted(capsys, str(copy)))["all"] == 3
    assert sessions(counted(capsys, str(copy / ".codex" / "sessions")))["all"] == 3
    assert sessions(counted(capsys, str(copy), str(inside)))["all"] == 4


def test_since_leaves_out_what_is_older(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_rollout(bare, 1, [meta(1), said("user", "a"), said("assistant", "b")])
    later = said("assistant", "b") | {"timestamp": "2026-05-01T00:00:00.000Z"}
    write_rollout(bare, 2, [meta(2), said("user", "a"), later])
    assert sessions(counted(capsys, "--since", "2026-04-01"))["all"] == 1
    assert sessions(counted(capsys, "--since", "2026-01-01"))["all"] == 2
    os.utime(path, (0, 0))
    assert sessions(counted(capsys, "--since", "2026-01-01"))["all"] == 1


def test_the_picture_has_a_bar_for_each_policy_and_no_file_is_replaced(
    bare: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    written(bare, sessions_of(1))
    file = tmp_path / "prices.svg"
    assert main(["sessions", "what-if", "--svg", str(file)]) == 0
    texts = [one.text for one in ElementTree.parse(file).iter() if one.text]
    assert [name for name in texts if name in ("none", "mask", "compact", "mask then compact")]
    assert any(", 100%" in text for text in texts)
    assert main(["sessions", "what-if", "--svg", str(file)]) == 1
    assert "Name a new file with --svg." in " ".join(capsys.readouterr().err.split())


def test_what_a_person_took_out_leaves_under_every_policy(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "word " * 5_000
    begun = [meta(1), said("user", "a"), said("assistant", long), said("user", "b")]
    back = row("event_msg", {"type": "thread_rolled_back", "num_turns": 2})
    ended = [said("user", "c"), said("assistant", "d")]
    write_rollout(bare, 1, [*begun, said("assistant", "e"), *ended])
    whole = counted(capsys)["groups"]["all"]["policies"]
    write_rollout(bare, 1, [*begun, said("assistant", "e"), back, *ended])
    found = counted(capsys)["groups"]["all"]["policies"]
    assert {one["calls"] for one in found.values()} == {3}
    less = whole["none"]["sentTokens"] - found["none"]["sentTokens"]
    assert less > 5_000
    assert len({one["sentTokens"] for one in found.values()}) == 1


def test_tools_that_change_files_keep_their_output(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for name in ("shell", "apply_patch"):
        rows = [meta(1)]
        for number in range(60):
            call = {"type": "function_call", "name": name, "call_id": f"c{number}"}
            answer = {"type": "function_call_output", "call_id": f"c{number}"}
            rows += [
                said("user", "go on"),
                row("response_item", call | {"arguments": "{}"}),
                row("response_item", answer | {"output": "word " * 5_000}),
                said("assistant", "done"),
            ]
        write_rollout(bare, 1, rows)
        found.append(counted(capsys)["groups"]["all"]["policies"]["mask"]["masks"])
    assert found[0] > 0
    assert found[1] == 0
    assert f"{THREAD}1" not in json.dumps(found)
