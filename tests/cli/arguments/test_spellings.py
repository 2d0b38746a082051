"""The forms in which a command can be typed: options in front, old spellings, no command at all."""

import os

import pytest
from trimpoint.cli.main import main
from trimpoint.cli.parsing.arguments import parse


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("--json status", "status --json"),
        ("--socket X -j clear 3", "clear --socket X -j 3"),
        ("-t abc journal inspect", "journal inspect -t abc"),
        ("threads --json archive abc", "threads archive abc --json"),
        ("--last tui resume", "tui --last resume"),
    ],
)
def test_options_may_stand_before_the_command(line: str, same: str) -> None:
    assert parse(line.split()) == parse(same.split())


@pytest.mark.parametrize(
    ("old", "line"),
    [
        ("status --all", "daemon status --all"),
        ("--json status", "daemon --json status"),
        ("logs -f", "daemon logs -f"),
        ("shutdown", "daemon shutdown"),
        ("service install --dry-run", "daemon service install --dry-run"),
        ("metrics --prometheus", "daemon metrics --prometheus"),
        ("token --url", "daemon token --url"),
        ("-t abc journal export --private", "daemon journal export --private -t abc"),
        ("rename NAME", "threads rename NAME"),
        ("fork --at 3", "threads fork --at 3"),
        ("archive abc", "threads archive abc"),
        ("unarchive", "threads unarchive"),
        ("delete abc --yes", "threads delete abc --yes"),
    ],
)
def test_a_command_is_found_below_its_group_and_as_it_was_once_typed(old: str, line: str) -> None:
    assert parse(old.split()) == parse(line.split())


def test_what_follows_tui_is_codex_s(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = parse(["tui", "-t", "abc", "-m", "x", "resume", "--last"])
    assert (parsed.thread, parsed.last) == ("abc", False)
    assert parsed.words == ["-m", "x", "resume", "--last"]


def test_alone_it_opens_the_chat_in_a_terminal_and_is_help_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--state-dir", "/s", "--socket", "/s/s"]
    for terminal, kind in ((True, "dumb"), (False, "xterm")):
        monkeypatch.setattr(os, "isatty", lambda _, is_one=terminal: is_one)
        monkeypatch.setenv("TERM", kind)
        with pytest.raises(SystemExit) as ended:
            main(places)
        assert (ended.value.code, "talk" in capsys.readouterr().out) == (0, True)
    monkeypatch.setattr(os, "isatty", lambda _: True)
    parsed = parse(places)
    assert (parsed.run, parsed.socket) == ("trimpoint.tui.command:run", "/s/s")
    assert parse(["--new"]).new
