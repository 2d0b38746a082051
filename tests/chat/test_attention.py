"""What a person who looks elsewhere is told, and when the list of threads is read again."""

from typing import Any

import pytest
from trimpoint.core.model.decision import SUB_AGENT
from trimpoint.tui.model.attention import Attention, is_behind, others_that_ask, window_title
from trimpoint.tui.model.state import ChatState
from trimpoint.tui.widgets.alerts import Alerts

from tests.chat.entries import thread


def test_threads_that_begin_to_ask_are_reported_once_open_or_not() -> None:
    state, attention = ChatState("/work", "a"), Attention()
    state.threads = [thread("a", preview="Mine"), thread("b", preview="Other\x1b]0;x")]
    assert attention.news(state, is_away=True) == []
    assert window_title(state) == "Mine · trimpoint"
    state.threads = [thread("a", preview="Mine", busy="turn: running"),
                     thread("b", preview="Other\x1b]0;x", busy="turn: running", asks="m")]  # fmt: skip
    assert attention.news(state, is_away=True) == ["Other␛]0;x asks you something"]
    assert attention.news(state, is_away=True) == []
    assert (others_that_ask(state), window_title(state)) == (1, "? 1 thread asks · trimpoint")
    state.threads = [thread("a", preview="Mine"), thread("c", busy=f"request: {SUB_AGENT}")]
    assert attention.news(state, is_away=True) == ["Mine has ended its turn"]
    assert others_that_ask(state) == 0
    state.threads = [thread("a", preview="Mine", busy="turn: running")]
    assert attention.news(state, is_away=False) == []
    assert window_title(state) == "… Mine · trimpoint"
    state.threads = [thread("a", preview="Mine")]
    assert attention.news(state, is_away=False) == []


def test_the_terminal_rings_only_where_it_may() -> None:
    for is_loud in (True, False):
        written = list[str]()
        alerts = Alerts(written.append, is_loud=is_loud)
        alerts.end()
        state = ChatState("/work", "a")
        for asks in (None, "item/tool/requestUserInput"):
            state.threads = [thread("a", preview="Mine", busy="turn: running", asks=asks)]
            alerts.notify(state, is_away=False)
        alerts.end()
        assert written[0] == "\x1b[22;2t\x1b]2;… Mine · trimpoint\x07"
        assert ("\x07\x1b]9;Mine asks you something\x07" in written) is is_loud
        assert written[-1] == "\x1b[23;2t"


@pytest.mark.parametrize(
    ("status", "members", "behind"),
    [
        (None, {"busy": "turn: running"}, False),
        ({"type": "idle"}, {"busy": "turn: running"}, True),
        ({"type": "idle"}, {}, False),
        ({"type": "active", "activeFlags": []}, {"busy": "turn: running"}, False),
        ({"type": "active", "activeFlags": ["waitingOnApproval"]}, {}, True),
        ({"type": "active", "activeFlags": ["waitingOnUserInput"]}, {"asks": "tool"}, False),
    ],
)
def test_a_list_is_read_again_while_the_daemon_is_behind_codex(
    status: dict[str, Any] | None, members: dict[str, Any], behind: bool
) -> None:
    assert is_behind(thread("shop", **members), status) is behind
