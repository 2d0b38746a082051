"""The loaded history, streamed entries, and the visible lines."""

import random

import pytest
from trimpoint.tui.model.details import can_open, shown_prompt
from trimpoint.tui.model.live import Live
from trimpoint.tui.model.prompt import typed_again
from trimpoint.tui.model.scroll_bar import ScrollBar
from trimpoint.tui.model.streaming import settled
from trimpoint.tui.model.transcript import Transcript, key_of
from trimpoint.tui.model.viewport import Line, Viewport
from trimpoint_protocol.methods import TimelinePage
from trimpoint_protocol.readmodel import TimelineActivity, TimelineMessage

from tests.chat.entries import banner, did, divider, page, said


def test_keys_tell_entries_apart() -> None:
    entries = [said("1", "x"), said("1", "x", turn="t2"), did("plan", {}), banner("s"), divider()]
    assert len({key_of(entry) for entry in entries}) == len(entries)


def test_older_pages_come_before_and_newest_ones_are_merged() -> None:
    transcript = Transcript()
    transcript.replace(page(said("3", "c"), said("4", "d"), cursor="older"))
    assert transcript.prepend(page(said("1", "a"), said("2", "b"))) == 2
    assert transcript.cursor is None
    transcript.merge(page(said("4", "d"), said("5", "e"), cursor="x"))
    assert [entry.id for entry in transcript.entries if isinstance(entry, TimelineMessage)] == list(
        "12345"
    )
    assert (transcript.find("t1/5"), transcript.find("t1/9")) == (4, None)
    assert transcript.known_keys(2) == {"t1/4", "t1/5"}


def test_a_newest_page_of_which_nothing_is_known_begins_anew() -> None:
    transcript = Transcript()
    transcript.replace(page(said("1", "a")))
    transcript.merge(page(said("8", "h"), cursor="gap"))
    assert (len(transcript.entries), transcript.cursor) == (1, "gap")
    transcript.merge(page())
    assert transcript.entries == []


def test_the_newest_entries_are_given_up_where_too_many_are_loaded() -> None:
    transcript = Transcript(max_entries=2)
    transcript.replace(page(said("2", "b"), said("3", "c"), cursor="older", first=1))
    transcript.prepend(page(said("1", "a")))
    assert (len(transcript.entries), transcript.is_at_end) == (2, False)
    transcript.merge(page(said("3", "c")))
    assert len(transcript.entries) == 2
    transcript.replace(page(said("3", "c")))
    assert transcript.is_at_end


def test_a_piece_of_the_thread_grows_at_both_ends_and_knows_where_it_is() -> None:
    told = [said(str(number), "text") for number in range(9)]

    def part(first: int, end: int) -> TimelinePage:
        return page(*told[first:end], first=first, count=9, cursor="older" if first else None)

    transcript = Transcript(max_entries=5)
    transcript.replace(part(7, 9))
    assert (transcript.first, transcript.has_older, transcript.is_at_end) == (7, True, True)
    transcript.replace(part(2, 4), is_newest=False)
    assert (transcript.first, transcript.end, transcript.is_at_end) == (2, 4, False)
    assert not transcript.append(part(5, 7))
    assert transcript.append(part(3, 6))
    assert transcript.entries == told[2:6]
    transcript.merge(page(told[8], first=9, count=10))
    assert (transcript.count, transcript.is_at_end) == (10, False)
    assert transcript.append(part(6, 9))
    assert (transcript.entries, transcript.first) == (told[4:9], 4)
    assert (transcript.is_at_end, transcript.cursor, transcript.has_older) == (True, None, True)
    transcript.prepend(part(2, 4))
    assert (transcript.entries, transcript.first) == (told[2:7], 2)
    assert not transcript.is_at_end


def test_the_page_of_an_older_daemon_does_not_say_where_it_is() -> None:
    transcript = Transcript()
    transcript.replace(page(said("8", "h"), cursor="older", count=0))
    assert (transcript.has_older, transcript.is_at_end) == (True, True)
    transcript.replace(page(said("1", "a"), count=0), is_newest=False)
    assert (transcript.has_older, transcript.is_at_end) == (False, False)


