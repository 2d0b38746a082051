"""The help of the command line, in each of its forms."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from trimpoint.cli.main import main
from trimpoint.cli.parsing.arguments import parse, root_parser, sub_parsers
from trimpoint.cli.parsing.context_arguments import typed
from trimpoint.cli.parsing.help_text import DOCUMENTS

DOCS = Path(__file__).parents[3] / "docs"

HEAVY = ("anyio", "rich", "msgspec", "orjson", "structlog", "trimpoint.app")


@pytest.mark.processes
def test_help_imports_nothing_heavy_and_documents_the_exit_codes() -> None:
    program = f"""
import sys
from trimpoint.cli.main import main
try:
    main(["help", "all"])
finally:
    print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"
    for line in ("0  done", "2  wrong usage", "3  skipped", "4  no daemon answers"):
        assert line in done.stdout


def test_a_page_of_the_documents_is_shown_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("first-trim", "first-trim.md", "docs/first-trim.md"):
        assert main(["help", name]) == 0
        assert capsys.readouterr().out == (DOCS / "first-trim.md").read_text(encoding="utf-8")
    # A command goes first; its page has the name of the file.
    with pytest.raises(SystemExit):
        main(["help", "chat"])
    assert capsys.readouterr().out.startswith("usage: trimpoint chat")
    assert main(["help", "chat.md"]) == 0


def test_guidance_may_follow_options() -> None:
    parsed = parse(["compact", "--keep", "2", "--force", "mind", "the", "tests"])
    assert typed(parsed) == "/compact --keep 2 --force mind the tests"


@pytest.mark.parametrize(
    "line",
    [
        "help",
        "--help",
        "help all",
        "help clear",
        "clear -h",
        "help journal inspect",
        "tui -h",
        "help daemon logs",
    ],
)
def test_help_is_there_in_each_of_its_forms(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert (ended.value.code, capsys.readouterr().out[:16]) == (0, "usage: trimpoint")


def test_the_short_help_has_ten_commands_in_four_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines) < 16, max(map(len, lines)) <= 80) == (True, True)
    rows = [line for line in lines if line.startswith("  ")]
    commands = sub_parsers(root_parser())
    named = [word for row in rows for word in re.findall(r"[a-z]+", row) if word in commands]
    assert (len(rows), len(set(named))) == (4, 10)


def test_where_the_daemon_is_is_explained_once(capsys: pytest.CaptureFixture[str]) -> None:
    for line, explained in (("help clear", 0), ("help all", 1)):
        with pytest.raises(SystemExit):
            main(line.split())
        said = capsys.readouterr().out
        assert said.count("the daemon's Unix socket") == explained
        assert "--socket" in said


def test_the_help_names_pages_that_exist() -> None:
    assert [name for name, _ in DOCUMENTS if not (DOCS / f"{name}.md").is_file()] == []


def test_help_fits_a_narrow_terminal_and_names_every_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        main(["help", "all"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    listed = {line.split()[0] for line in lines if line.startswith("  ") and line.split()}
    assert set(sub_parsers(root_parser())) - listed == {"version"}


def test_sentences_of_each_command_s_help_fit_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for parser in sub_parsers(root_parser()).values():
        shown = parser.format_help()
        for text in filter(None, (parser.description, parser.epilog)):
            assert " ".join(text.split()) in " ".join(shown.split())
        # A path, and the values of an option, are one word, however long that is.
        lines = [line for line in shown.splitlines() if not line.lstrip().startswith(("-", "["))]
        assert [line for line in lines if len(line) > 40 and " " in line.strip()] == []


def test_a_paragraph_of_a_help_fills_the_lines_and_a_list_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = sub_parsers(root_parser())["search"].format_help().splitlines()
    at = next(number for number, line in enumerate(shown) if line.startswith("Finds what has"))
    assert [len(line) > 60 for line in shown[at : at + 2]] == [True, True]
    assert shown[at + 3 : at + 5] == [
        "examples:",
        "  trimpoint search KeyError parse         in all threads",
    ]
