"""The kinds of arguments that a command can take, as values of its type's fields.

A field's default value says which kind it is: `keep: int | None = word("N", TURNS, "turns to
keep")`. `Argument` is what the parsers and helps read of it.
"""

import re
from collections.abc import Callable
from dataclasses import field
from datetime import date, timedelta
from typing import Any, Literal, NamedTuple, assert_never

MAX_TURNS = 1_000_000
MAX_TOKENS = 1_000_000_000
_KEY = "argument"


class Unit(NamedTuple):
    """What a value stands for. `takes` describes it in an error message, `read` returns the value
    of a word, or None if the word is none. A word that `resembles` matches is not taken for text.
    """

    takes: str
    read: Callable[[str], Any]
    resembles: re.Pattern[str] | None = None


class Argument(NamedTuple):
    """One argument of a command. `shown` stands for its value in the usage, `help` explains it.

    `word` is one word, `words` any number of them, `text` all that is left, word for word; `switch`
    is given or not, and `option` has a value behind its name. `instead_of` names the argument that
    a switch replaces.
    """

    kind: Literal["word", "words", "text", "option", "switch"]
    shown: str
    help: str
    unit: Unit | None = None
    short: str = ""
    instead_of: str = ""


def word(shown: str, unit: Unit, help_text: str) -> Any:
    """Declares one word that may be left out."""
    return _declared(None, Argument("word", shown, help_text, unit))


def words(shown: str, unit: Unit, help_text: str) -> Any:
    """Declares any number of words."""
    return _declared((), Argument("words", shown, help_text, unit))


def text(shown: str, help_text: str, default: str | None = None) -> Any:
    """Declares free text, which takes all that follows the other arguments. `shown` stands in the
    usage as it is.
    """
    return _declared(default, Argument("text", shown, help_text))


def option(shown: str, unit: Unit, help_text: str, default: Any = None) -> Any:
    """Declares an option with a value, named as the field."""
    return _declared(default, Argument("option", shown, help_text, unit))


def switch(help_text: str, *, instead_of: str = "") -> Any:
    """Declares an option without a value, named as the field."""
    return _declared(False, Argument("switch", "", help_text, instead_of=instead_of))


def dry_run() -> Any:
    """Declares the switch `--dry-run`."""
    help_text = "only say what would be done"
    return _declared(False, Argument("switch", "", help_text, short="-n"))


def _declared(default: Any, argument: Argument) -> Any:
    return field(default=default, metadata={_KEY: argument})


def arguments(command: type[Any]) -> dict[str, Argument]:
    """Returns the arguments of a command's type, by the names of its fields, in their order."""
    fields = command.__dataclass_fields__
    return {name: one.metadata[_KEY] for name, one in fields.items() if _KEY in one.metadata}


def spelled_option(name: str) -> str:
    """Returns the option that sets the field `name`."""
    return f"--{name.replace('_', '-')}"


def usage_of(name: str, declared: dict[str, Argument]) -> str:
    """Returns the usage of the command `name`, such as `/clear [N] [--force]`."""
    replaced = {one.instead_of: spelled_option(name) for name, one in declared.items()}
    parts = [f"/{name}"]
    for argument_name, one in declared.items():
        either = f" | {replaced[argument_name]}" if argument_name in replaced else ""
        match one.kind:
            case "word":
                parts.append(f"[{one.shown}{either}]")
            case "words":
                parts.append(f"[{one.shown} …]")
            case "text":
                parts.append(one.shown)
            case "option":
                parts.append(f"[{spelled_option(argument_name)} {one.shown}]")
            case "switch":
                if not one.instead_of:
                    parts.append(f"[{spelled_option(argument_name)}]")
            case _:
                assert_never(one.kind)
    return " ".join(parts)


def whole(what: str, least: int) -> Unit:
    """Returns the unit of whole numbers from `least` to a million."""

    def read(given: str) -> int | None:
        if not re.fullmatch(r"[0-9]{1,7}", given) or not least <= int(given) <= MAX_TURNS:
            return None
        return int(given)

    return Unit(f"{what}, {least} to {MAX_TURNS:,}", read)


TURNS = whole("the number of turns to keep", 0)
_STRETCH = re.compile(r"([0-9]{0,7})\.\.([0-9]{0,7})")


def _stretch(given: str) -> str | None:
    ends = _STRETCH.fullmatch(given)
    numbers = [int(end) for end in ends.groups() if end] if ends is not None else []
    is_one = bool(numbers) and all(0 < number <= MAX_TURNS for number in numbers)
    return given if is_one else None


