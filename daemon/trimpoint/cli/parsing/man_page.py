"""Makes the manual page trimpoint(1) from the parser, so that it agrees with `--help`. Pure.

`scripts/generate-docs` writes it to `docs/man`; the wheel installs it. argparse-manpage 4.8 was
tried instead: its page is nearly twice as long, repeats the common options at each command, and has
neither the groups of commands nor the sections on exit codes, environment and files.
"""

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping

from trimpoint.cli.parsing.arguments import RootParser, sub_parsers
from trimpoint.cli.parsing.help_text import EXIT_CODES, GENERAL
from trimpoint.cli.parsing.options import LOCATION_OPTIONS

# What most commands take; it is told once.
_COMMON = ("thread", "last", "json", "codex", "overrides")
_NAME = "keeps long Codex conversations going"
_BARE = "In a terminal, trimpoint alone opens the conversation of this folder."
_ENVIRONMENT = (
    ("TRIMPOINT_SOCKET", "The daemon's Unix socket, as --socket."),
    ("TRIMPOINT_STATE_DIR", "Where the daemon keeps its journals, as --state-dir."),
    ("TRIMPOINT_CODEX", "The Codex binary to run, as --codex."),
    ("TRIMPOINT_LOG", "How much is logged: debug, info, warning or error."),
    ("CODEX_HOME", "Where Codex keeps its login and its sessions."),
    ("PAGER", "What shows a long answer on a terminal: less without it, nothing if it is cat."),
    ("NO_PAGER", "Set: long answers are printed at once."),
    ("NO_COLOR", "Set: no colour."),
)
_FILES = (
    ("~/.config/trimpoint/config.toml", "The configuration; trimpoint config init begins one."),
    ("~/.local/state/trimpoint", "Journals, and the log of a daemon in the background."),
    ("$XDG_RUNTIME_DIR/trimpoint/trimpoint.sock", "The socket, as trimpoint config socket prints."),
)


def man_page(parser: RootParser) -> str:
    """Returns the manual page in roff, with every command and option of the help."""
    common = _common_options(sub_parsers(parser))
    lines = [*_head(parser), *_commands(parser, common), *_common_section(common), *_foot()]
    return "\n".join(lines) + "\n"


def _common_options(commands: Mapping[str, argparse.ArgumentParser]) -> list[argparse.Action]:
    found = {
        action.dest: action
        for name in ("serve", "ask")
        for action in commands[name]._actions
        if action.dest in _COMMON
    }
    return [found[dest] for dest in _COMMON]


def _head(parser: RootParser) -> Iterator[str]:
    yield '.\\" Made by scripts/generate-docs from the parser. Change it there.'
    yield '.TH TRIMPOINT 1 "" "trimpoint" "User Commands"'
    yield from (".SH NAME", f"trimpoint \\- {_text(_NAME)}")
    yield from (".SH SYNOPSIS", ".B trimpoint", "[\\fICOMMAND\\fR] [\\fIOPTION\\fR ...]", ".br")
    yield from (".B trimpoint help", "[\\fICOMMAND\\fR|all]")
    yield from (".SH DESCRIPTION", _text(parser.description or ""))
    for line in (_BARE, *GENERAL):
        yield from (".PP", _text(line))


def _commands(parser: RootParser, common: list[argparse.Action]) -> Iterator[str]:
    told = {(action.dest, action.help) for action in common}
    yield ".SH COMMANDS"
    known = sub_parsers(parser)
    for title, names in parser.groups:
        yield f'.SS "{_text(title[:1].upper() + title[1:])}"'
        for name in names:
            yield from _command(f"trimpoint {name}", known[name], told)


def _command(
    words: str, parser: argparse.ArgumentParser, told: set[tuple[str, str | None]]
) -> Iterator[str]:
    if actions := sub_parsers(parser):
        for name, inner in actions.items():
            yield from _command(f"{words} {name}", inner, told)
        return
    operands = [action for action in _shown(parser) if not action.option_strings]
    given = [f"\\fI{_text(_operand(action))}\\fR" for action in operands]
    yield ".TP 4"
    yield " ".join([f"\\fB{_text(words)}\\fR", "[\\fIOPTION\\fR ...]", *given])
    yield _text(parser.description or "")
    details = [
        line
        for action in _shown(parser)
        if (action.dest, action.help) not in told
        for line in _argument(action)
    ]
    if parser.epilog:
        details += [".PP", ".nf", *map(_text, parser.epilog.rstrip().splitlines()), ".fi"]
    yield from (".RS 4", *details, ".RE") if details else ()


def _argument(action: argparse.Action) -> Iterator[str]:
    if not action.option_strings:
        label = f"\\fI{_text(_operand(action).strip('[]'))}\\fR"
    else:
        value = "" if action.nargs == 0 else f" \\fI{_text(_value(action))}\\fR"
        label = ", ".join(f"\\fB{_text(option)}\\fR" for option in action.option_strings) + value
    yield from (".TP", label, _text((action.help or "").replace("%%", "%")))


def _shown(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [
        action
        for action in parser._actions
        if action.help != argparse.SUPPRESS and action.dest != "help"
    ]


def _operand(action: argparse.Action) -> str:
    word = _value(action)
    if action.nargs == "*":
        return f"[{word} ...]"
    return f"[{word}]" if action.nargs == "?" else word


def _value(action: argparse.Action) -> str:
    if action.choices is not None and action.metavar is None:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())


def _common_section(common: list[argparse.Action]) -> Iterator[str]:
    yield from ('.SH "COMMON OPTIONS"', "Most commands take these.")
    for action in common:
        yield from _argument(action)
    for option, value, text in LOCATION_OPTIONS:
        yield from (".TP", f"\\fB{_text(option)}\\fR \\fI{value}\\fR", _text(text))


def _foot() -> Iterator[str]:
    yield from _table("EXIT STATUS", EXIT_CODES)
    yield from _table("ENVIRONMENT", _ENVIRONMENT)
    yield from _table("FILES", _FILES)
    yield from (".SH SEE ALSO", ".BR codex (1),", ".BR git (1),", ".BR less (1)")


def _table(title: str, rows: Iterable[tuple[object, str]]) -> Iterator[str]:
    yield f'.SH "{title}"'
    for name, text in rows:
        yield from (".TP", f".B {_text(str(name))}", _text(text))


def _text(text: str) -> str:
    """Escapes `text` for roff: hyphens, quotes, and full stops at the beginning of a line."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    escaped = escaped.replace("…", "...").replace("“", "\\(lq").replace("”", "\\(rq")
    return re.sub(r"(?m)^\.", r"\\&.", escaped)
