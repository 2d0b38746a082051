"""Slash commands: what a person may type, as data and pure functions (docs/spec/clients.md).

The whole input is the command, so nothing of it ever reaches the model. An input that names no
command of ours is not ours. A command begins with a slash or a colon: some clients keep each input
with a slash for themselves.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple, TypeAlias

PREFIXES = ("/", ":")
FORCE, DRY_RUN, REDO = "--force", "--dry-run", "--redo"
MIN_GUESSED_CHARS = 5
"""A slip in a shorter name, such as `new`, may well be another word."""
MAX_TURNS = 1_000_000
MAX_TOKENS = 1_000_000_000
_TURNS_TO_KEEP = f"the number of turns to keep, 0 to {MAX_TURNS:,}"


class NotACommand(NamedTuple):
    """The input is no command of ours and may be sent to the model."""


class UsageError(NamedTuple):
    """The input names a command of ours but is not right; `message` says what is right."""

    command: str
    message: str


@dataclass(frozen=True, slots=True)
class Clear:
    """`/clear`; without a number it keeps nothing."""

    command: ClassVar = "clear"
    keep_last_n_turns: int | None = None
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Compact:
    """`/compact`."""

    command: ClassVar = "compact"
    keep_last_n_turns: int = 0
    force: bool = False
    guidance: str | None = None
    dry_run: bool = False
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Compress:
    """`/compress`."""

    command: ClassVar = "compress"
    target_tokens: int | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Revert:
    """`/revert`; with neither `turn_id` nor `turn_count`, the last turn is taken back."""

    command: ClassVar = "revert"
    turn_id: str | None = None
    turn_count: int | None = None
    undo: bool = False
    scope: Literal["files+context", "context"] = "files+context"
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Undo:
    """`/undo`."""

    command: ClassVar = "undo"
    redo: bool = False
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Pin:
    """`/pin`; with no turn and no note it pins the last turn."""

    command: ClassVar = "pin"
    turns: tuple[int, ...] = ()
    note: str | None = None
    force: bool = False


@dataclass(frozen=True, slots=True)
class Unpin:
    """`/unpin`; without a number it removes the newest pin."""

    command: ClassVar = "unpin"
    pins: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Pins:
    """`/pins`."""

    command: ClassVar = "pins"


@dataclass(frozen=True, slots=True)
class Context:
    """`/context`."""

    command: ClassVar = "context"


@dataclass(frozen=True, slots=True)
class Search:
    """`/search`; without words there is nothing to find."""

    command: ClassVar = "search"
    query: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """`/timeline`; `turns` is how many of the newest are listed."""

    command: ClassVar = "timeline"
    turns: int | None = None


@dataclass(frozen=True, slots=True)
class New:
    """`/new`."""

    command: ClassVar = "new"
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Help:
    """`/help`; `name` is that of a command."""

    command: ClassVar = "help"
    name: str | None = None


Change: TypeAlias = Clear | Compact | Pin | Revert | Undo | Unpin | New
"""A well-formed command that becomes one command of the thread as it is."""
Invocation: TypeAlias = Change | Compress | Context | Pins | Search | Timeline | Help
Parsed: TypeAlias = NotACommand | UsageError | Invocation


class SlashCommand(NamedTuple):
    """One row of the registry.

    `parse` takes what follows the name, stripped; it returns the command or a complaint.
    """

    name: str
    usage: str
    summary: str
    details: str
    parse: Callable[[str], Invocation | str]


def parse(text: str) -> Parsed:
    """Read one input. Upper and lower case, and white space around, do not matter."""
    match = re.fullmatch(r"[/:]([A-Za-z][\w-]*)(?:\s+(.*))?", text.strip(), re.DOTALL)
    if match is None:
        return NotACommand()
    name, rest = match.group(1).lower(), (match.group(2) or "").strip()
    command = REGISTRY.get(name)
    if command is None:
        return _misspelled(name, rest) or NotACommand()
    outcome = command.parse(rest)
    if isinstance(outcome, str):
        return UsageError(
            command.name, f"{outcome} Usage: {command.usage}. Nothing was sent to the agent."
        )
    return outcome


def _misspelled(name: str, rest: str) -> UsageError | None:
    """The complaint about a slip of the fingers in a command that is right otherwise; None where it
    may be a command of somebody else's.
    """
    for ours, command in REGISTRY.items():
        if len(ours) >= MIN_GUESSED_CHARS and name in _slips(ours):
            if isinstance(command.parse(rest), str):
                return None
            wanted = f"/{ours} {rest}".rstrip()
            message = f"There is no /{name}. Did you mean {wanted}? Nothing was sent to the agent."
            return UsageError(ours, message)
    return None


def _slips(name: str) -> set[str]:
    """The name with two neighbours swapped, one letter missing, or one typed twice."""
    places = range(len(name))
    swapped = {name[:at] + name[at + 1] + name[at] + name[at + 2 :] for at in places[:-1]}
    missing = {name[:at] + name[at + 1 :] for at in places}
    doubled = {name[:at] + name[at] + name[at:] for at in places}
    return (swapped | missing | doubled) - {name}


def complete(text: str) -> list[SlashCommand]:
    """The commands that `text`, as far as it is typed, can still become."""
    typed = text.lstrip().lower()
    if not typed.startswith(PREFIXES) or any(ch.isspace() for ch in typed):
        return []
    return [command for command in REGISTRY.values() if command.name.startswith(typed[1:])]


def help_text(name: str | None) -> str:
    """Returns the text of `/help [command]`."""
    if name is not None:
        command = REGISTRY[name]
        return f"{command.usage}\n{command.details}"
    width = max(len(command.usage) for command in REGISTRY.values())
    return "\n".join(
        f"{command.usage:<{width}}  {command.summary}" for command in REGISTRY.values()
    )


def _parse_clear(rest: str) -> Clear | str:
    switches, words = _switches(rest, FORCE, DRY_RUN)
    count = _turn_count(words) if words else None
    if words and count is None:
        return f"/clear takes {_TURNS_TO_KEEP}, not {_quoted(words)}."
    return Clear(count, **switches)


def _switches(rest: str, *names: str) -> tuple[dict[str, bool], str]:
    """The switches among the words of `rest`, as arguments, and what is left of it."""
    found = {word.lower() for word in rest.split()} & set(names)
    if not found:
        return {}, rest
    others = " ".join(word for word in rest.split() if word.lower() not in found)
    return {name.removeprefix("--").replace("-", "_"): True for name in sorted(found)}, others


def _parse_compact(rest: str) -> Compact | str:
    keep, force, dry_run, model = 0, False, False, None
    while rest.startswith("--"):
        option, rest = _first_word(rest)
        name, _, value = option.partition("=")
        if option.lower() == FORCE:
            force = True
        elif option.lower() == DRY_RUN:
            dry_run = True
        elif name.lower() == "--keep":
            if not value:
                value, rest = _first_word(rest)
            count = _turn_count(value)
            if count is None:
                return f"--keep takes {_TURNS_TO_KEEP}, not {_quoted(value)}."
            keep = count
        elif name.lower() == "--model":
            if not value:
                value, rest = _first_word(rest)
            if not value or value.startswith("--"):
                return "--model takes the name of a model."
            model = value
        else:
            return f"/compact has no option {_quoted(option)}."
    return Compact(keep, force, rest or None, dry_run, model)


def _first_word(text: str) -> tuple[str, str]:
    """Returns the first word of `text` and what follows it; white space between them belongs to
    neither.
    """
    word, rest = [*text.split(maxsplit=1), "", ""][:2]
    return word, rest


def _parse_compress(rest: str) -> Compress | str:
    target, dry_run = None, False
    for word in rest.split():
        if word.lower() == DRY_RUN:
            dry_run = True
        elif word.startswith("--"):
            return f"/compress has no option {_quoted(word)}."
        elif target is not None or (count := _token_count(word)) is None:
            return (
                "/compress takes one number of tokens to get down to, such as 50000 or 50k, not "
                f"{_quoted(rest)}."
            )
        else:
            target = count
    return Compress(target, dry_run)


def _token_count(text: str) -> int | None:
    number = re.fullmatch(r"([0-9]{1,9})(k?)", text.replace(",", "").lower())
    count = int(number[1]) * (1000 if number[2] else 1) if number else 0
    return count if 0 < count <= MAX_TOKENS else None


def _parse_revert(rest: str) -> Revert | str:
    wanted = Revert()
    for word in rest.split():
        match word.lower():
            case "--undo":
                wanted = replace(wanted, undo=True)
            case "--context":
                wanted = replace(wanted, scope="context")
            case "--force":
                wanted = replace(wanted, force=True)
            case "--dry-run":
                wanted = replace(wanted, dry_run=True)
            case _ if word.startswith("--"):
                return f"/revert has no option {_quoted(word)}."
            case _ if wanted.turn_id is not None or wanted.turn_count is not None:
                return f"/revert takes one turn, not {_quoted(rest)}."
            case _ if _turn_count(word) is not None:
                wanted = replace(wanted, turn_count=_turn_count(word))
            case _ if re.fullmatch(r"[0-9a-fA-F-]{36}", word):
                wanted = replace(wanted, turn_id=word)
            case _:
                return (
                    "/revert takes the number of the turn to go back to, 0 for before the first, "
                    f"or its id, not {_quoted(word)}."
                )
    if wanted.undo and (wanted.turn_id or wanted.turn_count is not None):
        return "/revert takes a turn or --undo, not both."
    return wanted


def _parse_new(rest: str) -> New | str:
    switches, words = _switches(rest, DRY_RUN)
    return f"/new takes nothing after it, not {_quoted(words)}." if words else New(**switches)


def _parse_pin(rest: str) -> Pin | str:
    turns: list[int] = []
    force = False
    while rest:
        word, after = _first_word(rest)
        if word.lower() == FORCE:
            force = True
        elif (number := _turn_count(word)) and not word.startswith("0"):
            turns.append(number)
        elif word.startswith("--"):
            return f"/pin has no option {_quoted(word)}."
        else:
            break
        rest = after
    return Pin(tuple(turns), rest or None, force)


def _parse_unpin(rest: str) -> Unpin | str:
    numbers = [_turn_count(word) for word in rest.split()]
    if not all(numbers):
        return f"/unpin takes the numbers that /pins shows, not {_quoted(rest)}."
    return Unpin(tuple(number for number in numbers if number))


def _parse_pins(rest: str) -> Pins | str:
    return f"/pins takes nothing after it, not {_quoted(rest)}." if rest else Pins()


def _parse_context(rest: str) -> Context | str:
    return f"/context takes nothing after it, not {_quoted(rest)}." if rest else Context()


def _parse_timeline(rest: str) -> Timeline | str:
    count = _turn_count(rest) if rest else None
    if rest and not count:
        return f"/timeline takes how many turns to list, 1 to {MAX_TURNS:,}, not {_quoted(rest)}."
    return Timeline(count)


def _parse_undo(rest: str) -> Undo | str:
    switches, words = _switches(rest, REDO, FORCE, DRY_RUN)
    if words:
        return f"/undo takes nothing but {REDO}, {FORCE} and {DRY_RUN}, not {_quoted(words)}."
    return Undo(**switches)


def _parse_help(rest: str) -> Help | str:
    name = rest.lower().removeprefix("/").removeprefix(":")
    if name and name not in REGISTRY:
        known = ", ".join(f"/{command}" for command in REGISTRY)
        return f"There is no command {_quoted(rest)}; there are {known}."
    return Help(name or None)


def _turn_count(text: str) -> int | None:
    if not re.fullmatch(r"[0-9]{1,7}", text) or int(text) > MAX_TURNS:
        return None
    return int(text)


def _quoted(text: str) -> str:
    shown = text if len(text) <= 40 else text[:39] + "…"
    return f"“{shown}”" if shown else "nothing"


REGISTRY: dict[str, SlashCommand] = {
    command.name: command
    for command in (
        SlashCommand(
            "clear",
            "/clear [N] [--force] [--dry-run]",
            "Clear the agent's context, keeping the last N turns",
            "Starts a fresh session that remembers only the last N turns, or nothing without N. "
            "Files stay as they are and the earlier messages can still be read. "
            "--force brings turns back that Codex has compacted automatically; --dry-run only says "
            "what would happen.",
            _parse_clear,
        ),
        SlashCommand(
            "compact",
            "/compact [--keep N] [--model M] [--force] [--dry-run] [guidance…]",
            "Summarize the conversation and go on with the summary",
            "Asks the model to summarize the conversation, then starts a fresh session with that "
            "summary "
            "and, with --keep, the last N turns word for word. Guidance tells the summarizer what "
            "matters. "
            "--model has another model write the summary. --force compacts a short conversation "
            "too, and takes a summary that is no smaller than what it stands for; --dry-run only "
            "says what would happen. If it fails, nothing changes.",
            _parse_compact,
        ),
        SlashCommand(
            "compress",
            "/compress [target tokens] [--dry-run]",
            "Take what is no longer needed out of the agent's context",
            "Discards finished file reads, command output, quick checks, titles and old prompts, "
            "in this order and the oldest first, "
            "until the context is down to the target (50,000 tokens unless configured). Code "
            "changes, plans, final answers and the "
            "newest exchange stay. --dry-run only shows what would go. Tokens are estimates.",
            _parse_compress,
        ),
        SlashCommand(
            "revert",
            "/revert [turn | --undo] [--context] [--force] [--dry-run]",
            "Take files and context back to where they were after a turn",
            "A turn is its number in the conversation, counted from 1, pruned ones too; 0 is "
            "before the first, and without one "
            "the last turn is taken back. Files are restored from the checkpoint of that turn; the "
            "state before is kept, and "
            "--undo goes back to it. What others did to the files between turns stays. --context "
            "leaves files alone. --force "
            "overwrites what others have made of the agent's changes. --dry-run only says what "
            "would be done. "
            "If it fails, nothing changes.",
            _parse_revert,
        ),
        SlashCommand(
            "context",
            "/context",
            "Show what the agent's context holds, and what would help when it is full",
            "A bar for each kind of thing, the five largest items, and, from the warning level on, "
            "the trims that would help most. Nothing changes.",
            _parse_context,
        ),
        SlashCommand(
            "search",
            "/search words…",
            "Find what was said and done, also what has left the context",
            "Looks in this thread for what has all the words; where nothing has, for all but one. "
            'conf* finds words that begin so, and "words in quotes" follow each other. Nothing '
            "changes.",
            Search,
        ),
        SlashCommand(
            "timeline",
            "/timeline [N]",
            "List the turns with their numbers, and where the context was trimmed",
            "The last 20 turns, or the last N. /revert, /pin and /clear count as this list does. "
            "Nothing changes.",
            _parse_timeline,
        ),
        SlashCommand(
            "pin",
            "/pin [turn …] [--force] [note]",
            "Keep a turn, or a sentence of yours, in the context whatever is trimmed",
            "A turn is its number in the conversation, counted from 1; without one it is the last, "
            "and a note without a turn is a sentence that stays (/pin Python 3.8 only). Pins stand "
            "behind the summary, word for word, and may hold a quarter of the window; --force pins "
            "more.",
            _parse_pin,
        ),
        SlashCommand(
            "unpin",
            "/unpin [number …]",
            "Remove pins",
            "The numbers are those that /pins shows; without one it is the pin that was made last.",
            _parse_unpin,
        ),
        SlashCommand(
            "pins",
            "/pins",
            "List what is pinned, and what it weighs",
            "Nothing changes.",
            _parse_pins,
        ),
        SlashCommand(
            "undo",
            "/undo [--redo] [--force] [--dry-run]",
            "Take back the last trim of the agent's context",
            "The context is what it was before the last /clear, /compact, /compress or automatic "
            "compaction, and the turns since stay in it. Again takes back the one before; --redo "
            "makes it again, until something else is done. --force undoes it also where the "
            "context may not fit. Files stay as they are. --dry-run only says what would happen.",
            _parse_undo,
        ),
        SlashCommand(
            "new",
            "/new [--dry-run]",
            "Archive this thread and start an empty one on the same files",
            "The archived thread stays listed and readable. The new one has the same project, "
            "worktree, branch and settings. "
            "--dry-run only says what would happen.",
            _parse_new,
        ),
        SlashCommand(
            "help",
            "/help [command]",
            "Show the commands, or one of them in full",
            "Lists what can be typed here.",
            _parse_help,
        ),
    )
}
