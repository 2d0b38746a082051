"""The status bar, typed text, menus, lists, details and the state."""

from pathlib import Path

import pytest
from trimpoint.tui.model.choosing import Choosing, Option, matches
from trimpoint.tui.model.details import MAX_LINES, can_open, details, short_summary, text_of
from trimpoint.tui.model.inspection import Inspection, Share
from trimpoint.tui.model.keys import KEYS
from trimpoint.tui.model.prompt import MAX_HISTORY, History, Outgoing, is_command
from trimpoint.tui.model.questions import Card
from trimpoint.tui.model.state import ChatState, Notice, Question, Tone, outcome_notice
from trimpoint.tui.model.status import status_bar
from trimpoint.tui.model.thread_options import session_options, thread_options
from trimpoint.tui.session.drafts import Drafts
from trimpoint_protocol.methods import ClassTotal, CommandOutcome
from trimpoint_protocol.shapes.agent_sessions import SessionOverview

from tests.chat.entries import (
    banner,
    context,
    did,
    divider,
    held,
    inspection,
    item,
    messages,
    said,
    thread,
)


def _bar(width: int, **members: object) -> str:
    return " ".join(p.text for p in status_bar("/work/shop", "Fix it", context(**members), width))


def test_the_status_bar_says_folder_thread_context_and_tokens() -> None:
    assert _bar(100) == "[/work/shop] [Fix it] [Context: 71% warning] [tokens: ~85k/120k]"
    measured = _bar(100, estimated=False, level="ok", percent=12.0, used_tokens=900)
    assert measured == "[/work/shop] [Fix it] [Context: 12%] [tokens: 900/120k]"


def test_a_narrow_status_bar_keeps_what_matters() -> None:
    long = status_bar("/home/me/projects/a-long-name", "A thread with many words", context(), 76)
    assert " ".join(p.text for p in long).startswith("[…")
    assert sum(len(p.text) + 1 for p in long) <= 77
    assert "tokens" not in _bar(56)
    assert "[Fix it]" in _bar(56)
    assert _bar(44) == "[Context: 71% warning] [tokens: ~85k/120k]"
    assert _bar(28) == "[Context: 71% warning]"


@pytest.mark.parametrize(("level", "style"), [("ok", "green"), ("critical", "bold red")])
def test_the_level_of_the_daemon_gives_the_colour(level: str, style: str) -> None:
    pieces = status_bar("/w", "t", context(level=level), 100)
    assert style in [piece.style for piece in pieces]


def test_the_status_bar_omits_unknown_figures_of_the_context() -> None:
    assert len(status_bar("/w", "t", None, 100)) == 2
    assert len(status_bar("/w", "t", context(unknown=True, used_tokens=0), 100)) == 2
    no_window = context(window_tokens=None, percent=None, level=None)
    assert [p.text for p in status_bar("/w", "t", no_window, 100)][2:] == ["[tokens: ~85k]"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("/clear 3", True), (":clear", True), ("/", True), ("/etc/passwd is odd", False),
     ("say /clear", False), ("/clear\nmore", False)],
)  # fmt: skip
def test_one_line_with_a_slash_or_colon_and_a_word_may_be_a_command(
    text: str, expected: bool
) -> None:
    assert is_command(text) is expected


def test_what_was_typed_stays_the_draft_while_an_earlier_prompt_is_shown() -> None:
    history = History(["one", "two"])
    assert history.typed("half a pro") == "half a pro"
    shown = history.older("half a pro")
    assert shown == "two"
    assert history.typed("two") == "half a pro"
    assert history.typed("two, changed") == "two, changed"
    assert history.newer() == "half a pro"
    assert history.typed("half a pro") == "half a pro"
    history.older("")
    assert history.typed("two") == "two"


def test_prompts_of_before_come_back_and_the_draft_too() -> None:
    history = History()
    assert history.older("") is None
    assert history.newer() is None
    for text in ("one", "two", "two", "  "):
        history.add(text)
    assert [history.older("draft"), history.older("two"), history.older("one")] == [
        "two", "one", None,
    ]  # fmt: skip
    assert [history.newer(), history.newer(), history.newer()] == ["two", "draft", None]
    history.add_older(["zero", "one"])
    assert [history.older("") for _ in range(4)] == ["two", "one", "zero", None]
    for number in range(MAX_HISTORY + 5):
        history.add(str(number))
    assert history.older("") == str(MAX_HISTORY + 4)


def test_what_the_agent_has_read_is_recognized_by_its_id_or_by_its_text() -> None:
    state = ChatState("/work", "t")
    content = [{"type": "text", "text": "two"}]
    for is_by_id in (True, False):
        state.steered = {"1": "one", "2": "two"}
        state.note_read({"clientId": "2" if is_by_id else None, "content": content})
        assert state.steered == {"1": "one"}
        state.note_read({"clientId": "other", "content": content})
        assert state.steered == {"1": "one"}
    state.note_turn("thread.turn-completed", {})
    assert (state.steered, state.returned, state.unsent("half")) == ({}, ["one"], "one\n\nhalf")