@pytest.mark.parametrize(
    ("bar", "first", "last", "thumb"),
    [
        (ScrollBar(10, 100), 0, 10, range(1)),
        (ScrollBar(10, 100), 90, 100, range(9, 10)),
        (ScrollBar(10, 100), 40.5, 60, range(4, 6)),
        (ScrollBar(10, 20), 0, 10, range(5)),
        (ScrollBar(10, 100_000), 99_990, 100_000, range(9, 10)),
        (ScrollBar(4, 1), 0.5, 1, range(2, 4)),
    ],
)
def test_the_scroll_bar_says_where_one_is_in_the_whole_thread(
    bar: ScrollBar, first: float, last: float, thumb: range
) -> None:
    assert bar.thumb(first, last) == thumb


def test_a_line_of_the_scroll_bar_is_a_place_of_the_thread() -> None:
    assert [ScrollBar(5, 100).row_at(line) for line in (-3, 0, 2, 4, 9)] == [0, 0, 50, None, None]
    assert ScrollBar(1, 100).row_at(0) is None


def test_a_compaction_is_shown_only_while_it_lasts() -> None:
    live, item = Live(), {"id": "c", "type": "contextCompaction"}
    live.note("item/started", {"turnId": "t1", "item": item})
    [entry] = live.entries
    assert isinstance(entry, TimelineActivity)
    assert entry.title == "Codex compacts the context"
    live.note("item/completed", {"turnId": "t1", "item": item})
    assert live.entries == []


def test_the_section_that_is_hidden_before_a_place_is_known() -> None:
    transcript = Transcript()
    transcript.replace(
        page(
            divider("a"), divider("d", kind="discard"), said("1", "x"),
            divider("b", expanded=True), divider("c", hidden=0), said("2", "x"), first=10,
        )
    )  # fmt: skip
    found = [transcript.hidden_before(place) for place in range(9, 17)]
    assert found == [None, None, "a", "a", "a", None, None, None]
    transcript.replace(page(divider("a"), divider("edited", hidden=0), said("1", "x")))
    assert transcript.hidden_before(3) == "a"


# --- what streams in ----------------------------------------------------------------------------


def _item(kind: str, **members: object) -> dict[str, object]:
    return {"turnId": "t1", "item": {"id": kind, "type": kind, **members}}


def test_an_answer_grows_and_is_dropped_once_it_is_recorded() -> None:
    live = Live()
    assert live.note("item/started", _item("agentMessage", text=""))
    assert not live.is_writing
    for piece in ("Hel", "lo"):
        assert live.note("item/agentMessage/delta", {"itemId": "agentMessage", "delta": piece})
    [entry] = live.entries
    assert isinstance(entry, TimelineMessage)
    assert (entry.text, entry.role, live.is_writing) == ("Hello", "assistant", True)
    live.note("item/completed", _item("agentMessage", text=""))
    assert live.entries == [entry]
    live.note("turn/completed", {})
    assert live.entries == [entry]
    live.forget({"t1/other"})
    live.forget({"t1/agentMessage"})
    assert live.entries == []


def test_output_of_a_command_is_shown_while_it_runs() -> None:
    live = Live()
    live.note("item/started", _item("commandExecution", command="ls"))
    live.note("item/commandExecution/outputDelta", {"itemId": "commandExecution", "delta": "a\n"})
    [entry] = live.entries
    assert isinstance(entry, TimelineActivity)
    assert entry.detail["aggregatedOutput"] == "a\n"
    assert live.item("commandExecution")["command"] == "ls"
    assert live.item("nothing") == {}
    live.note("turn/completed", {})
    assert live.entries == []


@pytest.mark.parametrize(
    ("item", "title"),
    [
        (_item("reasoning", summary=["Think"], content=["hard"]), "Think\n\nhard"),
        (_item("reasoning"), "thinking"),
        (_item("plan", text="1. Do it"), "1. Do it"),
        (_item("webSearch", query="words"), "words"),
    ],
)
def test_activities_have_a_title(item: dict[str, object], title: str) -> None:
    live = Live()
    live.note("item/started", item)
    [entry] = live.entries
    assert isinstance(entry, TimelineActivity)
    assert entry.title == title


def test_a_prompt_is_shown_as_the_users() -> None:
    live = Live()
    live.note("item/started", _item("userMessage", content=[{"text": "a"}, {"type": "image"}]))
    [entry] = live.entries
    assert isinstance(entry, TimelineMessage)
    assert (entry.role, entry.text) == ("user", "a")


def test_a_repeated_call_of_the_model_is_shown_until_the_answer_begins() -> None:
    live = Live()
    live.note("error", {"willRetry": True, "error": {"message": "Overloaded"}})
    assert live.retry == "Overloaded; trying again …"
    live.note("turn/started", {})
    assert live.retry == ""
    live.note("error", {"willRetry": False})
    assert live.retry == ""


