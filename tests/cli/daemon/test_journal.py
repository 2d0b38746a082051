"""`trimpoint daemon journal`: its output and exit code, with intact and damaged state directories, with
and without a daemon.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from trimpoint.cli.main import main
from trimpoint.core.model import events as ev
from trimpoint.journal import StateDirectory, framing
from trimpoint.threads.catalogue import encode_catalogue, summarize
from trimpoint.threads.retention import DAY_MS

from tests.core.given import THREAD, started
from tests.journal.threads import (
    flip,
    record_starts,
    thread_with_history,
    write_journal,
    write_snapshot,
)


class Harness:
    """A state directory with two threads, and `trimpoint daemon journal` for it."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.store = StateDirectory(root)
        self.thread = thread_with_history()
        self.journal = write_journal(self.store, self.thread)
        self._capsys = capsys

    def run(self, *arguments: str) -> tuple[int, str, str]:
        code = main(["journal", *arguments, "--state-dir", str(self.store.root)])
        out, err = self._capsys.readouterr()
        return code, " ".join(out.split()), err

    def document(self, *arguments: str) -> Any:
        code = main(["journal", *arguments, "--json", "--state-dir", str(self.store.root)])
        return code, json.loads(self._capsys.readouterr().out)

    def damage(self, record: int = 3) -> None:
        flip(self.journal, record_starts(self.journal)[record] + 9)

    def tear(self) -> None:
        self.journal.write_bytes(self.journal.read_bytes()[:-3])


@pytest.fixture
def harness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Harness:
    return Harness(tmp_path / "state", capsys)


def test_a_sound_directory_is_reported_as_sound(harness: Harness) -> None:
    code, out, _ = harness.run("verify")
    assert (code, out) == (0, f"✓ 1 journal with {len(harness.thread.records)} records: sound")
    code, document = harness.document("verify")
    assert (code, document["sound"], document["threads"][0]["damage"]) == (0, True, "none")


def test_damage_is_named_with_what_to_do(harness: Harness) -> None:
    harness.damage()
    code, out, _ = harness.run("verify")
    assert code == 1
    assert f"✗ {THREAD}: damaged at byte {record_starts(harness.journal)[-1]}" in out
    assert "trimpoint daemon journal repair --salvage" in out
    code, document = harness.document("verify")
    assert (code, document["threads"][0]["problems"][0]["kind"]) == (1, "damaged")


def test_inspect_shows_all_and_one_and_never_fails_over_damage(harness: Harness) -> None:
    write_snapshot(harness.store, harness.thread)
    code, out, _ = harness.run("inspect")
    assert (code, f"✓ {THREAD}" in out) == (0, True)
    code, out, _ = harness.run("inspect", "--thread", THREAD[:4])
    assert (
        code,
        "4 turns, 1 trim points, 2 generations" in out,
        "snapshot fits, covers" in out,
    ) == (0, True, True)
    harness.damage()
    code, out, _ = harness.run("inspect")
    assert (code, f"✗ {THREAD}" in out) == (0, True)
    code, document = harness.document("inspect")
    assert (document["threads"][0]["damage"], document["threads"][0]["damagedBytes"] > 0) == (
        "damaged_middle",
        True,
    )


def test_an_empty_directory_has_nothing_to_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["journal", "inspect", "--state-dir", str(tmp_path)]) == 0
    assert "0 journals" in capsys.readouterr().out


def test_a_directory_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["journal", "verify", "--state-dir", str(tmp_path / "none")]) == 1
    assert "there is no such state directory" in capsys.readouterr().err


def test_a_thread_that_is_not_there_is_named(harness: Harness) -> None:
    code, _, err = harness.run("inspect", "--thread", "nobody")
    assert (code, "'nobody' is not a thread of" in err) == (1, True)


def test_there_may_be_nothing_to_repair(harness: Harness) -> None:
    code, out, _ = harness.run("repair")
    assert (code, out) == (3, "Nothing to repair.")


def test_a_torn_end_is_cut_and_kept(harness: Harness) -> None:
    harness.tear()
    code, out, _ = harness.run("repair")
    assert (code, "put aside: the last record is not whole" in out) == (0, True)
    assert f"{harness.journal.name}.torn-1" in out.replace(" ", "")
    assert harness.run("verify")[0] == 0


def test_a_damaged_journal_is_salvaged_only_when_that_is_asked_for(harness: Harness) -> None:
    harness.damage()
    before = harness.journal.read_bytes()
    code, out, _ = harness.run("repair")
    assert (code, "left as it is" in out, "--salvage writes" in out) == (1, True, True)
    assert harness.journal.read_bytes() == before
    code, out, _ = harness.run("repair", "--salvage")
    assert (code, "salvaged" in out) == (0, True)
    assert harness.journal.with_name(f"{harness.journal.name}.damaged-1").read_bytes() == before
    code, out, _ = harness.run("verify")
    assert (code, "records are missing in 1 place," in out) == (0, True)
    code, document = harness.document("repair", "--salvage")
    assert (code, document["repaired"]) == (3, [])