def test_a_list_is_filtered_loosely_and_the_best_come_first() -> None:
    assert matches("Fix the Parser", "parser fix")
    assert matches("Fix the Parser", "fxprs")
    assert not matches("Fix the Parser", "px")
    assert not matches("Fix the Parser", "zzz")
    choosing = Choosing([Option(1, "p-a-r-s-e"), Option(2, "the parse"), Option(3, "other")])
    choosing.type("parse")
    assert [option.value for option in choosing.shown] == [2, 1]
    choosing.move(5)
    assert (choosing.choice, choosing.count) == (1, 3)
    choosing.offer([Option(9, "nothing")])
    assert (choosing.choice, choosing.chosen) == (None, 0)
    choosing.type("parse")
    assert Choosing[int]().choice is None


def test_threads_of_this_folder_come_first_and_archived_ones_last() -> None:
    threads = [
        thread("a", archived=True), thread("b", cwd="/else"), thread("c", preview="first\nwords", last_words="the answer", branch_name="topic"),
    ]  # fmt: skip
    options = thread_options(threads, "/work")
    assert [option.value.id for option in options] == ["c", "b", "a"]
    assert all(words in options[0].words for words in ("first words", "the answer", "topic"))


def test_sessions_are_found_by_agent_and_words() -> None:
    session = SessionOverview(
        id="s", agent="claude", title=None, first_prompt="hello", cwd=None, created_at=None,
        updated_at=None, turns=1, messages=1, tokens=1, clears=0, compactions=0, rewinds=0,
        lineage=None, lineage_kind=None, model=None, files=[], bytes=1,
    )  # fmt: skip
    [option] = session_options([session])
    assert "claude" in option.words
    assert "hello" in option.words


# --- details ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("activity", "detail", "lines"),
    [
        ("commandExecution", {"command": "ls", "aggregatedOutput": "a\nb\n"}, ["a", "b"]),
        ("commandExecution", {"command": "ls\npwd"}, ["ls", "pwd"]),
        ("fileChange", {"changes": [{"path": "x", "diff": "@@\n+a\n-b\n c"}, {}]},
         ["x  +1 -1", "@@", "+a", "-b", " c", "?  +0 -0"]),
        ("mcpToolCall", {"arguments": {"a": 1}, "result": {"content": [{"text": "ok"}]}},
         ["{", '  "a": 1', "}", "ok"]),
        ("mcpToolCall", {"error": {"message": "broken"}}, ["broken"]),
        ("dynamicToolCall", {"contentItems": [{"other": 1}]}, ["[", "  {", '    "other": 1', "  }", "]"]),
        ("reasoning", {"summary": ["a", "b"]}, ["a", "", "b"]),
        ("reasoning", {}, []),
        ("plan", {"text": "1. a"}, ["1. a"]),
        ("webSearch", {}, []),
        ("userInput", {"questions": [{"question": "Why?"}]}, ["Why?", "(no answer)"]),
    ],
)  # fmt: skip
def test_an_opened_activity_shows_its_details(
    activity: str, detail: dict[str, object], lines: list[str]
) -> None:
    entry = did(activity, detail)
    assert [detail.text for detail in details(entry)] == lines
    assert can_open(entry) is bool(lines)
    assert text_of(entry).endswith("\n".join(lines))


def test_control_characters_in_details_are_shown_and_not_obeyed() -> None:
    entry = did("commandExecution", {"command": "x", "aggregatedOutput": "\x1b[31mred\u202e"})
    assert [detail.text for detail in details(entry)] == ["␛[31mred�"]


def test_long_details_are_cut() -> None:
    output = "\n".join(map(str, range(MAX_LINES + 10)))
    lines = details(did("commandExecution", {"command": "x", "aggregatedOutput": output}))
    assert (len(lines), lines[-1].text) == (MAX_LINES + 1, "… 10 more lines")


def test_a_long_summary_is_short_until_it_is_opened() -> None:
    assert short_summary("a\nb") == ("a\nb", 0)
    assert short_summary("\n".join("abcdefgh"))[1] == 2
    assert can_open(banner("\n".join("abcdefgh")))
    assert not can_open(banner("a"))
    assert can_open(divider())
    assert not can_open(divider(kind="discard"))
    assert not can_open(said("1", "x"))
    assert [text_of(one) for one in (said("1", " x "), banner(" s "), divider())] == [
        "x", "s", "Earlier messages",
    ]  # fmt: skip


# --- the context --------------------------------------------------------------------------------


def test_items_are_marked_with_what_belongs_to_them() -> None:
    items = [item(0, short_id=None), item(1), item(2), item(3, short_id="s2")]
    view = Inspection(inspection(*items), messages(held("s1", "newest"), held("s2", None, 30)))
    assert view.item is items[3]
    assert view.mark() == ""
    assert [view.is_marked(one) for one in items] == [False, False, True, True]
    assert (view.marked_tokens, view.entry_ids) == (30, ["s2-entry"])
    view.move(-2)
    assert view.mark() == "This stays: newest."
    view.move(-9)
    assert "Codex's own" in view.mark()
    view.move(9)
    assert view.mark() == ""
    assert view.entry_ids == []


