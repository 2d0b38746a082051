"""A thread's history in Codex's form: defaults, directions and cursors are Codex's, and cursors
stay valid while the thread grows.
"""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trimpoint.core.model import events as ev
from trimpoint.core.model.asked import asked_and_answered
from trimpoint.gateway.methods.history import history
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint_protocol.errors import Reason

from tests.core.given import Conversation, started
from tests.effort import tries

PROMPT_ITEM = {
    "type": "userMessage",
    "id": "p",
    "clientId": "c",
    "content": [{"type": "image", "url": "u"}],
}


def several_generations() -> Conversation:
    """Returns a thread with turns 1 to 5, with a trim after turn 2 and another after turn 4."""
    conversation = started(turns=2)
    conversation.clear(1)
    conversation.turn(activities=["ls", "make"])
    conversation.turn()
    conversation.clear()
    conversation.turn()
    return conversation


def turn_ids(page: dict[str, Any]) -> list[str]:
    return [turn["id"] for turn in page["data"]]


def test_turns_come_newest_first_as_summaries_and_trims_do_not_show() -> None:
    page = history.turns_page(several_generations().state, {"threadId": "thread-1"})
    assert turn_ids(page) == ["turn-5", "turn-4", "turn-3", "turn-2", "turn-1"]
    assert {turn["itemsView"] for turn in page["data"]} == {"summary"}
    assert [item["type"] for item in page["data"][2]["items"]] == ["userMessage", "agentMessage"]
    assert page["nextCursor"] is None


@pytest.mark.parametrize(
    ("view", "types"),
    [
        ("notLoaded", []),
        ("summary", ["userMessage", "agentMessage"]),
        ("full", ["userMessage", "commandExecution", "commandExecution", "agentMessage"]),
    ],
)
def test_a_turn_has_as_many_items_as_the_view_asks_for(view: str, types: list[str]) -> None:
    page = history.turns_page(
        several_generations().state, {"itemsView": view, "sortDirection": "asc"}
    )
    assert [item["type"] for item in page["data"][2]["items"]] == types
    assert page["data"][2]["itemsView"] == view


def test_a_turn_looks_as_codex_shows_it() -> None:
    conversation = started()
    conversation.turn("hello", "hi", status="completed")
    turn = next(history.all_turns(conversation.state))
    assert turn["items"] == [
        {"type": "userMessage", "id": "turn-1/user/hello", "clientId": None, "content": [{"type": "text", "text": "hello", "text_elements": []}]},
        {
            "type": "agentMessage", "id": "turn-1/assistant/hi", "text": "hi",
            "phase": None, "memoryCitation": None, "delivery": None, "questions": None,
        },
    ]  # fmt: skip
    assert (turn["rootTurnId"], turn["status"], turn["error"]) == ("turn-1", "completed", None)
    assert turn["durationMs"] == (turn["completedAt"] - turn["startedAt"]) * 1000 > 0


def test_a_running_and_a_failed_turn_say_so() -> None:
    conversation = started()
    failed = conversation.begin_turn()
    conversation.report(ev.TurnCompleted(failed, "failed", "no room left"))
    conversation.begin_turn()
    first, second = history.all_turns(conversation.state)
    assert first["status"] == "failed"
    assert first["error"] == {
        "message": "no room left",
        "codexErrorInfo": None,
        "additionalDetails": None,
    }
    assert (second["status"], second["completedAt"], second["durationMs"]) == (
        "inProgress",
        None,
        None,
    )


def test_an_item_that_was_kept_whole_is_shown_whole() -> None:
    conversation = started()
    turn_id = conversation.begin_turn()
    conversation.report(
        ev.EntryRecorded(
            turn_id, "p", "message", "user", "[image: u]", msgspec.json.encode(PROMPT_ITEM)
        )
    )
    assert next(history.all_turns(conversation.state))["items"][1] == PROMPT_ITEM


def test_codex_does_not_say_what_a_person_has_allowed() -> None:
    conversation = started()
    conversation.turn()
    detail = b'{"type":"commandExecution","id":"c","approval":"allowed"}'
    allowed = ev.EntryRecorded("turn-1", "c", "activity", "commandExecution", "ls", detail)
    conversation.report(allowed)
    [turn] = history.all_turns(conversation.state)
    assert turn["items"][-1] == {"type": "commandExecution", "id": "c"}


def test_items_come_oldest_first_with_their_turns() -> None:
    page = history.items_page(several_generations().state, {})
    assert [row["turnId"] for row in page["data"]] == [
        *["turn-1"] * 2, *["turn-2"] * 2, *["turn-3"] * 4, *["turn-4"] * 2, *["turn-5"] * 2,
    ]  # fmt: skip
    assert page["data"][0].keys() == {"turnId", "item", "startedAtMs", "completedAtMs"}


