"""Slash commands: the table of all of them and their parser (docs/spec/clients.md).

A command is the whole input, so nothing of it reaches the model. Input that names no command of
trimpoint is not a command. A command begins with a slash or a colon: some clients keep every input
with a slash for themselves.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from trimpoint.core.model.invocations import (
    Help,
    Invocation,
    NotACommand,
    Parsed,
    Search,
    UsageError,
)
from trimpoint.core.model.slash_arguments import (
    parse_clear,
    parse_compact,
    parse_compress,
    parse_context,
    parse_new,
    parse_pin,
    parse_pins,
    parse_revert,
    parse_timeline,
    parse_undo,
    parse_unpin,
    quoted,
)

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


class SlashCommand(NamedTuple):
    """One row of the registry.

    `parse` takes the stripped text after the name; it returns the parsed command, or an error
    message.
    """

    name: str
    usage: str
    summary: str
    details: str
    parse: Callable[[str], Invocation | str]


def parse(text: str) -> Parsed:
    """Parses one input of a person. Case and surrounding white space do not matter."""
    match = _COMMAND.fullmatch(text.strip())
    if match is None:
        return NotACommand()
    name, rest = match.group(1).lower(), (match.group(2) or "").strip()
    command = REGISTRY.get(name)
    if command is None:
        return _misspelled(name, rest) or NotACommand()
    outcome = _too_long(rest) or command.parse(rest)
    if isinstance(outcome, str):
        return UsageError(
            command.name, f"{outcome} Usage: {command.usage}. Nothing was sent to the agent."
        )
    return outcome


def _too_long(rest: str) -> str | None:
    if len(rest) <= MAX_ARGUMENT_CHARS:
        return None
    return f"A command takes at most {MAX_ARGUMENT_CHARS:,} characters, not {len(rest):,}."


def _misspelled(name: str, rest: str) -> UsageError | None:
    """Returns a usage error that suggests the command if `name` is a misspelled command and its
    arguments are valid; else None, because it may be a command of another program.
    """
    for ours, command in REGISTRY.items():
        if len(ours) >= MIN_GUESSED_CHARS and name in _misspellings(ours):
            if _too_long(rest) or isinstance(command.parse(rest), str):
                return None
            wanted = f"/{ours} {rest}".rstrip()
            message = f"There is no /{name}. Did you mean {wanted}? Nothing was sent to the agent."
            return UsageError(ours, message)
    return None


def _misspellings(name: str) -> set[str]:
    """Returns the names that a typing error makes of `name`: two neighbours swapped, one letter
    missing, or one typed twice.
    """
    places = range(len(name))
    swapped = {name[:at] + name[at + 1] + name[at] + name[at + 2 :] for at in places[:-1]}
    missing = {name[:at] + name[at + 1 :] for at in places}
    doubled = {name[:at] + name[at] + name[at:] for at in places}
    return (swapped | missing | doubled) - {name}


def complete(text: str) -> list[SlashCommand]:
    """Returns the commands whose names begin with `text`, the part that was typed so far, or an
    empty list if it is no beginning of a command.
    """
    typed = text.lstrip()[:_MAX_NAME_CHARS].lower()
    if not typed.startswith(PREFIXES) or any(ch.isspace() for ch in typed):
        return []
    return [command for command in REGISTRY.values() if command.name.startswith(typed[1:])]


def help_text(name: str | None) -> str:
    """Returns the help for the command `name`, or the list of all commands if it is None.

    :raises KeyError: when there is no command of that name.
    """
    if name is not None:
        command = REGISTRY[name]
        return f"{command.usage}\n{command.details}"
    width = max(len(command.usage) for command in REGISTRY.values())
    return "\n".join(
        f"{command.usage:<{width}}  {command.summary}" for command in REGISTRY.values()
    )


def _parse_help(rest: str) -> Help | str:
    name = rest.lower().removeprefix("/").removeprefix(":")
    if name and name not in REGISTRY:
        known = ", ".join(f"/{command}" for command in REGISTRY)
        return f"There is no command {quoted(rest)}; there are {known}."
    return Help(name or None)


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
            parse_clear,
        ),
        SlashCommand(
            "compact",
            "/compact [--keep N] [--model M] [--force] [--dry-run] [guidance…]",
            "Summarize the conversation and continue with the summary",
            "Asks the model to summarize the conversation, then starts a fresh session with that "
            "summary "
            "and, with --keep, the last N turns word for word. Guidance tells the summarizer what "
            "matters. "
            "--model has another model write the summary. --force compacts a short conversation "
            "too, and takes a summary that is no smaller than what it stands for; --dry-run only "
            "says what would happen. If it fails, nothing changes.",
            parse_compact,
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
            parse_compress,
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
            parse_revert,
        ),
        SlashCommand(
            "context",
            "/context",
            "Show what the agent's context holds, and what would help when it is full",
            "A bar for each kind of thing, the five largest items, and, from the warning level on, "
            "the trims that would help most. Nothing changes.",
            parse_context,
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
            parse_timeline,
        ),
        SlashCommand(
            "pin",
            "/pin [turn …] [--force] [note]",
            "Keep a turn, or a sentence of yours, in the context whatever is trimmed",
            "A turn is its number in the conversation, counted from 1; without one it is the last, "
            "and a note without a turn is a sentence that stays (/pin Python 3.8 only). Pins stand "
            "behind the summary, word for word, and may hold a quarter of the window; --force pins "
            "more.",
            parse_pin,
        ),
        SlashCommand(
            "unpin",
            "/unpin [number …]",
            "Remove pins",
            "The numbers are those that /pins shows; without one it is the pin that was made last.",
            parse_unpin,
        ),
        SlashCommand(
            "pins",
            "/pins",
            "List what is pinned, and what it weighs",
            "Nothing changes.",
            parse_pins,
        ),
        SlashCommand(
            "undo",
            "/undo [--redo] [--force] [--dry-run]",
            "Take back the last trim of the agent's context",
            "The context is what it was before the last /clear, /compact, /compress or automatic "
            "compaction, and the turns since stay in it. Again takes back the one before; --redo "
            "makes it again, until something else is done. --force undoes it also where the "
            "context may not fit. Files stay as they are. --dry-run only says what would happen.",
            parse_undo,
        ),
        SlashCommand(
            "new",
            "/new [--pins] [--dry-run]",
            "Archive this thread and start an empty one on the same files",
            "The archived thread stays listed and readable. The new one has the same project, "
            "worktree, branch and settings. With --pins it begins with what is pinned here. "
            "--dry-run only says what would happen.",
            parse_new,
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
