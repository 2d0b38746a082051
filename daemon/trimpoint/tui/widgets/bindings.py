"""The keys of the main screen. Each has an id, by which Textual can map it to another key."""

from collections.abc import Mapping

from textual.binding import Binding

_KEYS = (
    ("escape", "escape", "escape"),
    ("ctrl+c", "stop", "stop"),
    ("ctrl+d", "leave", "leave"),
    ("ctrl+q", "quit", "quit"),
    ("ctrl+z", "suspend_process", "suspend"),
    ("ctrl+l", "redraw", "redraw"),
    ("ctrl+o", "fold", "fold"),
    ("ctrl+g", "editor", "editor"),
    ("alt+g", "take_advice", "take-advice"),
    ("ctrl+t", "threads", "threads"),
    ("ctrl+n", "new", "new"),
    ("ctrl+r", "prompts", "prompts"),
    ("alt+z", "turns", "turns"),
    ("alt+t", "stretch", "make-room"),
    ("alt+r", "again", "again"),
    ("alt+up", "queue", "queue"),
    ("ctrl+x", "inspect", "inspect"),
    ("ctrl+f", "search", "search"),
    ("f1", "help", "help"),
    ("ctrl+s", "start_daemon", "start-daemon"),
    ("pageup", "page(-1)", "page-up"),
    ("pagedown", "page(1)", "page-down"),
    ("ctrl+up", "lines(-1)", "line-up"),
    ("ctrl+down", "lines(1)", "line-down"),
    ("ctrl+home", "beginning", "beginning"),
    ("ctrl+end", "end", "end"),
)
BINDINGS = tuple(
    Binding(key, action, id=f"chat.{name}", show=False, priority=True)
    for key, action, name in _KEYS
)
NAMES = tuple(name for _, _, name in _KEYS)
"""What keys can do, by the names that the configuration file has for it."""


def keymap(keys: Mapping[str, str]) -> dict[str, str]:
    """Returns Textual's keymap for the keys of the configuration file.

    :raises ValueError: when a name is unknown; the message says which there are.
    """
    unknown = [name for name in keys if name not in NAMES]
    if unknown:
        raise ValueError(f"[chat.keys] has no {unknown[0]!r}; there are {', '.join(NAMES)}")
    return {f"chat.{name}": key for name, key in keys.items()}


EVERYWHERE = frozenset({"quit", "suspend_process", "redraw", "stop"})
"""The actions that run while another screen is shown, too."""
