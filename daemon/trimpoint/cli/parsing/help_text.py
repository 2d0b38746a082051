"""The help of the whole command line: the short one that fits a screen, and the one with all
commands. Pure.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence

from trimpoint.cli.parsing.options import LOCATION_OPTIONS, wrapped

DESCRIPTION = "Keep long Codex conversations going: clear, compact, compress and revert them."
EXIT_CODES = (
    (0, "done"),
    (1, "failed or refused; everything is as before"),
    (2, "wrong usage; the message says how to correct it"),
    (3, "skipped, nothing changed: there was nothing to do, or the thread is busy"),
    (4, "no daemon answers"),
)
GENERAL = (
    "Without --thread a command takes the last thread of this folder (its git work tree) and says "
    "which.",
    "--json prints one JSON document, or JSON lines where something is followed, and nothing else.",
    "Options may stand before the command. Colour and progress appear on a terminal only, and a "
    "long answer goes through a pager there; NO_COLOR, PAGER and NO_PAGER are respected.",
    "Codex's own commands go to Codex: trimpoint login, logout, exec, mcp … and trimpoint codex "
    "WORD.",
)
_USAGE = "usage: trimpoint [COMMAND] [OPTION …]\n"
_FIRST = (
    ("talk", "chat, ask", "on a full screen, or one question"),
    ("context", "context, clear, compact, undo", "see it, trim it, take that back"),
    ("history", "timeline, search, revert", "read, find, return to a turn"),
    ("threads", "threads", "this folder's conversations"),
)
"""The commands for the first day, one row for each group."""
_MORE = (
    "In a terminal, trimpoint alone opens this folder's conversation.",
    "trimpoint demo shows what a clear does, without an account.",
    "trimpoint help COMMAND explains a command; trimpoint help all lists the rest.",
)
DOCUMENTS = (
    ("first-trim", "your first trim, step by step"),
    ("a-day", "when to use which command"),
    ("codex-tui", "Codex's own terminal UI on trimpoint"),
    ("beside-codex", "using both, and how to leave"),
    ("configuration", "all settings"),
    ("recovery", "when something is broken"),
    ("README", "all of them"),
)
"""The pages that people look for first."""


def short_help() -> str:
    """Returns the help for the first day."""
    title_width, name_width = (max(len(row[column]) for row in _FIRST) for column in (0, 1))
    rows = (
        wrapped(f"  {title:<{title_width}}  {names:<{name_width}}  {text}\n", title_width + 4)
        for title, names, text in _FIRST
    )
    more = "".join(wrapped(f"{line}\n") for line in _MORE)
    return "\n".join([_USAGE, wrapped(f"{DESCRIPTION}\n"), "".join(rows), more])


def whole_help(groups: Sequence[tuple[str, Sequence[str]]], summaries: Mapping[str, str]) -> str:
    """Returns the help with every command and what holds for all of them.

    :param groups: the titles of the groups with their commands.
    :param summaries: what each command does, in a line.
    """
    blocks = [_USAGE, wrapped(f"{DESCRIPTION}\n")]
    blocks += [
        _block(title, [(name, summaries[name]) for name in names]) for title, names in groups
    ]
    located = [(f"{option} {value}", text) for option, value, text in LOCATION_OPTIONS]
    blocks.append(_block("which daemon, for every command", located))
    blocks.append(_block("documents (trimpoint help NAME shows one)", DOCUMENTS))
    blocks.append(_block("exit codes", [(str(code), text) for code, text in EXIT_CODES]))
    sentences = (
        "trimpoint help COMMAND explains one; trimpoint --version shows what is installed.",
        *GENERAL,
    )
    return "\n".join([*blocks, "".join(wrapped(f"{sentence}\n") for sentence in sentences)])


def _block(title: str, rows: Sequence[tuple[str, str]]) -> str:
    return f"{title}:\n" + "".join(_rows(rows))


def _rows(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    width = max(len(name) for name, _ in rows)
    return (wrapped(f"  {name:<{width}}  {text}\n", width + 4) for name, text in rows)


def located(parser: argparse.ArgumentParser, text: str) -> str:
    """Returns the help of a command with a line about the options that it does not list."""
    if not any(action.dest == "socket" for action in parser._actions):
        return text
    names = ", ".join(option for option, _, _ in LOCATION_OPTIONS)
    return text + "\n" + wrapped(f"Also {names}: see trimpoint help all.\n")