def test_unknown_notifications_change_nothing() -> None:
    live = Live()
    assert not live.note("item/agentMessage/delta", {"itemId": "gone", "delta": "x"})
    assert not live.note("thread/somethingElse", {})
    live.note("item/started", _item("agentMessage", text="x"))
    live.clear()
    assert live.entries == []


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("one line", ""),
        ("one\n\ntwo", "one\n\n"),
        ("one\n\n```py\na\n\nb", "one\n\n"),
        ("```py\na\n\nb\n```\n\nrest", "```py\na\n\nb\n```\n\n"),
        ("~~~\n```\n\n", ""),
        ("one\n  ", ""),
    ],
)
def test_a_half_written_answer_is_settled_up_to_its_last_blank_line(text: str, done: str) -> None:
    assert text[: settled(text)] == done


# --- which lines are in sight -------------------------------------------------------------------


class _Rows:
    def __init__(self, *heights: int) -> None:
        self.heights = list(heights)
        self.measured: set[int] = set()

    def __len__(self) -> int:
        return len(self.heights)

    def height(self, row: int) -> int:
        self.measured.add(row)
        return self.heights[row]


def _all(rows: _Rows) -> list[Line]:
    return [Line(row, line) for row, high in enumerate(rows.heights) for line in range(high)]


def test_the_end_is_in_sight_and_only_rows_near_it_are_measured() -> None:
    rows = _Rows(*[3] * 1000)
    view = Viewport()
    assert view.visible(rows, 10) == _all(rows)[-10:]
    assert min(rows.measured) > 990
    rows.heights.append(2)
    assert view.visible(rows, 10) == _all(rows)[-10:]


def test_rows_that_fit_are_shown_from_the_top() -> None:
    rows = _Rows(2, 3)
    view = Viewport()
    assert view.visible(rows, 10) == _all(rows)
    assert Viewport().visible(_Rows(), 10) == []
    view.top, view.follows = Line(0, 0), False
    assert view.visible(rows, 10) == _all(rows)
    assert view.follows


def test_scrolling_moves_by_lines_and_stops_at_the_ends() -> None:
    rows = _Rows(2, 7, 1, 4, 3)
    lines, view, top = _all(rows), Viewport(), 17 - 5
    chance = random.Random(4)
    for _ in range(300):
        step = chance.randint(-9, 9)
        view.scroll(rows, 5, step)
        top = max(0, min(17 - 5, top + step))
        assert view.visible(rows, 5) == lines[top : top + 5]
        assert view.follows is (top == 12)


def test_a_row_is_brought_into_sight_with_as_little_movement_as_possible() -> None:
    rows = _Rows(*[2] * 20)
    view = Viewport()
    view.visible(rows, 6)
    view.show(rows, 6, 3)
    assert view.visible(rows, 6)[0] == Line(3, 0)
    view.show(rows, 6, 4)
    assert view.visible(rows, 6)[0] == Line(3, 0)
    view.show(rows, 6, 7)
    assert view.visible(rows, 6)[-1] == Line(7, 1)
    view.show(rows, 6, 19)
    assert view.follows
    view.shift(5)
    Viewport().show(_Rows(9, 1), 3, 0)


def test_a_row_that_is_taller_than_the_screen_is_shown_from_its_first_line() -> None:
    rows = _Rows(1, 9, 1)
    view = Viewport()
    view.top, view.follows = Line(0, 0), False
    view.show(rows, 3, 1)
    assert view.visible(rows, 3)[0] == Line(1, 0)


def test_the_place_is_kept_when_rows_come_before_it() -> None:
    rows = _Rows(*[2] * 10)
    view = Viewport()
    view.scroll(rows, 4, -6)
    before = view.visible(rows, 4)
    rows.heights[:0] = [1, 1, 1]
    view.shift(3)
    assert view.visible(rows, 4) == [Line(row + 3, line) for row, line in before]
    view.to_end()
    assert view.visible(rows, 4) == _all(rows)[-4:]


def test_an_image_of_a_recorded_prompt_is_named_once_and_can_be_sent_again() -> None:
    twice, other = "[localImage: /a b.png]\n[image /a b.png] what", "[localImage: /c.png]\nwhat"
    assert shown_prompt(twice, is_open=False) == "[image /a b.png] what"
    assert shown_prompt(other, is_open=False) == "[image /c.png]\nwhat"
    assert typed_again("[image /d.png] and [localImage: x]") == "[image /d.png] and [localImage: x]"
    assert not can_open(said("1", twice, role="user"))
