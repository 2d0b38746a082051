import pytest
from trimpoint.core.commands.looking import Timeline
from trimpoint.core.commands.parsing import NotACommand, UsageError, parse
from trimpoint.core.model import events as ev
from trimpoint.core.views.timeline_text import timeline_text

from tests.core.given import started


def test_turns_are_listed_with_their_numbers_and_a_line_where_the_context_was_trimmed() -> None:
    thread = started(turns=3)
    thread.clear(1)
    thread.turn()
    thread.compact("in short")
    lines = timeline_text(thread.state).splitlines()
    assert lines == [
        "4 turns, all trimmed.",
        "1. prompt of turn-1",
        "2. prompt of turn-2",
        "──── cleared: 4 messages above ────",
        "3. prompt of turn-3",
        "4. prompt of turn-4",
        "──── summarized: 4 messages above ────",
    ]


def test_a_title_says_how_many_turns_the_agent_knows() -> None:
    thread = started(turns=3)
    assert timeline_text(thread.state).startswith("3 turns. The agent knows all of them.\n1. ")
    thread.clear(2)
    assert timeline_text(thread.state).startswith("3 turns. The agent knows the last 2.\n")


def test_only_the_newest_turns_are_listed() -> None:
    thread = started(turns=30)
    lines = timeline_text(thread.state).splitlines()
    assert lines[0] == "The last 20 of 30 turns. The agent knows all of them."
    assert (lines[1], lines[-1]) == ("11. prompt of turn-11", "30. prompt of turn-30")
    thread.clear(25)
    assert timeline_text(thread.state, 2).splitlines() == [
        "The last 2 of 30 turns. The agent knows the last 25.",
        "29. prompt of turn-29",
        "30. prompt of turn-30",
    ]


def test_turns_that_did_not_complete_say_so() -> None:
    thread = started(turns=1)
    thread.report(ev.TurnStarted("turn-9", 1))
    assert timeline_text(thread.state).endswith("2. (no prompt) (still running)")


def test_an_empty_thread_has_nothing_to_list() -> None:
    assert timeline_text(started().state) == "There are no messages yet."


@pytest.mark.parametrize(
    ("text", "turns"), [("/timeline", None), (":Timeline 5", 5), (" /TIMELINE  12 ", 12)]
)
def test_the_command_takes_a_number_of_turns(text: str, turns: int | None) -> None:
    assert parse(text) == Timeline(turns)


@pytest.mark.parametrize("text", ["/timeline 0", "/timeline all", "/timeline -1", "/timelne"])
def test_timeline_with_no_valid_number_of_turns_is_a_usage_error(text: str) -> None:
    assert isinstance(parse(text), UsageError)


def test_a_path_is_no_command() -> None:
    assert isinstance(parse("/timeline/x"), NotACommand)
