"""A thread as a document: all messages word for word, with the trims in their places."""

import msgspec
from trimpoint.core.views.export import Heading, document, markdown
from trimpoint.core.views.timeline import Timeline
from trimpoint_protocol.readmodel import TimelineActivity, TimelineEntry

from tests.core.given import Conversation, started

HEADING = Heading("thread-1", "A `name`\nof two lines", "/work", "2026-01-01T00:00:00.000Z")


def entries(thread: Conversation, *, pruned: bool) -> list[TimelineEntry]:
    expanded = (
        frozenset(point.id for point in thread.state.trim_points) if pruned else frozenset[str]()
    )
    return list(Timeline(thread.state, expanded))


def lived() -> Conversation:
    thread = started()
    thread.turn(
        "What is it?",
        "It is *this*.\n\n# Not a heading of ours",
        activities=["ls -l", "grep '`' x"],
    )
    thread.compact("first line\nsecond line")
    thread.turn("And then?", "That.")
    return thread


def test_a_document_reads_from_the_first_prompt_to_the_last_answer() -> None:
    text = "".join(markdown(HEADING, entries(lived(), pruned=True)))
    assert text.startswith("# A `name` of two lines\n\n- Thread: `thread-1`\n- Folder: `/work`\n")
    in_order = [
        "What is it?",
        "It is *this*.\n\n# Not",
        "> first line\n> second line",
        "*Earlier messages: 2*",
        "And then?",
        "That.",
    ]
    assert [text.index(part) for part in in_order] == sorted(text.index(part) for part in in_order)
    assert text.count("· pruned") == 2


def test_activities_stand_together_and_their_backticks_are_fenced() -> None:
    text = "".join(markdown(HEADING, entries(lived(), pruned=True)))
    assert "- Command: `ls -l`\n- Command: `` grep '`' x ``\n\n## Agent" in text


def test_what_an_activity_has_printed_stands_in_a_fence_that_it_cannot_end() -> None:
    def printed(text: str | None) -> TimelineActivity:
        return TimelineActivity(
            id="1", turn_id="1", activity="toolResult", title="Read", created_at="", trimmed=False,
            trim_point_id=None, detail=text and {"aggregatedOutput": text},
        )  # fmt: skip

    shown = [printed("```\ncode"), printed(None), printed("x" * 4001)]
    text = "".join(markdown(HEADING, shown, outputs=True))
    assert (
        "- Result: `Read`\n\n````\n```\ncode\n````\n\n- Result: `Read`\n- Result: `Read`\n" in text
    )
    assert text.endswith("x\n… 1 more character\n```\n")


def test_what_the_agent_asked_is_called_a_question() -> None:
    asked = TimelineActivity(
        id="1",
        turn_id="1",
        activity="userInput",
        title="Which? This",
        created_at="",
        trimmed=False,
        trim_point_id=None,
        detail=None,
    )
    assert "- Question: `Which? This`\n" in "".join(markdown(HEADING, [asked]))


def test_an_export_without_pruned_entries_says_how_many_it_omits() -> None:
    text = "".join(markdown(HEADING, entries(lived(), pruned=False)))
    assert "What is it?" not in text
    assert "*Earlier messages: 2, not shown*" in text


def test_a_thread_without_a_name_or_a_turn_has_a_document_too() -> None:
    assert "".join(markdown(HEADING._replace(name=None), [])).startswith("# Conversation\n")


def test_an_unknown_speaker_is_named_as_it_is() -> None:
    thread = started()
    thread.turn("hi", "there")
    shown = msgspec.structs.replace(entries(thread, pruned=True)[0], role="system")
    assert not isinstance(shown, TimelineActivity)
    assert "## system\n" in "".join(markdown(HEADING, [shown]))


def test_as_data_it_is_the_timeline() -> None:
    shown = entries(lived(), pruned=True)
    data = document(HEADING, shown)
    assert data["thread"]["id"] == "thread-1"
    assert data["entries"] == msgspec.to_builtins(shown)
