"""The timeline for a person: the places of dividers and banners, and the pruned entries that are
shown.
"""

from typing import Any

import msgspec
import pytest
from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import Entry
from trimpoint.core.views.timeline import Timeline

from tests.core.given import Conversation, activity, started

NOTHING: frozenset[str] = frozenset()


def shown(thread: Conversation, expanded: frozenset[str] = NOTHING) -> list[str]:
    """Returns one or two words for each entry: its text, with `-` if it is trimmed, or the boundary
    that it is.
    """
    lines: list[str] = []
    for entry in as_json(thread, expanded):
        match entry["kind"]:
            case "contextTrimPointDivider":
                lines.append(f"divider {entry['hiddenMessageCount']}")
            case "contextSummaryBanner":
                lines.append(f"banner {entry['summary']}")
            case _:
                lines.append(
                    ("-" if entry["trimmed"] else "") + str(entry.get("text") or entry.get("title"))
                )
    return lines


def as_json(thread: Conversation, expanded: frozenset[str] = NOTHING) -> list[dict[str, Any]]:
    encoded = msgspec.json.encode(list(Timeline(thread.state, expanded)))
    return msgspec.json.decode(encoded, type=list[dict[str, Any]])


def conversation(*turns: str) -> Conversation:
    """Returns a thread with a turn of one prompt and one answer for each word."""
    thread = started()
    for word in turns:
        thread.turn(f"{word}?", f"{word}!")
    return thread


def test_an_untrimmed_thread_shows_everything_in_order() -> None:
    thread = started()
    thread.turn("a?", "a!", activities=["ls"])
    assert shown(thread) == ["a?", "ls", "a!"]
    assert shown(started()) == []


def test_kept_turns_stand_below_the_divider() -> None:
    thread = conversation("a", "b", "c")
    thread.clear(1)
    assert shown(thread) == ["divider 4", "c?", "c!"]


def test_after_a_clear_of_everything_new_turns_stand_below_the_divider() -> None:
    thread = conversation("a")
    thread.clear()
    assert shown(thread) == ["divider 2"]
    thread.turn("b?", "b!")
    assert shown(thread) == ["divider 2", "b?", "b!"]


def test_expanded_the_pruned_section_is_there_and_flagged() -> None:
    thread = conversation("a", "b")
    point = thread.clear(1)
    assert shown(thread, frozenset({point})) == ["-a?", "-a!", "divider 2", "b?", "b!"]


def test_each_trim_point_is_expanded_by_itself() -> None:
    thread = conversation("a", "b")
    first = thread.clear(1)
    thread.turn("c?", "c!")
    second = thread.clear(1)
    thread.turn("d?", "d!")
    kept = ["c?", "c!", "d?", "d!"]
    assert shown(thread) == ["divider 2", "divider 2", *kept]
    assert shown(thread, frozenset({first})) == ["-a?", "-a!", "divider 2", "divider 2", *kept]
    assert shown(thread, frozenset({second})) == ["divider 2", "-b?", "-b!", "divider 2", *kept]
    both = shown(thread, frozenset({first, second}))
    assert both == ["-a?", "-a!", "divider 2", "-b?", "-b!", "divider 2", *kept]


def test_a_turn_has_a_place_whether_it_is_shown_or_not() -> None:
    thread = conversation("a", "b", "c")
    point = thread.clear(1)
    firsts = [turn.first_entry_index for turn in thread.state.turns]
    hidden, opened = Timeline(thread.state, NOTHING), Timeline(thread.state, frozenset({point}))
    assert [hidden.place_of(at) for at in firsts] == [1, 1, 1]
    assert [opened.place_of(at) for at in firsts] == [0, 2, 5]
    assert hidden.place_of(6) == len(hidden)


def test_a_banner_stands_between_the_section_it_sums_up_and_its_divider() -> None:
    thread = conversation("a", "b", "c")
    point = thread.compact("we talked", keep=1)
    assert shown(thread) == ["banner we talked", "divider 4", "c?", "c!"]
    expanded = shown(thread, frozenset({point}))
    assert expanded == ["-a?", "-a!", "-b?", "-b!", "banner we talked", "divider 4", "c?", "c!"]