def test_a_question_that_was_answered_is_no_item_of_codex() -> None:
    conversation = started()
    conversation.turn()
    questions = [{"id": "a", "question": "Which?"}]
    asking = {"turnId": "turn-1", "itemId": "call-1", "questions": questions}
    entry = asked_and_answered(asking, {"a": ["Blue"]})
    assert entry is not None
    conversation.report(entry)
    state = conversation.state
    assert [one.id for one in state.entries][-1] == "call-1"
    [turn] = history.all_turns(state)
    assert [item["type"] for item in turn["items"]] == ["userMessage", "agentMessage"]
    assert len(history.items_page(state, {})["data"]) == 2
    wanted = {"threadId": "thread-1", "turnId": "turn-1", "itemIds": ["call-1"]}
    assert history.items_read(state, wanted)["data"] == []


def test_items_of_one_turn_alone() -> None:
    state = several_generations().state
    page = history.items_page(state, {"turnId": "turn-3", "sortDirection": "desc", "limit": 3})
    assert [row["item"]["type"] for row in page["data"]] == [
        "agentMessage",
        "commandExecution",
        "commandExecution",
    ]
    rest = history.items_page(
        state, {"turnId": "turn-3", "sortDirection": "desc", "cursor": page["nextCursor"]}
    )
    assert [row["item"]["type"] for row in rest["data"]] == ["userMessage"]
    assert history.items_page(state, {"turnId": "nonsense"})["data"] == []


@given(st.integers(1, 20), st.sampled_from(["asc", "desc"]), st.sampled_from(["turns", "items"]))
@settings(max_examples=tries(60))
def test_pages_of_any_size_put_together_are_the_history(
    limit: int, direction: str, kind: str
) -> None:
    state = several_generations().state
    read = history.turns_page if kind == "turns" else history.items_page
    page = read(state, {"limit": limit, "sortDirection": direction})
    rows = page["data"]
    while page["nextCursor"] is not None:
        page = read(
            state, {"limit": limit, "sortDirection": direction, "cursor": page["nextCursor"]}
        )
        assert page["data"]
        rows = [*rows, *page["data"]]
    assert rows == read(state, {"limit": 1000, "sortDirection": direction})["data"]


def test_new_turns_between_two_pages_move_nothing() -> None:
    conversation = several_generations()
    page = history.turns_page(conversation.state, {"limit": 2})
    conversation.turns(2)
    assert turn_ids(
        history.turns_page(conversation.state, {"limit": 2, "cursor": page["nextCursor"]})
    ) == ["turn-3", "turn-2"]


def test_a_trim_between_two_pages_moves_nothing() -> None:
    conversation = several_generations()
    page = history.turns_page(conversation.state, {"limit": 2})
    conversation.clear()
    assert turn_ids(
        history.turns_page(conversation.state, {"limit": 2, "cursor": page["nextCursor"]})
    ) == ["turn-3", "turn-2"]


def test_turning_round_includes_the_first_row_of_the_page_again() -> None:
    conversation = several_generations()
    page = history.turns_page(conversation.state, {"limit": 2})
    conversation.turn()
    forth = history.turns_page(
        conversation.state, {"sortDirection": "asc", "cursor": page["backwardsCursor"]}
    )
    assert turn_ids(forth) == ["turn-5", "turn-6"]
    back = history.turns_page(conversation.state, {"cursor": forth["backwardsCursor"], "limit": 2})
    assert turn_ids(back) == ["turn-5", "turn-4"]


def test_the_newest_of_a_resumed_thread_is_where_reading_back_begins() -> None:
    state = several_generations().state
    turns = history.turns_page(
        state, {"cursor": history.newest_turns(state), "sortDirection": "desc"}
    )
    items = history.items_page(
        state, {"cursor": history.newest_items(state), "sortDirection": "desc"}
    )
    assert turns["data"] == history.turns_page(state, {})["data"]
    assert items["data"] == history.items_page(state, {"sortDirection": "desc"})["data"]
    empty = started().state
    assert (history.newest_turns(empty), history.newest_items(empty)) == (None, None)


def test_an_item_anchors_a_page_and_is_not_on_it() -> None:
    state = several_generations().state
    items = history.items_page(state, {"turnId": "turn-3"})["data"]
    anchor = {"type": "item", "itemId": state.entries[state.turns[2].first_entry_index + 1].id}
    after = history.items_page(state, {"turnId": "turn-3", "cursor": anchor})
    before = history.items_page(
        state, {"turnId": "turn-3", "cursor": anchor, "sortDirection": "desc"}
    )
    assert after["data"] == items[2:]
    assert before["data"] == items[:1]
    with pytest.raises(Refusal):
        history.items_page(state, {"cursor": {"type": "item", "itemId": "nonsense"}})


