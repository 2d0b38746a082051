"""Reads what a person types in a chat (docs/spec/clients.md).

A command is the whole input, so nothing of it reaches the model. Input that names no command of
trimpoint is not a command. A command begins with a slash or a colon: some clients keep every input
with a slash for themselves.
"""

import difflib
import re
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from trimpoint.core.commands.arguments import Argument, spelled_option
from trimpoint.core.commands.declaration import Command
from trimpoint.core.commands.helping import Help
from trimpoint.core.commands.registry import REGISTRY
from trimpoint.core.model.spelling import Spelling, with_commands

PREFIXES = ("/", ":")
MIN_GUESSED_CHARS = 5
"""Only names of at least this many characters are corrected: a typing error in a shorter name, such
as `new`, may be another word.
"""
MAX_ARGUMENT_CHARS = 100_000
"""The most characters that a command's arguments may have. Longer ones are refused: no person types
them.
"""
_MAX_NAME_CHARS = 40
# The length is bounded, so that the parser does not search a word of megabytes for its end.
_COMMAND = re.compile(rf"[/:]([A-Za-z][\w-]{{,{_MAX_NAME_CHARS}}})(?:\s+(.*))?", re.DOTALL)
_UNKNOWN = re.compile(r"/[A-Za-z]{2,30}")
# A command with its number joined to it, or that ends as a sentence does: `/clear3`, `/undo.`
_JOINED = re.compile(r"[/:]([A-Za-z]+)[-.,;:!?]*(\d[\d.]*)?")
OTHERS_COMMANDS = frozenset({
    "agent", "agents", "approvals", "approve", "apps", "archive", "btw", "cd", "collab",
    "config", "copy", "daemon", "debug", "delete", "diff", "exit", "experimental", "export",
    "feedback", "fork", "goal", "hooks", "ide", "import", "init", "keymap", "login", "logout",
    "mcp", "memories", "mention", "model", "permissions", "personality", "pets", "plan",
    "plugins", "presets", "ps", "pwd", "quit", "raw", "rc", "realtime", "recap", "rename",
    "resume", "review", "rollout", "sandbox", "settings", "side", "skills", "status",
    "statusline", "stop", "subagents", "theme", "title", "tui", "usage", "vim", "voice",
    "warnings",
})  # fmt: skip
"""Commands of Codex's own programs, those of its menu among them (measured: 0.163, 0.171). A client
may know them, so they are no typing errors.
"""


class NotACommand(NamedTuple):
    """The result of parsing text that is no slash command of trimpoint, so that it may be sent to
    the model.
    """


class UsageError(NamedTuple):
    """The result of parsing a slash command with wrong arguments, or one that does not exist;
    `message` is for the person and says what is right. `command` is the name, as far as known.
    """

    command: str
    message: str


Parsed: TypeAlias = NotACommand | UsageError | Command


class _Wrong(Exception):
    """Raised for a wrong argument, with a sentence for the person."""


def parse(text: str) -> Parsed:
    """Parses one input of a person. Case and surrounding white space do not matter."""
    text = text.strip()
    match = _COMMAND.fullmatch(text)
    if match is None:
        return _joined(text) or _unknown(text) or NotACommand()
    name, rest = match.group(1).lower(), (match.group(2) or "").strip()
    kind = REGISTRY.get(name)
    if kind is None:
        return _misspelled(name, rest) or _joined(text) or _unknown(text) or NotACommand()
    outcome = read(kind, rest)
    if isinstance(outcome, str):
        return UsageError(name, f"{outcome} Usage: {kind.usage()}. Nothing was sent to the agent.")
    return outcome


def read(kind: type[Command], rest: str) -> Command | str:
    """Returns the command with the arguments that `rest` gives, or an error message."""
    if len(rest) > MAX_ARGUMENT_CHARS:
        return f"A command takes at most {MAX_ARGUMENT_CHARS:,} characters, not {len(rest):,}."
    try:
        command = kind(**_Reader(kind).values(rest))
    except _Wrong as wrong:
        return str(wrong)
    if isinstance(command, Help) and command.name is not None:
        return _help_of(command, command.name)
    return command