def test_items_cannot_be_marked_when_none_can_be_discarded() -> None:
    view = Inspection(inspection(item(1)), messages(held("s1"), refusal="Not now."))
    assert view.mark() == "Not now."
    empty = Inspection(inspection(), messages())
    assert (empty.item, empty.mark()) == (None, "")


def test_the_bar_has_a_part_for_each_class_that_is_large_enough() -> None:
    totals = [
        ClassTotal(item_class="user", count=1, est_tokens=30, share=None),
        ClassTotal(item_class="skills", count=1, est_tokens=0, share=None),
    ]
    found = inspection(totals=totals, overhead_tokens=20)
    assert Inspection(found, messages()).bar(10) == [Share("user", 3), Share("tools", 2)]
    unknown = inspection(totals=totals, window_tokens=None)
    assert Inspection(unknown, messages()).bar(10) == [Share("user", 10)]
    assert Inspection(inspection(window_tokens=None), messages()).bar(10) == []


# --- the state ----------------------------------------------------------------------------------


def test_the_thread_is_named_by_its_name_its_first_words_or_its_id() -> None:
    state = ChatState("/work", None)
    assert (state.title, state.busy, state.question) == ("new thread", None, None)
    state.open("0123456789", "/work")
    assert (state.title, state.busy) == ("23456789", None)
    state.threads = [thread("0123456789", preview="first\nwords", busy="operation: clear")]
    assert (state.title, state.busy) == ("first words", "operation: clear")


@pytest.mark.parametrize(
    ("busy", "holds"),
    [(None, False), ("request: subAgent", False), ("request: item/tool/requestUserInput", True),
     ("turn: running", True), ("operation: clear", True)],
)  # fmt: skip
def test_a_prompt_waits_for_all_but_a_sub_agent(busy: str | None, holds: bool) -> None:
    state = ChatState("/work", "0123456789")
    state.threads = [thread("0123456789", busy=busy)]
    assert state.holds_prompts is holds


def test_a_turn_is_followed_from_its_events() -> None:
    state = ChatState("/work", "t")
    state.note_turn("thread.turn-started", {"turnId": "x"})
    assert (state.turn_id, state.busy) == ("x", "turn")
    state.note_turn("thread.entry-recorded", {})
    state.note_turn("thread.turn-completed", {})
    assert (state.turn_id, state.busy) == (None, None)


def test_questions_wait_in_order_and_are_asked_once() -> None:
    state = ChatState("/work", "t")
    one, two = (Question(number, "m", Card("?", ())) for number in (1, 2))
    state.ask(one)
    state.ask(two)
    state.ask(one)
    assert state.questions == [two, one]
    assert state.question == two
    assert state.withdraw(2)
    assert not state.withdraw(2)


def test_the_outcome_of_a_command_is_shown() -> None:
    state = ChatState("/work", "t")
    state.notify(Tone.PROBLEM, "no", "why")
    assert state.notice == Notice(Tone.PROBLEM, "no", "why")
    done = CommandOutcome(handled=True, status="completed", message="Cleared.")
    assert outcome_notice(done) == Notice(Tone.DONE, "Cleared.")
    assert outcome_notice(CommandOutcome(handled=True, status="skipped")).tone is Tone.NEUTRAL


def test_each_key_is_explained_once() -> None:
    keys = [key for _, rows in KEYS for key, _ in rows]
    assert len(keys) == len(set(keys))


def test_a_prompt_that_was_on_its_way_keeps_its_id_until_it_is_changed(tmp_path: Path) -> None:
    first, second = Outgoing("1", "t", "one"), Outgoing("2", "t", "two\nlines")
    Drafts(tmp_path).keep("t", "one\n\ntwo\nlines\n\nhalf", [first, second])
    drafts = Drafts(tmp_path)
    assert drafts.split("t", "one") == ([], "one")
    assert drafts.read("t") == "one\n\ntwo\nlines\n\nhalf"
    assert drafts.split("t", "one\n\ntwo\nlines\n\nhalf a thought") == (
        [first, second],
        "half a thought",
    )
    assert drafts.split("t", "one\n\nmore") == ([first], "more")
    assert drafts.split("t", "one more") == ([], "one more")
    assert drafts.split("other", "one") == ([], "one")
    drafts.has_arrived("t", first)
    assert drafts.split("t", "one") == ([], "one")
    drafts.keep("t", "two\nlines", ())
    assert Drafts(tmp_path).read("t") == "two\nlines"
    drafts.keep("t", "two lin", ())
    assert drafts.split("t", "two\nlines") == ([], "two\nlines")


def test_a_draft_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path)
    drafts.keep("t", "half")
    [file] = tmp_path.iterdir()
    file.write_text('{"place":"t","text":"whole"}')
    assert drafts.read("t") == "whole"
