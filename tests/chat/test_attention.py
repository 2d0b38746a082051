"""What a person who looks elsewhere is told, and when the list of threads is read again."""

from typing import Any, get_args

import pytest
from trimpoint.tui.model.attention import is_behind, is_shown, others_that_ask, window_title
from trimpoint.tui.model.state import ChatState
from trimpoint.tui.widgets.alerts import Alerts
from trimpoint_protocol.shapes.notices import Notice, NoticeKind

from tests.chat.entries import thread


def notice(event: NoticeKind, folder: str = "/work") -> Notice:
    return Notice(thread_id="a", event=event, said=f"{event}.", title="shop\x1b]0;x", folder=folder)


def test_the_title_of_the_window_says_who_asks() -> None:
    state = ChatState("/work", "a")
    state.threads = [thread("a", preview="Mine"), thread("b", preview="Other")]
    assert window_title(state) == "Mine · trimpoint"
    state.threads = [thread("a", preview="Mine", busy="turn: running"),
                     thread("b", preview="Other", busy="turn: running", asks="m")]  # fmt: skip
    assert (others_that_ask(state), window_title(state)) == (1, "? 1 thread asks · trimpoint")
    state.threads = [thread("a", preview="Mine", busy="turn: running")]
    assert (others_that_ask(state), window_title(state)) == (0, "… Mine · trimpoint")


@pytest.mark.parametrize("kind", get_args(NoticeKind))
def test_a_question_is_always_shown_and_the_rest_to_who_is_away_from_its_folder(
    kind: NoticeKind,
) -> None:
    state = ChatState("/work", "a")
    assert is_shown(notice(kind), state, is_away=True)
    assert is_shown(notice(kind), state, is_away=False) is (kind == "asks")
    assert is_shown(notice(kind, "/other"), state, is_away=True) is (kind == "asks")


def test_the_terminal_rings_once_for_a_notice_and_only_where_it_may() -> None:
    for is_loud in (True, False):
        written = list[str]()
        alerts = Alerts(written.append, is_loud=is_loud)
        alerts.end()
        state = ChatState("/work", "a")
        state.threads = [thread("a", preview="Mine", busy="turn: running")]
        state.told.append(notice("asks"))
        alerts.notify(state, is_away=False)
        alerts.notify(state, is_away=False)
        alerts.end()
        assert written[0] == "\x1b[22;2t\x1b]2;… Mine · trimpoint\x07"
        assert written.count("\x07\x1b]9;shop␛]0;x: asks.\x07") == is_loud
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