class _Reader:
    """Reads the arguments of one command."""

    def __init__(self, kind: type[Command]) -> None:
        self._name = kind.command
        declared = kind.arguments()
        self._options = {
            spelled_option(name): (name, one)
            for name, one in declared.items()
            if one.kind in ("option", "switch")
        }
        self._word = next(
            ((name, one) for name, one in declared.items() if one.kind in ("word", "words")), None
        )
        self._text = next((name for name, one in declared.items() if one.kind == "text"), None)

    def values(self, rest: str) -> dict[str, Any]:
        """Returns the fields that the text gives.

        :raises _Wrong: when the text is not what the command takes.
        """
        found: dict[str, Any] = {}
        others: list[str] = []
        whole = rest
        while rest:
            word, after = _first_word(rest)
            if self._is_option(word):
                rest = self._option(word, after, found)
            elif self._text is not None and not self._is_word(word, others):
                found[self._text] = rest
                break
            else:
                others.append(word)
                rest = after
        self._take_words(others, found, " ".join(others) if found else whole)
        return found

    def _is_option(self, word: str) -> bool:
        takes_options = bool(self._options) and (self._text or self._word)
        return word.startswith("--") and bool(takes_options or word.lower() in self._options)

    def _is_word(self, word: str, before: list[str]) -> bool:
        if self._word is None:
            return False
        unit = self._word[1].unit
        # A text may begin with the word that was given: `/summary edit edit nothing`.
        if before and self._word[1].kind == "word" and not (unit and unit.resembles):
            return False
        resembles = unit is not None and unit.resembles and unit.resembles.fullmatch(word)
        return bool(resembles) or _value(self._word[1], word) is not None

    def _option(self, word: str, after: str, found: dict[str, Any]) -> str:
        """Takes one option, and returns the text behind it."""
        spelled, equals, given = word.partition("=")
        name, argument = self._options.get(spelled.lower(), ("", None))
        if argument is None or (argument.kind == "switch" and equals):
            raise _Wrong(f"/{self._name} has no option {quoted(word)}.")
        if argument.kind == "switch":
            found[name] = True
            return after
        if not given:
            given, after = _first_word(after)
        value = _value(argument, given)
        if value is None:
            raise _Wrong(f"{spelled_option(name)} takes {_takes(argument)}, not {quoted(given)}.")
        found[name] = value
        return after

    def _take_words(self, given: list[str], found: dict[str, Any], shown: str) -> None:
        if not given:
            return
        if self._word is None:
            raise _Wrong(f"/{self._name} takes {self._nothing_but()}, not {quoted(shown)}.")
        name, argument = self._word
        values = [_value(argument, word) for word in given]
        if None in values or (argument.kind == "word" and len(values) > 1):
            raise _Wrong(f"/{self._name} takes {_takes(argument)}, not {quoted(shown)}.")
        replacing = [
            option
            for option, (field, one) in self._options.items()
            if one.instead_of == name and found.get(field)
        ]
        if replacing:
            raise _Wrong(f"/{self._name} takes a {argument.shown} or {replacing[0]}, not both.")
        found[name] = tuple(values) if argument.kind == "words" else values[0]

    def _nothing_but(self) -> str:
        *head, last = [*self._options] or ["nothing after it"]
        both = f"{', '.join(head)} and {last}" if head else last
        return f"nothing but {both}" if self._options else both


def _value(argument: Argument, word: str) -> Any:
    return argument.unit.read(word) if argument.unit is not None else None


def _takes(argument: Argument) -> str:
    takes = argument.unit.takes if argument.unit is not None else ""
    return with_commands(takes, Spelling.SLASH)


def _first_word(text: str) -> tuple[str, str]:
    """Returns the first word of `text` and the rest, without the white space between them."""
    word, rest = [*text.split(maxsplit=1), "", ""][:2]
    return word, rest


def quoted(text: str) -> str:
    """Returns `text` in quotation marks for an error message, shortened to 40 characters; `nothing`
    if it is empty.
    """
    shown = text if len(text) <= 40 else text[:39] + "…"
    return f"“{shown}”" if shown else "nothing"


def _help_of(command: Help, name: str) -> Help | str:
    wanted = name.lower().removeprefix("/").removeprefix(":")
    if wanted and wanted not in REGISTRY:
        known = ", ".join(f"/{one}" for one in REGISTRY)
        return f"There is no command {quoted(name)}; there are {known}."
    return replace(command, name=wanted or None)


def _misspelled(name: str, rest: str) -> UsageError | None:
    """Returns a usage error that suggests the command if `name` is a misspelled command and its
    arguments are valid; else None, because it may be a command of another program.
    """
    for ours, kind in REGISTRY.items():
        if len(ours) >= MIN_GUESSED_CHARS and name in _misspellings(ours):
            if isinstance(read(kind, rest), str):
                return None
            wanted = f"/{ours} {rest}".rstrip()
            message = f"There is no /{name}. Did you mean {wanted}? Nothing was sent to the agent."
            return UsageError(ours, message)
    return None


def _joined(text: str) -> UsageError | None:
    """Returns a usage error that suggests the command if the whole input is its name with a number
    or a stop joined to it; else None.
    """
    match = _JOINED.fullmatch(text)
    if match is None or (kind := REGISTRY.get(match.group(1).lower())) is None:
        return None
    rest = match.group(2) or ""
    if isinstance(read(kind, rest), str):
        return None
    wanted = f"/{kind.command} {rest}".rstrip()
    message = f"“{text}” is no command. Did you mean {wanted}? Nothing was sent to the agent."
    return UsageError(kind.command, message)


def _unknown(text: str) -> UsageError | None:
    """Returns a usage error if the whole input is a slash, or a slash and a word that no program
    knows; else None. With any other character it may be a path, and with words behind it a
    sentence.
    """
    if text == "/":
        problem = "A slash alone is no command. /help lists the commands."
        return UsageError("", f"{problem} Nothing was sent to the agent.")
    name = text[1:].lower()
    if not _UNKNOWN.fullmatch(text) or name in OTHERS_COMMANDS:
        return None
    near = difflib.get_close_matches(name, REGISTRY, n=1)
    way = f"Did you mean /{near[0]}?" if near else "/help lists the commands."
    return UsageError(
        name,
        f"There is no /{name}. {way} Nothing was sent to the agent; with more words it would be.",
    )


def _misspellings(name: str) -> set[str]:
    """Returns the names that a typing error makes of `name`: two neighbours swapped, one letter
    missing, or one typed twice.
    """
    places = range(len(name))
    swapped = {name[:at] + name[at + 1] + name[at] + name[at + 2 :] for at in places[:-1]}
    missing = {name[:at] + name[at + 1 :] for at in places}
    doubled = {name[:at] + name[at] + name[at:] for at in places}
    return (swapped | missing | doubled) - {name}


def complete(text: str) -> list[type[Command]]:
    """Returns the commands whose names begin with `text`, the part that was typed so far, or an
    empty list if it is no beginning of a command. The one that was typed whole comes first.
    """
    typed = text.lstrip()[:_MAX_NAME_CHARS].lower()
    if not typed.startswith(PREFIXES) or any(ch.isspace() for ch in typed):
        return []
    found = [kind for name, kind in REGISTRY.items() if name.startswith(typed[1:])]
    return sorted(found, key=lambda kind: kind.command != typed[1:])
