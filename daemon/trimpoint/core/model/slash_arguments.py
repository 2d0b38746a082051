"""Parses the arguments of slash commands. Each function returns the parsed command, or an error
message in a sentence.
"""

import re
from dataclasses import replace

from trimpoint.core.model.invocations import (
    Clear,
    Compact,
    Compress,
    Context,
    New,
    Pin,
    Pins,
    Revert,
    Timeline,
    Undo,
    Unpin,
)

FORCE, DRY_RUN, REDO, PINS = "--force", "--dry-run", "--redo", "--pins"
MAX_TURNS = 1_000_000
MAX_TOKENS = 1_000_000_000
_TURNS_TO_KEEP = f"the number of turns to keep, 0 to {MAX_TURNS:,}"


def parse_clear(rest: str) -> Clear | str:
    """Parses the arguments of `/clear`; returns an error message if they are invalid."""
    switches, words = _switches(rest, FORCE, DRY_RUN)
    count = _turn_count(words) if words else None
    if words and count is None:
        return f"/clear takes {_TURNS_TO_KEEP}, not {quoted(words)}."
    return Clear(count, **switches)


def _switches(rest: str, *names: str) -> tuple[dict[str, bool], str]:
    """Returns the switches of `names` that `rest` contains, as keyword arguments, and the text
    without them.
    """
    found = {word.lower() for word in rest.split()} & set(names)
    if not found:
        return {}, rest
    others = " ".join(word for word in rest.split() if word.lower() not in found)
    return {name.removeprefix("--").replace("-", "_"): True for name in sorted(found)}, others


def parse_compact(rest: str) -> Compact | str:
    """Parses the arguments of `/compact`; returns an error message if they are invalid."""
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
                return f"--keep takes {_TURNS_TO_KEEP}, not {quoted(value)}."
            keep = count
        elif name.lower() == "--model":
            if not value:
                value, rest = _first_word(rest)
            if not value or value.startswith("--"):
                return "--model takes the name of a model."
            model = value
        else:
            return f"/compact has no option {quoted(option)}."
    return Compact(keep, force, rest or None, dry_run, model)


def _first_word(text: str) -> tuple[str, str]:
    """Returns the first word of `text` and the rest, without the white space between them."""
    word, rest = [*text.split(maxsplit=1), "", ""][:2]
    return word, rest


def parse_compress(rest: str) -> Compress | str:
    """Parses the arguments of `/compress`; returns an error message if they are invalid."""
    target, dry_run = None, False
    for word in rest.split():
        if word.lower() == DRY_RUN:
            dry_run = True
        elif word.startswith("--"):
            return f"/compress has no option {quoted(word)}."
        elif target is not None or (count := _token_count(word)) is None:
            return (
                "/compress takes one number of tokens to get down to, such as 50000 or 50k, not "
                f"{quoted(rest)}."
            )
        else:
            target = count
    return Compress(target, dry_run)


def _token_count(text: str) -> int | None:
    number = re.fullmatch(r"([0-9]{1,9})(k?)", text.replace(",", "").lower())
    count = int(number[1]) * (1000 if number[2] else 1) if number else 0
    return count if 0 < count <= MAX_TOKENS else None


def parse_revert(rest: str) -> Revert | str:
    """Parses the arguments of `/revert`; returns an error message if they are invalid."""
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
                return f"/revert has no option {quoted(word)}."
            case _ if wanted.turn_id is not None or wanted.turn_count is not None:
                return f"/revert takes one turn, not {quoted(rest)}."
            case _ if _turn_count(word) is not None:
                wanted = replace(wanted, turn_count=_turn_count(word))
            case _ if re.fullmatch(r"[0-9a-fA-F-]{36}", word):
                wanted = replace(wanted, turn_id=word)
            case _:
                return (
                    "/revert takes the number of the turn to go back to, 0 for before the first, "
                    f"or its id, not {quoted(word)}."
                )
    if wanted.undo and (wanted.turn_id or wanted.turn_count is not None):
        return "/revert takes a turn or --undo, not both."
    return wanted


def parse_new(rest: str) -> New | str:
    """Parses the arguments of `/new`; returns an error message if they are invalid."""
    switches, words = _switches(rest, PINS, DRY_RUN)
    if words:
        return f"/new takes nothing but {PINS} and {DRY_RUN}, not {quoted(words)}."
    return New(**switches)


def parse_pin(rest: str) -> Pin | str:
    """Parses the arguments of `/pin`: leading turn numbers and switches, then a note. Returns an
    error message if they are invalid.
    """
    turns: list[int] = []
    force = False
    while rest:
        word, after = _first_word(rest)
        if word.lower() == FORCE:
            force = True
        elif (number := _turn_count(word)) and not word.startswith("0"):
            turns.append(number)
        elif word.startswith("--"):
            return f"/pin has no option {quoted(word)}."
        else:
            break
        rest = after
    return Pin(tuple(turns), rest or None, force)


def parse_unpin(rest: str) -> Unpin | str:
    """Parses the arguments of `/unpin`; returns an error message if they are invalid."""
    numbers = [_turn_count(word) for word in rest.split()]
    if not all(numbers):
        return f"/unpin takes the numbers that /pins shows, not {quoted(rest)}."
    return Unpin(tuple(number for number in numbers if number))


def parse_pins(rest: str) -> Pins | str:
    """Parses the arguments of `/pins`; returns an error message if there are any."""
    return f"/pins takes nothing after it, not {quoted(rest)}." if rest else Pins()


def parse_context(rest: str) -> Context | str:
    """Parses the arguments of `/context`; returns an error message if there are any."""
    return f"/context takes nothing after it, not {quoted(rest)}." if rest else Context()


def parse_timeline(rest: str) -> Timeline | str:
    """Parses the arguments of `/timeline`; returns an error message if they are invalid."""
    count = _turn_count(rest) if rest else None
    if rest and not count:
        return f"/timeline takes how many turns to list, 1 to {MAX_TURNS:,}, not {quoted(rest)}."
    return Timeline(count)


def parse_undo(rest: str) -> Undo | str:
    """Parses the arguments of `/undo`; returns an error message if they are invalid."""
    switches, words = _switches(rest, REDO, FORCE, DRY_RUN)
    if words:
        return f"/undo takes nothing but {REDO}, {FORCE} and {DRY_RUN}, not {quoted(words)}."
    return Undo(**switches)


def _turn_count(text: str) -> int | None:
    if not re.fullmatch(r"[0-9]{1,7}", text) or int(text) > MAX_TURNS:
        return None
    return int(text)


def quoted(text: str) -> str:
    """Returns `text` in quotation marks for an error message, shortened to 40 characters; `nothing`
    if it is empty.
    """
    shown = text if len(text) <= 40 else text[:39] + "…"
    return f"“{shown}”" if shown else "nothing"
