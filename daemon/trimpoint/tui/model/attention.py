"""What a person who looks elsewhere is told: that a thread waits for them, or has answered."""

from collections.abc import Mapping
from typing import Any

from trimpoint_protocol.lenient import as_list
from trimpoint_protocol.methods import ThreadOverview

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


class Attention:
    """Tells news from what was told before; threads that are not open are looked at, too."""

    def __init__(self) -> None:
        self._asking: set[str] | None = None
        self._was_busy: str | None = None

    def news(self, state: ChatState, *, is_away: bool) -> list[str]:
        """Returns a sentence for each thread that has begun to ask since the last call, and one if
        the open thread has come to rest while the person is away.
        """
        asking = {one.id: one for one in state.threads if asks(one)}
        before, self._asking = self._asking, set(asking)
        if before is None:
            return []
        found = [
            f"{_name(one)} asks you something" for one in asking.values() if one.id not in before
        ]
        was_busy, self._was_busy = self._was_busy, state.thread_id if state.busy else None
        if is_away and was_busy == state.thread_id and was_busy is not None and not state.busy:
            found.append(f"{one_line(state.title, _TITLE_CHARS)} has ended its turn")
        return found


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


def _name(thread: ThreadOverview) -> str:
    return one_line(thread.name or thread.preview or thread.id[-8:], _TITLE_CHARS)