def test_a_sealed_summary_is_shown_as_sealed() -> None:
    thread = conversation("a", "b", "c")
    thread.compact(None)
    sealed = "banner The provider keeps this summary sealed; it cannot be shown."
    assert shown(thread) == [sealed, "divider 6"]


def test_a_clear_right_after_a_compaction_hides_no_messages() -> None:
    thread = conversation("a", "b", "c")
    thread.compact("we talked")
    point = thread.clear()
    assert shown(thread, frozenset({point})) == ["banner we talked", "divider 6", "divider 0"]


def test_a_command_that_outlives_a_clear_is_shown_with_its_turn() -> None:
    thread = conversation("a", "b")
    point = thread.clear(1)
    thread.report(activity("turn-1", "npm run dev"))
    assert shown(thread) == ["divider 2", "b?", "b!"]
    assert shown(thread, frozenset({point})) == [
        "-a?",
        "-a!",
        "-npm run dev",
        "divider 2",
        "b?",
        "b!",
    ]


def test_entries_are_what_the_wire_says_they_are() -> None:
    thread = started()
    thread.turn("a?", "a!", activities=["ls"])
    point = thread.compact("we talked", keep=None)
    message, command, _, banner, divider = as_json(thread, frozenset({point}))
    assert message == {
        "kind": "message",
        "id": "turn-1/user/a?",
        "turnId": "turn-1",
        "role": "user",
        "text": "a?",
        "createdAt": "2025-11-24T16:00:02.000Z",
        "trimmed": True,
        "trimPointId": point,
        "detail": None,
    }
    assert command == {
        "kind": "activity",
        "id": "turn-1/activity/ls",
        "turnId": "turn-1",
        "activity": "commandExecution",
        "title": "ls",
        "createdAt": "2025-11-24T16:00:03.000Z",
        "trimmed": True,
        "trimPointId": point,
        "detail": {"type": "commandExecution", "command": "ls"},
        "masked": False,
    }
    assert banner == {
        "kind": "contextSummaryBanner",
        "trimPointId": point,
        "header": "Context compacted",
        "summary": "we talked",
    }
    assert divider == {
        "kind": "contextTrimPointDivider",
        "trimPointId": point,
        "label": "Earlier messages",
        "hiddenMessageCount": 2,
        "expanded": True,
        "trimKind": "boundary",
        "pinnedCount": 0,
        "maskedCount": 0,
    }


def test_an_activity_without_detail_has_none() -> None:
    thread = started()
    thread.begin_turn("a?")
    thread.report(ev.EntryRecorded("turn-1", "r", "activity", "reasoning", "thinking"))
    assert as_json(thread)[-1]["detail"] is None


def test_an_unknown_trim_point_expands_nothing() -> None:
    thread = conversation("a", "b")
    thread.clear(1)
    assert shown(thread, frozenset({"no such"})) == shown(thread)


def test_a_timeline_is_a_sequence_of_its_entries() -> None:
    thread = conversation("a", "b", "c")
    thread.clear(1)
    timeline = Timeline(thread.state, frozenset(point.id for point in thread.state.trim_points))
    everything = list(timeline)
    assert len(timeline) == len(everything) == 7
    assert timeline[2:5] == everything[2:5]
    assert list(reversed(timeline)) == everything[::-1]
    with pytest.raises(IndexError):
        timeline[7]


def test_an_entry_is_made_only_when_it_is_asked_for() -> None:
    thread = conversation("a", "b", "c")
    looked_at: list[int] = []

    class Watched(list[Entry]):
        def __getitem__(self, index: Any) -> Any:
            looked_at.append(index)
            return super().__getitem__(index)

    thread.state.entries = Watched(thread.state.entries)
    timeline = Timeline(thread.state, NOTHING)
    assert timeline[len(timeline) - 1]
    assert looked_at == [5]
