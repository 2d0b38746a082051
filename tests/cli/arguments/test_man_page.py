"""The manual page contains the same as `--help`, and the page in docs is the one that the parser
makes.
"""

import argparse
import shutil
import subprocess
from pathlib import Path

import pytest
from trimpoint.cli.parsing.arguments import root_parser, sub_parsers
from trimpoint.cli.parsing.man_page import man_page

PAGE = Path(__file__).parents[3] / "docs" / "man" / "trimpoint.1"


def test_the_page_in_docs_is_the_parsers() -> None:
    assert PAGE.read_text(encoding="utf-8") == man_page(root_parser()), "run scripts/generate-docs"


def _leaves(words: str, parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    inner = sub_parsers(parser)
    if not inner:
        return {words: parser}
    return {
        name: leaf
        for word in inner
        for name, leaf in _leaves(f"{words} {word}", inner[word]).items()
    }


def test_every_listed_command_and_option_is_in_the_page() -> None:
    page, parser = man_page(root_parser()).replace("\\-", "-"), root_parser()
    listed = [name for _, names in parser.groups for name in names]
    for name in listed:
        for words, leaf in _leaves(f"trimpoint {name}", sub_parsers(parser)[name]).items():
            assert f"\\fB{words}\\fR" in page
            for action in leaf._actions:
                if (
                    action.help != argparse.SUPPRESS
                    and action.option_strings
                    and action.dest != "help"
                ):
                    assert all(f"\\fB{option}\\fR" in page for option in action.option_strings)


@pytest.mark.processes
def test_a_formatter_finds_nothing_wrong() -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-wall", "-z"],
        input=man_page(root_parser()), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
