"""Every code block of the pages for users is of a language that can be read, and is right in it.

The commands in them are tried by `tests/cli/arguments/test_printed_commands.py`, the clients of connect.md
by `tests/clients`. What cannot be run is marked in the line above: `<!-- not run: why -->`.
"""

import ast
import configparser
import json
import re
import subprocess
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from trimpoint.config.loading import parse_config

ROOT = Path(__file__).parents[1]
NOT_FOR_USERS = {"architecture.md", "protocol.md"}
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").glob("*.md") if page.name not in NOT_FOR_USERS),
]
FENCE = re.compile(r"^\s*```(\w*)\s*$")
NOT_RUN = re.compile(r"<!-- not run: .+ -->")
OURS = re.compile(
    r"^\[(daemon|codex|compaction|context|retention|discard|http|log|fleet|limits)\]", re.M
)
# How a line begins that is typed into a shell.
TYPED = re.compile(
    r"^(\$ )?(\w+=(\"[^\"]*\"|\S+) )*(#!/bin/sh|npx|trimpoint|codex|pipx|uvx?|python3|pip|git|cd|rm|curl|ssh|scripts/|systemctl|"
    r"journalctl|mv|cp|export|sudo|kill|tar|npm|nvim|docker|nsc|nats|SOCKET=|TOKEN=|~/|loginctl|mkdir)\S*"
)  # fmt: skip


class Block(NamedTuple):
    """A code block: where it begins, the language of its fence, and whether it is marked."""

    where: str
    language: str
    text: str
    is_marked: bool


def blocks(page: Path) -> Iterator[Block]:
    """Yields the fenced and the indented blocks of a page; an indented one follows a blank line."""
    lines = [*page.read_text(encoding="utf-8").splitlines(), ""]
    at = 0
    while at < len(lines):
        begins, above = at, next((line for line in reversed(lines[:at]) if line.strip()), "")
        if fence := FENCE.match(lines[at]):
            at += 1
            while not FENCE.match(lines[at]):
                at += 1
            body = lines[begins + 1 : at]
        elif lines[at].startswith("    ") and begins and not lines[at - 1].strip():
            while lines[at].startswith("    ") or (
                not lines[at].strip() and at + 1 < len(lines) and lines[at + 1].startswith("    ")
            ):
                at += 1
            body = lines[begins:at]
        else:
            at += 1
            continue
        at += 1
        where = f"{page.name}:{begins + 1}"
        text = textwrap.dedent("\n".join(body)) + "\n"
        yield Block(where, fence[1] if fence else "", text, bool(NOT_RUN.search(above)))


def language_of(block: Block) -> str:
    """Returns what the block is written in; empty if it cannot be told."""
    if block.language or block.is_marked:
        return block.language or "marked"
    first = block.text.lstrip().splitlines()[0]
    if TYPED.match(first):
        return "sh"
    for language, read in READERS.items():
        try:
            read(block.text)
        except (ValueError, SyntaxError, configparser.Error):
            continue
        return language
    return ""


def _unit(text: str) -> None:
    configparser.ConfigParser(interpolation=None, strict=False).read_string(text)


def _json(text: str) -> None:
    json.loads(text if text.startswith(("{", "[")) else f"{{{text}}}")


READERS: dict[str, Callable[[str], object]] = {
    "json": _json,
    "toml": tomllib.loads,
    "python": ast.parse,
    "unit": _unit,
}


ALL = [block for page in PAGES for block in blocks(page)]


def written_in(*languages: str) -> list[Block]:
    return [block for block in ALL if language_of(block) in languages]


def test_each_block_is_of_a_known_language() -> None:
    assert [block.where for block in ALL if not language_of(block)] == []
    assert len(ALL) > 60


@pytest.mark.parametrize("block", written_in(*READERS), ids=lambda one: one.where)
def test_a_program_or_a_file_can_be_read(block: Block) -> None:
    language = language_of(block)
    READERS[language](block.text)
    if language == "toml" and OURS.search(block.text):
        parse_config(block.text, block.where)


@pytest.mark.processes
def test_the_shell_can_read_what_is_to_be_typed() -> None:
    wrong = []
    for block in written_in("sh", "bash", "console"):
        typed = re.sub(r"^\$ ", "", block.text, flags=re.MULTILINE)
        if block.text.startswith("$ "):  # with what was printed between the commands
            typed = "\n".join(line[2:] for line in block.text.splitlines() if line[:2] == "$ ")
        done = subprocess.run(
            ["bash", "-n"], input=typed, capture_output=True, text=True, check=False
        )
        if done.returncode:
            wrong.append(f"{block.where}: {done.stderr}")
    assert wrong == []


def test_no_typed_command_has_a_comment_behind_it() -> None:
    """zsh, unless it is told otherwise, takes the words of such a comment for arguments, and an
    apostrophe in it for the beginning of a string.
    """
    lines = [
        f"{block.where}: {line}"
        for block in written_in("sh")
        for line in block.text.splitlines()
        if re.search(r"\S\s+# ", line)
    ]
    assert lines == []
