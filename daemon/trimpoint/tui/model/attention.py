"""What a person who looks elsewhere is told: what the daemon tells of the threads here."""

from collections.abc import Mapping
from typing import Any

from trimpoint_protocol.lenient import as_list
from trimpoint_protocol.methods import Notice, ThreadOverview

from trimpoint.cli.terminal import one_line
from trimpoint.core.model.decision import counted
from trimpoint.tui.model.state import ChatState

_TITLE_CHARS = 40


def asks(thread: ThreadOverview) -> bool:
    """Returns whether a thread waits for a person's answer."""
    return thread.asks is not None and not thread.archived


def is_behind(thread: ThreadOverview, said: Mapping[str, Any] | None) -> bool:
    """Returns whether the daemon has not recorded yet what Codex has said of a thread: that it
    rests, or that it waits for an answer. The daemon tells nobody when it has.

    :param said: the status that Codex gave last, None if it gave none.
    """
    if said is None:
        return False
    if any(str(flag).startswith("waitingOn") for flag in as_list(said.get("activeFlags"))):
        return thread.asks is None
    return said.get("type") != "active" and thread.busy is not None


def is_shown(notice: Notice, state: ChatState, *, is_away: bool) -> bool:
    """Returns whether the terminal shows what the daemon tells of a thread: a question always, the
    rest to a person who is away, of the threads in the chat's folder.
    """
    return notice.event == "asks" or (is_away and notice.folder == state.folder)


def others_that_ask(state: ChatState) -> int:
    """Returns how many threads that are not open wait for an answer."""
    return sum(asks(one) and one.id != state.thread_id for one in state.threads)


def window_title(state: ChatState) -> str:
    """Returns the title of the terminal's window: what waits for a person comes first."""
    name, others = one_line(state.title, _TITLE_CHARS), others_that_ask(state)
    if state.question is not None:
        return f"? {name} asks · trimpoint"
    if others:
        return f"? {counted(others, 'thread')} {'asks' if others == 1 else 'ask'} · trimpoint"
    return f"{'… ' if state.busy else ''}{name} · trimpoint"
