"""Pages of a timeline together make up the whole timeline, whatever their size, and while entries
are added.
"""

import base64
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trimpoint.core.views.timeline import Timeline
from trimpoint.gateway.methods.extension import timeline_pages
from trimpoint.gateway.methods.extension.timeline_pages import timeline_page
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import TimelineParams
from trimpoint_protocol.readmodel import TimelineEntry

from tests.core.given import Conversation, started
from tests.effort import tries


def read(conversation: Conversation, **params: Any) -> tuple[list[TimelineEntry], str | None]:
    page = timeline_page(conversation.state, TimelineParams(thread_id="thread-1", **params))
    return page.entries, page.next_cursor


def read_all(conversation: Conversation, **params: Any) -> list[TimelineEntry]:
    entries, cursor = read(conversation, **params)
    while cursor is not None:
        older, cursor = read(conversation, cursor=cursor, **params)
        assert older
        entries = [*older, *entries]
    return entries


def whole(conversation: Conversation, *expanded: str) -> list[TimelineEntry]:
    return list(Timeline(conversation.state, frozenset(expanded)))


def refusal_of(conversation: Conversation, **params: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        read(conversation, **params)
    assert caught.value.reason is Reason.INVALID_PARAMS
    return caught.value


@given(st.integers(1, 30), st.booleans())
@settings(max_examples=tries(40))
def test_pages_of_any_size_put_together_are_the_timeline(limit: int, expand: bool) -> None:
    conversation = started(turns=4)
    conversation.clear(2)
    conversation.turns(2)
    points = [conversation.compact(keep=1)]
    conversation.turns(1)
    assert points[0] in {point.id for point in conversation.state.trim_points}
    expected = whole(
        conversation, *(point.id for point in conversation.state.trim_points if expand)
    )
    assert read_all(conversation, limit=limit, expand="all" if expand else None) == expected


def test_the_first_page_is_the_newest_and_oldest_first() -> None:
    conversation = started(turns=3)
    entries, cursor = read(conversation, limit=2)
    assert entries == whole(conversation)[-2:]
    assert cursor is not None


def test_entries_added_between_two_pages_move_no_page() -> None:
    conversation = started(turns=5)
    newest, cursor = read(conversation, limit=4)
    before = whole(conversation)
    conversation.turns(3)
    older, _ = read(conversation, limit=4, cursor=cursor)
    assert [*older, *newest] == before[-8:]


def test_a_cursor_from_before_a_trim_is_refused_and_not_misread() -> None:
    conversation = started(turns=5)
    _, cursor = read(conversation, limit=4)
    conversation.clear(3)
    assert "trimmed" in refusal_of(conversation, cursor=cursor, limit=4).message


def test_a_cursor_is_of_the_sections_that_were_expanded() -> None:
    conversation = started(turns=5)
    point = conversation.clear(2)
    _, cursor = read(conversation, limit=2, expand=[point])
    read(conversation, limit=2, cursor=cursor, expand="all")  # the same sections, said otherwise
    refusal_of(conversation, limit=2, cursor=cursor)


def test_a_page_is_bounded_in_bytes_and_never_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = started(turns=3)
    sizes = [len(msgspec.json.encode(entry)) for entry in whole(conversation)]
    monkeypatch.setattr(timeline_pages, "MAX_PAGE_BYTES", sizes[-1] + sizes[-2] + 1)
    assert len(read(conversation)[0]) == 2
    monkeypatch.setattr(timeline_pages, "MAX_PAGE_BYTES", 1)
    assert len(read(conversation)[0]) == 1
    assert read_all(conversation) == whole(conversation)


def test_a_thread_that_has_said_nothing_has_one_empty_page() -> None:
    assert read(started()) == ([], None)


def test_without_a_limit_a_page_has_as_many_entries_as_are_useful() -> None:
    conversation = started(turns=timeline_pages.DEFAULT_ENTRIES)
    assert len(read(conversation)[0]) == timeline_pages.DEFAULT_ENTRIES


@pytest.mark.parametrize(
    "plain",
    ["", "t", "t1", "5", "t-1.0", "x1.2", "t1.2.3", "t99999999999999999999.1", "t1.\u0661", "é"],
)
def test_a_cursor_that_was_never_given_out_is_refused(plain: str) -> None:
    conversation = started(turns=2)
    for cursor in (plain, base64.urlsafe_b64encode(plain.encode()).decode()):
        refusal_of(conversation, cursor=cursor)


def test_a_cursor_beyond_the_end_is_refused() -> None:
    long, short = started(turns=9), started(turns=1)
    _, cursor = read(long, limit=1)
    refusal_of(short, cursor=cursor)


def test_a_trim_point_that_is_none_is_named() -> None:
    conversation = started(turns=3)
    conversation.clear(1)
    assert "nonsense" in refusal_of(conversation, expand=["nonsense"]).message
    assert read(conversation, expand=[])[0] == read(conversation)[0]


def test_pages_can_begin_before_a_turn_and_say_where_they_stand() -> None:
    conversation = started(turns=4)
    entries = whole(conversation)
    state = conversation.state
    params = TimelineParams(thread_id="thread-1", before_turn=2, limit=3)
    page = timeline_page(state, params)
    end = state.turns[2].first_entry_index
    assert page.entries == entries[end - 3 : end]
    assert (page.first_entry, page.entry_count) == (end - 3, len(entries))
    assert [one.number for one in page.turns] == [1, 2]
    assert [one.id for one in page.turns] == [turn.id for turn in state.turns[:2]]
    assert read(conversation, before_turn=4) == read(conversation)
    assert read(conversation, before_turn=0) == ([], None)


def test_pages_can_begin_before_an_entry() -> None:
    conversation = started(turns=4)
    entries = whole(conversation)
    first, cursor = read(conversation, before_entry=3, limit=2)
    assert first == entries[1:3]
    assert read(conversation, cursor=cursor, limit=2) == (entries[:1], None)
    assert read(conversation, before_entry=10_000, limit=2)[0] == entries[-2:]
    assert read(conversation, before_entry=0) == ([], None)
