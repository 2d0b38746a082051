"""The keys of the main screen. Each has an id, by which Textual can map it to another key."""

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
    ("ctrl+end", "end", "end"),
)
BINDINGS = tuple(
    Binding(key, action, id=f"chat.{name}", show=False, priority=True)
    for key, action, name in _KEYS
)
EVERYWHERE = frozenset({"quit", "suspend_process", "redraw", "stop"})
"""The actions that run while another screen is shown, too."""
