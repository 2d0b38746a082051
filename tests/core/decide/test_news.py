"""Which reported facts are recorded: repeated ones are not, and each event of a batch is
checked.
"""

import msgspec
import pytest
from trimpoint.core.model import events as ev

from tests.core.given import activity, assistant, started, user


def test_a_whole_turn_in_one_batch_is_written_as_a_whole() -> None:
    thread = started()
    batch = (
        ev.TurnRequested("request-1"),
        ev.TurnRequestEnded("request-1", "t"),
        ev.TurnStarted("t", 1),
        user("t", "prompt"),
        ev.RequestOpened("0", "approval"),
        ev.RequestClosed("0", "answered"),
        assistant("t", "answer"),
        ev.ContextItemsRecorded("t", (b"{}",)),
        ev.UsageReported("t", 10, 10),
        ev.TurnCompleted("t", "completed"),
    )
    assert thread.report(*batch) == batch
    assert thread.state.turns[0].message_count == 2


def test_a_repeated_batch_adds_nothing_but_what_has_no_identity() -> None:
    thread = started()
    thread.turn("prompt", "answer")
    repeated = thread.report(
        ev.TurnStarted("turn-1", 1),
        user("turn-1", "prompt"),
        assistant("turn-1", "answer"),
        ev.ContextItemsRecorded("turn-1", (b"{}",)),
        ev.TurnCompleted("turn-1", "completed"),
    )
    assert repeated == (ev.ContextItemsRecorded("turn-1", (b"{}",)),)


def test_usage_is_a_new_fact_when_it_differs_from_the_last_report() -> None:
    thread, one, other = (
        started(turns=1),
        ev.UsageReported("turn-1", 10, 10),
        ev.UsageReported("turn-1", 20, 30),
    )
    assert thread.report(one) == (one,)
    assert thread.report(one, msgspec.structs.replace(one, turn_id="turn-2")) == ()
    assert thread.report(msgspec.structs.replace(one, window=5)) == (
        msgspec.structs.replace(one, window=5),
    )
    assert thread.report(other, other) == (other, other)
    assert thread.report(one) == (one,)


def test_a_batch_that_repeats_itself_is_written_once() -> None:
    thread = started()
    once = (ev.TurnStarted("t", 1), user("t", "prompt"), ev.TurnCompleted("t", "completed"))
    assert thread.report(*once, *once) == once


@pytest.mark.parametrize(
    "fact",
    [
        user("unknown", "prompt"),
        ev.ContextItemsRecorded("unknown", (b"{}",)),
        ev.TurnCompleted("unknown", "completed"),
        ev.TurnRequestEnded("unknown"),
        ev.RequestClosed("unknown", "answered"),
    ],
)
def test_facts_that_fit_no_turn_are_dropped(fact: ev.AnyEvent) -> None:
    assert started(turns=1).report(fact) == ()


def test_a_turn_that_has_ended_does_not_end_again() -> None:
    thread = started(turns=1)
    assert thread.report(ev.TurnCompleted("turn-1", "failed")) == ()
    assert thread.state.turns[0].status == "completed"


def test_a_question_asked_again_keeps_its_age_until_it_is_closed() -> None:
    thread = started()
    opened, closed = ev.RequestOpened("0", "approval"), ev.RequestClosed("0", "answered")
    assert thread.report(opened) == (opened,)
    assert thread.report(opened) == ()
    assert thread.report(closed, closed) == (closed,)
    assert thread.report(opened, closed) == (opened, closed)


@pytest.mark.parametrize(
    ("now", "other"),
    [
        (ev.SettingsChanged(b'{"model":"gpt-5","secretSetting":true}'), ev.SettingsChanged(b"{}")),
        (ev.ThreadRenamed("A name"), ev.ThreadRenamed(None)),
    ],
)
def test_only_a_change_is_news_and_the_last_of_a_batch_wins(
    now: ev.AnyEvent, other: ev.AnyEvent
) -> None:
    assert started().report(now) == ()
    assert started().report(other) == (other,)
    assert started().report(other, now) == (other, now)


def test_a_name_is_confirmed_once_and_only_as_it_is() -> None:
    thread = started()
    named, confirmed = ev.ThreadRenamed("mine", unconfirmed=True), ev.NameConfirmed("mine")
    assert thread.report(confirmed) == ()
    assert thread.report(named) == (named,)
    assert thread.report(ev.NameConfirmed("A name")) == ()
    assert thread.report(confirmed) == (confirmed,)
    assert not thread.state.name_unconfirmed
    assert thread.report(confirmed) == ()


def test_a_confirmation_of_an_older_name_leaves_the_newer_one_unconfirmed() -> None:
    thread = started().write(ev.ThreadRenamed("mine", unconfirmed=True), ev.NameConfirmed("older"))
    assert thread.state.name_unconfirmed


def test_facts_without_an_identity_are_always_new() -> None:
    lost = ev.ContextLost(1, "gone")
    assert started().report(lost, lost) == (lost, lost)


def test_item_ids_that_a_model_provider_uses_again_in_another_turn_are_kept_apart() -> None:
    thread = started()
    for turn_id in ("a", "b"):
        thread.report(
            ev.TurnStarted(turn_id, 1), activity(turn_id, "ls", "call_0"), user(turn_id, turn_id)
        )
    assert [(e.turn_id, e.id) for e in thread.state.entries if e.kind == "activity"] == [
        ("a", "call_0"),
        ("b", "call_0"),
    ]
    assert thread.report(activity("b", "ls", "call_0")) == ()