def test_an_empty_thread_has_an_empty_page() -> None:
    assert history.turns_page(started().state, {}) == {
        "data": [],
        "nextCursor": None,
        "backwardsCursor": None,
    }
    assert history.items_page(started().state, {}) == {
        "data": [],
        "nextCursor": None,
        "backwardsCursor": None,
    }


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "7",
        "t",
        "i0",
        "t-1",
        "t1x",
        "t٣",
        "t" + "9" * 40,
        '{"requestedThreadId":"x","rolloutOrdinal":3}',
    ],
)
def test_a_cursor_of_another_history_is_refused_and_not_misread(cursor: str) -> None:
    with pytest.raises(Refusal) as caught:
        history.turns_page(several_generations().state, {"cursor": cursor})
    assert caught.value.reason is Reason.INVALID_PARAMS


@pytest.mark.parametrize(
    "params",
    [
        {"limit": "many"},
        {"limit": 1.5},
        {"cursor": 3},
        {"sortDirection": "up"},
        {"itemsView": "all"},
        {"limit": []},
    ],
)
def test_parameters_of_a_wrong_type_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        history.turns_page(several_generations().state, params)


@pytest.mark.parametrize(("limit", "count"), [(0, 1), (-5, 1), (3, 3), (10**9, 5), (None, 5)])
def test_a_page_has_at_least_one_row_and_not_more_than_is_good(
    limit: int | None, count: int
) -> None:
    assert len(history.turns_page(several_generations().state, {"limit": limit})["data"]) == count


def compacted_and_cleared() -> Conversation:
    """Returns a thread with turns 1 to 3, with a compaction after turn 1 and a clear after turn
    2.
    """
    conversation = started(turns=1)
    conversation.compact()
    conversation.turn()
    conversation.clear()
    conversation.turn()
    return conversation


def marks(page: dict[str, Any]) -> list[str]:
    """Returns, for each item of a page, its type, or the first word of a message."""
    return [
        row["item"].get("text", "").split(" ")[0] or row["item"]["type"] for row in page["data"]
    ]


class TestTrims:
    """Trims are shown in the history by items."""

    def state(self) -> Any:
        return compacted_and_cleared().state

    def test_a_compaction_has_codexs_item_and_a_clear_a_message_where_wanted(self) -> None:
        everything = [row["item"]["type"] for row in history.items_page(self.state(), {})["data"]]
        turn = ["userMessage", "agentMessage"]
        assert everything == [*turn, "contextCompaction", *turn, *turn]
        rows = history.items_page(self.state(), {}, with_messages=True)["data"]
        assert rows[5]["item"]["text"] == "Context cleared: 2 messages above left it."
        assert rows[5]["turnId"] == "turn-2"

    def test_markers_stand_behind_the_same_entry_in_either_direction(self) -> None:
        pages = [
            marks(history.items_page(self.state(), {"sortDirection": way}, with_messages=True))
            for way in ("asc", "desc")
        ]
        assert pages[0] == pages[1][::-1]

    def test_pages_put_together_have_each_of_them_once(self) -> None:
        seen: list[str] = []
        cursor: str | None = None
        while True:
            params = {"limit": 1, **({"cursor": cursor} if cursor else {})}
            page = history.items_page(self.state(), params, with_messages=True)
            seen += [row["item"]["id"] for row in page["data"]]
            cursor = page["nextCursor"]
            if cursor is None:
                break
        whole = history.items_page(self.state(), {}, with_messages=True)["data"]
        assert seen == [row["item"]["id"] for row in whole]

    @pytest.mark.parametrize("direction", ["asc", "desc"])
    def test_any_item_can_anchor_a_page_and_is_not_on_it(self, direction: str) -> None:
        state = self.state()
        params: dict[str, Any] = {"sortDirection": direction}
        whole = [row["item"]["id"] for row in history.items_page(state, params)["data"]]
        for place, item_id in enumerate(whole[:3]):
            anchored = {**params, "cursor": {"itemId": item_id}}
            ids = [row["item"]["id"] for row in history.items_page(state, anchored)["data"]]
            assert ids == whole[place + 1 :]

    def test_a_turn_shows_the_trim_that_followed_it(self) -> None:
        page = history.turns_page(self.state(), {"itemsView": "full", "sortDirection": "asc"})
        types = [[item["type"] for item in turn["items"]] for turn in page["data"]]
        assert types[0] == ["userMessage", "agentMessage", "contextCompaction"]
        assert types[1] == ["userMessage", "agentMessage"]
