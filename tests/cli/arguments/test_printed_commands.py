"""Every command in README and docs can be run as it is printed."""

import os
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from shutil import which

import anyio
import pytest
from trimpoint.cli.exits import UsageError
from trimpoint.cli.parsing import arguments
from trimpoint.cli.programs.app_server import NAME, first_word
from trimpoint.cli.programs.codex_itself import CODEX, COMMANDS

from tests.cli.stage import CliHarness

ROOT = Path(__file__).parents[3]
make_parser = arguments.root_parser
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")],
    key=lambda page: page.name,
)
# What stands for a value of the reader's.
VALUES = {"N": "3", "TURN": "3", "TOKENS": "50000", "SHELL": "bash"}
FENCE = re.compile(r"```(?:sh|bash|console)?\n(.*?)```", re.DOTALL)
INDENTED = re.compile(r"^ {4,}(?:\$ )?(.*trimpoint .*)$", re.MULTILINE)
ROW = re.compile(r"^\| `(trimpoint [^`]*)` \|", re.MULTILINE)
INLINE = re.compile(r"(?<!`)`(trimpoint [^`]*)`(?!`)")


def printed(page: Path) -> Iterator[str]:
    """Yields the command lines of a page that begin with `trimpoint`."""
    text = page.read_text(encoding="utf-8")
    blocks = [line.strip() for block in FENCE.findall(text) for line in block.splitlines()]
    indented = [line.strip() for line in INDENTED.findall(text)]
    inline = [" ".join(one.split()) for one in INLINE.findall(text)]
    for line in [*blocks, *indented, *inline]:
        if line.startswith("trimpoint ") and not re.search(r"[…|\[{<]", line):
            yield line.removesuffix(" &")


def words_of(line: str) -> list[str]:
    """Returns the arguments of a command line, without comments and redirections."""
    typed = re.sub(r"\d?>{1,2}\s*\S+|&&.*", "", line)
    return [VALUES.get(word, word) for word in shlex.split(typed, comments=True)[1:]]


@cache
def one_parser() -> arguments.RootParser:
    """Makes the parser once for all pages."""
    return make_parser()


@cache
def problem_of(words: tuple[str, ...]) -> str:
    """Why these words cannot be typed; empty if they can. Many pages print the same ones."""
    if first_word(list(words)) in COMMANDS | {CODEX, NAME}:
        return ""
    try:
        arguments.parse(list(words))
    except UsageError as error:
        # Prose names a command without its words.
        return "" if " needs " in error.message else error.message
    except SystemExit:
        return ""  # it asks for help, and got it
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_printed_command_is_one_that_can_be_typed(
    monkeypatch: pytest.MonkeyPatch, page: Path
) -> None:
    monkeypatch.setattr(arguments, "root_parser", one_parser)
    problems = {line: problem_of(tuple(words_of(line))) for line in printed(page)}
    wrong = [f"{line}: {problem}" for line, problem in problems.items() if problem]
    assert not wrong, "\n".join(wrong)


def test_commands_are_found_in_the_pages() -> None:
    assert sum(len(list(printed(page))) for page in PAGES) > 60


# Programs that a reader types; the shells of the test print their words instead.
PROGRAMS = ("trimpoint", "uvx", "uv", "pipx", "git", "cd")
TYPED = re.compile(rf"(?:^ {{4,}}(?:\$ )?|`)((?:{'|'.join(PROGRAMS)}) [^`\n]*)", re.MULTILINE)
ECHO = "\n".join(f"{name}() {{ printf '%s\\037' {name} \"$@\"; echo; }}" for name in PROGRAMS)


@pytest.mark.processes
@pytest.mark.parametrize("shell", ["bash", "zsh"])
async def test_each_printed_command_means_the_same_in_bash_and_zsh(shell: str) -> None:
    if which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    found = (line for page in PAGES for line in TYPED.findall(page.read_text(encoding="utf-8")))
    # A placeholder is not typed as it stands, and a redirection is the shell's own.
    lines = [line.strip() for line in found if not re.search(r"[…|{<>;&]| \[", line)]
    assert len(lines) > 150
    # zsh takes no comment where a person types.
    expected = [shlex.split(line) for line in lines]
    assert [words for words in expected if any(word.startswith("#") for word in words)] == []
    script = "\n".join([ECHO, *lines])
    environment = {"HOME": "~", "PATH": os.environ["PATH"]}
    done = await anyio.run_process([shell, "-c", script], check=False, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    assert [line.split("\037")[:-1] for line in done.stdout.decode().splitlines()] == expected


def readme_session() -> list[str]:
    """Returns the commands of "Use it from a terminal" in order, without those that start the
    daemon.
    """
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    part = text.partition("## Use it from a terminal")[2].partition("\n## ")[0]
    lines = ROW.findall(part)
    return [line for line in lines if not line.startswith("trimpoint serve")]


@pytest.mark.codex
async def test_the_session_in_readme_runs_as_it_is_printed(stage: CliHarness) -> None:
    environment = stage.with_program_on_path()
    commands = readme_session()
    assert len(commands) >= 6
    assert (await stage.shell("git init --quiet", environment)).code == 0
    async with stage.daemon() as client:
        thread_id = await stage.thread(client)
        for number in range(1, 6):
            await stage.turn(client, thread_id, f"prompt {number}")
        for command in commands:
            done = await stage.shell(command, environment)
            assert done.code == 0, f"{command}\n{done.out}\n{done.err}"
            assert "Traceback" not in done.err
