"""Words of ours that name keys, and can be clicked in place of the key. What others wrote never
can: a click on it would press a key that nobody meant.
"""

import re
from typing import Any

from rich.style import Style
from rich.text import Text

_KEY = re.compile(
    r"(?<![^\s·(])((?:(?:Ctrl|Alt|Shift)\+|\^)*"
    r"(?:Enter|Esc|Tab|Del|Space|F1|Home|End|PgUp|PgDn|[A-Z?/@↑↓]))(?=[ ;]|$)"
)
_META = "trimpoint_key"
_NAMES = {
    "esc": "escape", "del": "delete", "?": "question_mark", "↑": "up", "↓": "down",
    "pgup": "pageup", "pgdn": "pagedown",
}  # fmt: skip


def keyed(words: str, style: str = "") -> Text:
    """Returns words of ours in which each key, with what is said of it, can be clicked."""
    text, keys = Text(words, style), [*_KEY.finditer(words)]
    ends = [*(key.start() for key in keys[1:]), len(words)]
    for key, end in zip(keys, ends, strict=True) if keys else ():
        text.stylize(Style(meta={_META: named(key[1])}), key.start(), end)
    return text


def key_clicked(style: Style) -> str | None:
    """Returns the key, by Textual's name for it, of the words that have this style under the mouse;
    None if they name none.
    """
    key: Any = style.meta.get(_META)
    return key if isinstance(key, str) else None


def named(key: str) -> str:
    """Returns Textual's name of a key that is written for a person, such as `Ctrl+N` or `^N`."""
    *with_it, last = key.replace("^", "Ctrl+").lower().split("+")
    return "+".join([*with_it, _NAMES.get(last, last)])
