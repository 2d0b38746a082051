"""Lines that name keys, whose words can be clicked in place of the key."""

import re

_KEY = re.compile(
    r"(?<![^\s·(])((?:(?:Ctrl|Alt|Shift)\+|\^)*"
    r"(?:Enter|Esc|Tab|Del|Space|F1|Home|End|[A-Z?↑↓]))(?=[ ;]|$)"
)
_NAMES = {"esc": "escape", "del": "delete", "?": "question_mark", "↑": "up", "↓": "down"}


def key_clicked(line: str, column: int) -> str | None:
    """Returns the key, by Textual's name for it, that the words at this column of a line explain:
    the last one that is named before. None if there is none.
    """
    before = [key[1] for key in _KEY.finditer(line) if key.start() <= column < len(line)]
    return named(before[-1]) if before else None


def named(key: str) -> str:
    """Returns Textual's name of a key that is written for a person, such as `Ctrl+N` or `^N`."""
    *with_it, last = key.replace("^", "Ctrl+").lower().split("+")
    return "+".join([*with_it, _NAMES.get(last, last)])