def _turns_or_stretch(given: str) -> int | str | None:
    count: int | None = TURNS.read(given)
    return count if count is not None else _stretch(given)


def _turn_or_stretch(given: str) -> str | None:
    return _stretch(f"{given}..{given}" if given.isdecimal() else given)


def ends_of(stretch: str) -> tuple[int | None, int | None]:
    """Returns the first and the last turn of a stretch such as `4..12`, None for an open end."""
    first, last = [int(end) if end else None for end in stretch.split("..")]
    return first, last


TURNS_OR_STRETCH = Unit(f"{TURNS.takes}, or turns such as 4..12", _turns_or_stretch)
STRETCH = Unit("turns such as 4..12", _stretch, re.compile(r"\d+\.\.\S*|\.\.(?:\d\S*)?"))
TURN_OR_STRETCH = Unit("a turn such as 5, or turns such as 4..12", _turn_or_stretch)
TURNS_LISTED = whole("how many turns to list", 1)


def _token_count(given: str) -> int | None:
    number = re.fullmatch(r"([0-9]{1,9})(k?)", given.replace(",", "").lower())
    count = int(number[1]) * (1000 if number[2] else 1) if number else 0
    return count if 0 < count <= MAX_TOKENS else None


TOKENS = Unit("one number of tokens to get down to, such as 50000 or 50k", _token_count)


# An entry as a search shows it, and what else names a turn: its id, or a checkpoint's commit.
_ENTRY = r"(?:[0-9a-f-]{4,36}:)?[hm][1-9][0-9]{0,8}\.[1-9][0-9]{0,8}"
_NAMES_TURN = re.compile(rf"[0-9a-fA-F-]{{36}}|[0-9a-f]{{7,40}}|{_ENTRY}")


def _turn(given: str) -> int | str | None:
    count: int | None = TURNS.read(given)
    return count if count is not None or not _NAMES_TURN.fullmatch(given) else given


TURN = Unit("the number of the turn to go back to, 0 for before the first, or its id", _turn)


def _turn_to_pin(given: str) -> int | str | None:
    if re.fullmatch(_ENTRY, given):
        return given
    count: int | None = None if given.startswith("0") else TURNS.read(given)
    return count


TURN_NUMBER = Unit("the numbers of turns, counted from 1", _turn_to_pin)
PIN = Unit("the numbers that {pins} shows", whole("", 1).read)


def _any_name(given: str) -> str | None:
    return None if not given or given.startswith("--") else given


def _yes_or_no(given: str) -> str | None:
    return given.lower() if given.lower() in ("yes", "no") else None


YES_OR_NO = Unit("yes or no", _yes_or_no)


DRAFT_PREFIX = "draft:"


def _draft_id(given: str) -> str | None:
    return given if re.fullmatch(rf"{DRAFT_PREFIX}[\w-]{{1,256}}", given, re.ASCII) else None


DRAFT_ID = Unit("the draft that is meant", _draft_id)


def _show_or_edit(given: str) -> str | None:
    return given.lower() if given.lower() in ("show", "edit") else None


SHOW_OR_EDIT = Unit("show or edit", _show_or_edit)


DEFAULT = "default"
_AUTO_MODES = ("off", "warn", "mask", "compact", DEFAULT)


def _auto_mode(given: str) -> str | None:
    return given.lower() if given.lower() in _AUTO_MODES else None


AUTO_MODE = Unit("off, warn, mask, compact or default", _auto_mode)


GROUPINGS = ("thread", "folder", "day", "model")


def _grouping(given: str) -> str | None:
    return given.lower() if given.lower() in GROUPINGS else None


GROUPING = Unit("thread, folder, day or model", _grouping)
_AGE = re.compile(r"([0-9]{1,5})([mhdw])")
_MINUTES = {"m": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}


def _since(given: str) -> timedelta | date | None:
    if (age := _AGE.fullmatch(given)) is not None:
        return timedelta(minutes=int(age[1]) * _MINUTES[age[2]])
    try:
        return date.fromisoformat(given)
    except ValueError:
        return None


def _since_as_given(given: str) -> str | None:
    return given if _since(given) is not None else None


SINCE = Unit("an age such as 7d, 12h or 30m, or a date such as 2026-01-31", _since_as_given)


def since_in(given: str) -> timedelta | date:
    """Returns what a word that `SINCE` has read means: an age, or the day that it begins with."""
    found = _since(given)
    if found is None:
        raise ValueError(given)
    return found


MODEL = Unit("the name of a model", _any_name)
