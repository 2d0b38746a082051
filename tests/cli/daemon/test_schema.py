"""`trimpoint schema` writes the documents, and reports that to people and to scripts."""

import json
from pathlib import Path

import pytest
from trimpoint.cli.exits import Exit
from trimpoint.cli.main import main
from trimpoint.core.views.wire_events import payload_types
from trimpoint_protocol.schema import documents, encode


def test_the_folder_is_made_and_holds_the_documents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "schema"
    assert main(["schema", "--out", str(folder)]) == Exit.DONE
    written = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert written == {
        file: encode(document) for file, document in documents(payload_types()).items()
    }
    assert "events.json" in capsys.readouterr().out


def test_a_second_time_nothing_differs_and_json_names_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["schema", "--out", str(tmp_path)])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    capsys.readouterr()
    assert main(["schema", "--out", str(tmp_path), "--json"]) == Exit.DONE
    assert set(json.loads(capsys.readouterr().out)["files"]) == before.keys()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_impossible_folder_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["schema", "--out", str(tmp_path / "file")]) == Exit.FAILED
    assert "cannot be written to" in capsys.readouterr().err


def test_schema_requires_the_option_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == Exit.USAGE
    assert "--out" in capsys.readouterr().err
