"""`trimpoint journal`: what it says and how it ends, on sound and on hurt state directories, beside a daemon and without."""

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
from tests.journal.threads import flip, lived, record_starts, write_journal, write_snapshot


class House:
    """A state directory with two threads, and `trimpoint journal` on it."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.store = StateDirectory(root)
        self.thread = lived()
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
def house(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> House:
    return House(tmp_path / "state", capsys)


def test_a_sound_directory_is_said_to_be_sound(house: House) -> None:
    code, out, _ = house.run("verify")
    assert (code, out) == (0, f"✓ 1 journal with {len(house.thread.records)} records: sound")
    code, document = house.document("verify")
    assert (code, document["sound"], document["threads"][0]["damage"]) == (0, True, "none")


def test_damage_is_named_with_what_to_do(house: House) -> None:
    house.damage()
    code, out, _ = house.run("verify")
    assert code == 1
    assert f"✗ {THREAD}: damaged at byte {record_starts(house.journal)[-1]}" in out
    assert "trimpoint journal repair --salvage" in out
    code, document = house.document("verify")
    assert (code, document["threads"][0]["problems"][0]["kind"]) == (1, "damaged")


def test_inspect_shows_all_and_one_and_never_fails_over_damage(house: House) -> None:
    write_snapshot(house.store, house.thread)
    code, out, _ = house.run("inspect")
    assert (code, f"✓ {THREAD}" in out) == (0, True)
    code, out, _ = house.run("inspect", "--thread", THREAD[:4])
    assert (code, "4 turns, 1 trim points, 2 generations" in out, "snapshot fits, covers" in out) == (0, True, True)
    house.damage()
    code, out, _ = house.run("inspect")
    assert (code, f"✗ {THREAD}" in out) == (0, True)
    code, document = house.document("inspect")
    assert (document["threads"][0]["damage"], document["threads"][0]["damagedBytes"] > 0) == ("damaged_middle", True)


def test_an_empty_directory_has_nothing_to_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["journal", "inspect", "--state-dir", str(tmp_path)]) == 0
    assert "0 journals" in capsys.readouterr().out


def test_a_directory_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["journal", "verify", "--state-dir", str(tmp_path / "none")]) == 1
    assert "there is no such state directory" in capsys.readouterr().err


def test_a_thread_that_is_not_there_is_named(house: House) -> None:
    code, _, err = house.run("inspect", "--thread", "nobody")
    assert (code, "'nobody' is no thread of" in err) == (1, True)


def test_there_may_be_nothing_to_repair(house: House) -> None:
    code, out, _ = house.run("repair")
    assert (code, out) == (3, "Nothing to repair.")


def test_a_torn_end_is_cut_and_kept(house: House) -> None:
    house.tear()
    code, out, _ = house.run("repair")
    assert (code, "put aside: the last record is not whole" in out) == (0, True)
    assert f"{house.journal.name}.torn-1" in out.replace(" ", "")
    assert house.run("verify")[0] == 0


def test_a_damaged_journal_is_salvaged_only_when_that_is_asked_for(house: House) -> None:
    house.damage()
    before = house.journal.read_bytes()
    code, out, _ = house.run("repair")
    assert (code, "left as it is" in out, "--salvage writes" in out) == (1, True, True)
    assert house.journal.read_bytes() == before
    code, out, _ = house.run("repair", "--salvage")
    assert (code, "salvaged" in out) == (0, True)
    assert house.journal.with_name(f"{house.journal.name}.damaged-1").read_bytes() == before
    code, out, _ = house.run("verify")
    assert (code, "records are missing in 1 places" in out) == (0, True)
    code, document = house.document("repair", "--salvage")
    assert (code, document["repaired"]) == (3, [])


def test_repair_tells_scripts_what_it_did(house: House) -> None:
    house.damage()
    code, document = house.document("repair", "--salvage")
    (done,) = document["repaired"]
    assert (code, done["outcome"], done["keptAt"]) == (0, "salvaged", f"{house.journal}.damaged-1")
    assert done["salvagedRecords"] > 0


def test_a_snapshot_that_tells_another_story_is_put_aside(house: House) -> None:
    house.thread.state.name = "never given"
    snapshot = write_snapshot(house.store, house.thread)
    code, out, _ = house.run("repair")
    assert (code, "the snapshot was not what the journal tells" in out) == (0, True)
    assert not snapshot.exists()
    assert snapshot.with_name(f"{snapshot.name}.differs-1").exists()
    assert house.run("repair")[0] == 3


def test_repair_refuses_while_a_daemon_runs_and_the_others_do_not(house: House) -> None:
    house.tear()
    before = house.journal.read_bytes()
    with house.store.lock():
        code, _, err = house.run("repair")
        assert (code, "in use by process" in err, "trimpoint shutdown" in err) == (1, True, True)
        assert house.run("inspect")[0] == 0
        assert house.run("verify")[0] == 1
    assert house.journal.read_bytes() == before


def test_a_file_of_somebody_else_is_left_and_said(house: House) -> None:
    house.journal.write_bytes(b"This is a letter to my aunt.")
    code, out, _ = house.run("repair", "--salvage")
    assert (code, "not a trimpoint journal" in out) == (1, True)
    assert house.journal.read_bytes() == b"This is a letter to my aunt."


def test_a_journal_that_cannot_be_read_is_left_and_said(house: House) -> None:
    house.journal.unlink()
    house.journal.symlink_to(house.store.root / "nowhere")
    code, out, _ = house.run("repair")
    assert (code, "No such file or directory" in out) == (1, True)


def test_export_writes_every_event_as_clients_hear_it(house: House) -> None:
    code = main(["journal", "export", "--state-dir", str(house.store.root)])
    lines = [json.loads(line) for line in house._capsys.readouterr().out.splitlines()]
    assert (code, len(lines)) == (0, house.thread.state.thread_sequence)
    assert {line["threadId"] for line in lines} == {THREAD}
    assert lines[0]["type"] == "thread.created"
    assert "settings" not in lines[0]["payload"]


def test_export_shows_what_is_private_only_on_request(house: House) -> None:
    main(["journal", "export", "--private", "--thread", THREAD, "--state-dir", str(house.store.root)])
    lines = [json.loads(line) for line in house._capsys.readouterr().out.splitlines()]
    assert lines[0]["payload"]["settings"] == {"model": "gpt-5", "secretSetting": True}
    items = [item for line in lines if line["type"] == "thread.context-items-recorded" for item in line["payload"]["items"]]
    assert items[0]["type"] == "message"


def test_export_of_a_damaged_journal_ends_with_what_was_wrong(house: House) -> None:
    house.damage()
    code = main(["journal", "export", "--state-dir", str(house.store.root)])
    out, err = house._capsys.readouterr()
    assert (code, len(out.splitlines()) > 0) == (1, True)
    assert "later batch stands intact" in err


def test_retention_is_off_unless_it_is_configured(house: House) -> None:
    code, out, _ = house.run("expire", "--dry-run")
    assert (code, "Retention is off" in out) == (3, True)


def test_expire_names_what_would_go_and_refuses_beside_a_daemon(house: House, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[retention]\narchived_after_days = 1\n")
    code, out, _ = house.run("expire", "--config", str(config))
    assert (code, out) == (3, "Nothing is old enough.")
    with house.store.lock():
        assert house.run("expire", "--config", str(config))[0] == 1
        assert house.run("expire", "--dry-run", "--config", str(config))[0] == 3


def test_expired_threads_are_shown_with_what_was_done(house: House, tmp_path: Path) -> None:
    thread = started(turns=1)
    thread.write(ev.ThreadArchived(), ev.SessionStopped(1))
    write_journal(house.store, thread, THREAD)
    old = summarize(thread.state, house.journal.stat().st_size, [])
    new = msgspec.structs.replace(old, thread_id="other", archived=False, updated_at_ms=old.updated_at_ms + 10 * DAY_MS)
    write_journal(house.store, thread, "other")
    payload = encode_catalogue([old, new])
    (house.store.root / "catalogue").write_bytes(framing.seal((payload,)) + payload)
    config = tmp_path / "config.toml"
    config.write_text("[retention]\narchived_after_days = 1\n")
    assert house.document("expire", "--dry-run", "--config", str(config))[1]["expired"][0]["outcome"] == "due"
    code, out, _ = house.run("expire", "--config", str(config))
    assert (code, f"✓ {THREAD}, last used" in out, "moved:" in out) == (0, True, True)
    house.journal.write_bytes(b"torn")
    code, out, _ = house.run("expire", "--config", str(config))
    assert (code, f"✗ {THREAD}" in out) == (1, True)