def test_repair_tells_scripts_what_it_did(harness: Harness) -> None:
    harness.damage()
    code, document = harness.document("repair", "--salvage")
    (done,) = document["repaired"]
    assert (code, done["outcome"], done["keptAt"]) == (
        0,
        "salvaged",
        f"{harness.journal}.damaged-1",
    )
    assert done["salvagedRecords"] > 0


def test_a_snapshot_that_tells_another_story_is_put_aside(harness: Harness) -> None:
    harness.thread.state.name = "never given"
    snapshot = write_snapshot(harness.store, harness.thread)
    code, out, _ = harness.run("repair")
    assert (code, "the snapshot did not match the journal" in out) == (0, True)
    assert not snapshot.exists()
    assert snapshot.with_name(f"{snapshot.name}.differs-1").exists()
    assert harness.run("repair")[0] == 3


def test_repair_refuses_while_a_daemon_runs_and_the_others_do_not(harness: Harness) -> None:
    harness.tear()
    before = harness.journal.read_bytes()
    with harness.store.lock():
        code, _, err = harness.run("repair")
        assert (code, "in use by process" in err, "trimpoint daemon shutdown" in err) == (
            1,
            True,
            True,
        )
        assert harness.run("inspect")[0] == 0
        assert harness.run("verify")[0] == 1
    assert harness.journal.read_bytes() == before


def test_a_file_of_another_owner_is_left_and_reported(harness: Harness) -> None:
    harness.journal.write_bytes(b"This is a letter to my aunt.")
    code, out, _ = harness.run("repair", "--salvage")
    assert (code, "not a trimpoint journal" in out) == (1, True)
    assert harness.journal.read_bytes() == b"This is a letter to my aunt."


def test_a_journal_that_cannot_be_read_is_left_and_said(harness: Harness) -> None:
    harness.journal.unlink()
    harness.journal.symlink_to(harness.store.root / "nowhere")
    code, out, _ = harness.run("repair")
    assert (code, "No such file or directory" in out) == (1, True)


def test_export_writes_every_event_as_clients_hear_it(harness: Harness) -> None:
    code = main(["journal", "export", "--state-dir", str(harness.store.root)])
    lines = [json.loads(line) for line in harness._capsys.readouterr().out.splitlines()]
    assert (code, len(lines)) == (0, harness.thread.state.thread_sequence)
    assert {line["threadId"] for line in lines} == {THREAD}
    assert lines[0]["type"] == "thread.created"
    assert "settings" not in lines[0]["payload"]


def test_export_shows_what_is_private_only_on_request(harness: Harness) -> None:
    main(
        [
            "journal",
            "export",
            "--private",
            "--thread",
            THREAD,
            "--state-dir",
            str(harness.store.root),
        ]
    )
    lines = [json.loads(line) for line in harness._capsys.readouterr().out.splitlines()]
    assert lines[0]["payload"]["settings"] == {"model": "gpt-5", "secretSetting": True}
    items = [
        item
        for line in lines
        if line["type"] == "thread.context-items-recorded"
        for item in line["payload"]["items"]
    ]
    assert items[0]["type"] == "message"


def test_export_of_a_damaged_journal_ends_with_what_was_wrong(harness: Harness) -> None:
    harness.damage()
    code = main(["journal", "export", "--state-dir", str(harness.store.root)])
    out, err = harness._capsys.readouterr()
    assert (code, len(out.splitlines()) > 0) == (1, True)
    assert "later batch stands intact" in err


def test_retention_is_off_unless_it_is_configured(harness: Harness) -> None:
    code, out, _ = harness.run("expire", "--dry-run")
    assert (code, "Retention is off" in out) == (3, True)


def test_expire_names_what_would_go_and_refuses_beside_a_daemon(
    harness: Harness, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[retention]\narchived_after_days = 1\n")
    code, out, _ = harness.run("expire", "--config", str(config))
    assert (code, out) == (3, "Nothing is old enough.")
    with harness.store.lock():
        assert harness.run("expire", "--config", str(config))[0] == 1
        assert harness.run("expire", "--dry-run", "--config", str(config))[0] == 3


def test_expired_threads_are_shown_with_what_was_done(harness: Harness, tmp_path: Path) -> None:
    thread = started(turns=1)
    thread.write(ev.ThreadArchived(), ev.SessionStopped(1))
    write_journal(harness.store, thread, THREAD)
    old = summarize(thread.state, harness.journal.stat().st_size, [])
    new = msgspec.structs.replace(
        old, thread_id="other", archived=False, updated_at_ms=old.updated_at_ms + 10 * DAY_MS
    )
    write_journal(harness.store, thread, "other")
    payload = encode_catalogue([old, new])
    (harness.store.root / "catalogue").write_bytes(framing.seal((payload,)) + payload)
    config = tmp_path / "config.toml"
    config.write_text("[retention]\narchived_after_days = 1\n")
    assert (
        harness.document("expire", "--dry-run", "--config", str(config))[1]["expired"][0]["outcome"]
        == "due"
    )
    code, out, _ = harness.run("expire", "--config", str(config))
    assert (code, f"✓ {THREAD}, last used" in out, "moved:" in out) == (0, True, True)
    harness.journal.write_bytes(b"torn")
    code, out, _ = harness.run("expire", "--config", str(config))
    assert (code, f"✗ {THREAD}" in out) == (1, True)
