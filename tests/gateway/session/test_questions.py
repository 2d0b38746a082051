"""Requests of Codex are answered exactly once, by the first client that gives a valid answer
(docs/spec/clients.md).
"""

import msgspec
import pytest
from trimpoint.codex.appserver.errors import ProviderExited
from trimpoint.gateway.session.server_requests import MAX_SETTLED

from tests.gateway.session.asking import (
    ACCEPT,
    DECLINE,
    METHOD,
    PARAMS,
    Setup,
    asked_of,
    resolved_for,
)


def test_a_question_goes_to_the_clients_of_its_thread_as_codex_put_it() -> None:
    setup = Setup()
    one, two, other = setup.fake_client("t"), setup.fake_client("t", "u"), setup.fake_client("u")
    setup.ask()
    [of_one], [of_two] = asked_of(one), asked_of(two)
    assert of_one == of_two
    assert of_one["params"] == msgspec.json.decode(PARAMS)
    assert asked_of(other) == []
    assert setup.notes == [("t", of_one["id"], METHOD)]


def test_the_first_answer_wins_and_the_others_hear_that_it_is_settled() -> None:
    setup = Setup()
    one, two, three = (setup.fake_client("t") for _ in range(3))
    setup.ask(b"17")
    assert setup.answer(two, DECLINE)
    assert not setup.answer(one, ACCEPT)
    assert not setup.answer(two, ACCEPT)
    assert setup.codex.heard == [(b"17", DECLINE)]
    question_id = asked_of(one)[0]["id"]
    expected = [{"threadId": "t", "requestId": question_id}]
    assert (resolved_for(one), resolved_for(three)) == (expected, expected)
    assert setup.notes[1:] == [("t", question_id, "answered")]


def test_what_was_asked_and_answered_in_words_is_recorded_with_the_answer() -> None:
    setup = Setup()
    client = setup.fake_client("t")
    asked = {"turnId": "t1", "itemId": "c1", "questions": [{"id": "a", "question": "Which?"}]}
    setup.ask_in_words(asked)
    assert setup.answer(client, {"answers": {"a": {"answers": ["Blue"]}}})
    [(*_, outcome, entry)] = setup.notes[1:]
    assert (outcome, entry.entry_id, entry.text) == ("answered", "c1", "Which? Blue")


def test_a_question_that_belongs_to_no_turn_is_answered_all_the_same() -> None:
    setup = Setup()
    client = setup.fake_client("t")
    setup.ask_in_words({"questions": []})
    assert setup.answer(client, {"answers": {}})
    [(*_, outcome)] = setup.notes[1:]
    assert outcome == "answered"


def test_each_client_is_notified_once_that_a_question_is_settled() -> None:
    setup = Setup()
    one, two = setup.fake_client("t"), setup.fake_client("t")
    setup.ask(b"17")
    setup.answer(two)
    assert resolved_for(two) == []  # as straight on Codex, who answers hears it from Codex
    setup.questions.resolved_by_provider(b"17", "t")
    setup.questions.resolved_by_provider(b"17", "t")
    assert (len(resolved_for(one)), len(resolved_for(two))) == (1, 1)
    assert resolved_for(two) == resolved_for(one)


def test_a_question_without_a_client_waits_for_the_next_to_join() -> None:
    setup = Setup()
    setup.ask()
    late = setup.fake_client("t")
    setup.questions.resend_pending(late.client, "t", again=False)
    assert setup.answer(late)
    assert setup.codex.heard == [(b"0", ACCEPT)]


def test_a_late_joiner_gets_the_same_id_and_only_what_is_still_open() -> None:
    setup = Setup()
    early = setup.fake_client("t")
    setup.ask(b"0")
    setup.ask(b"1")
    setup.ask(b"2", "u")
    setup.answer(early, question=0)
    late = setup.fake_client("t")
    setup.questions.resend_pending(late.client, "t", again=False)
    assert asked_of(late) == asked_of(early)[1:]


def test_a_question_is_repeated_only_where_codex_repeats_it() -> None:
    setup = Setup()
    fake_client = setup.fake_client("t")
    setup.ask()
    setup.questions.resend_pending(fake_client.client, "t", again=False)
    assert len(asked_of(fake_client)) == 1
    setup.questions.resend_pending(fake_client.client, "t", again=True)
    first, second = asked_of(fake_client)
    assert first == second
    setup.answer(fake_client)
    setup.questions.resolved_by_provider(b"0", "t")
    assert len(resolved_for(fake_client)) == 1


def test_a_question_that_codex_repeats_while_a_client_joins_is_the_same_one() -> None:
    setup = Setup()
    fake_client = setup.fake_client("t")
    setup.ask(b"5")
    setup.ask(b"5")
    assert len(asked_of(fake_client)) == 1
    setup.answer(fake_client)
    setup.ask(b"5")  # on its way when the answer was given
    assert len(asked_of(fake_client)) == 1
    assert setup.codex.heard == [(b"5", ACCEPT)]


def test_a_client_that_was_not_asked_cannot_answer() -> None:
    setup = Setup()
    asked, stranger = setup.fake_client("t"), setup.fake_client("u")
    setup.ask()
    assert not setup.answer(stranger, question_id=asked_of(asked)[0]["id"])
    assert not setup.answer(asked, question_id="0")
    assert setup.codex.heard == []


def test_a_client_that_vanished_leaves_the_question_to_the_others() -> None:
    setup = Setup()
    gone, staying = setup.fake_client("t"), setup.fake_client("t")
    setup.ask()
    setup.clients.remove(gone.client)
    assert setup.answer(staying)
    assert setup.codex.heard == [(b"0", ACCEPT)]
    assert resolved_for(gone) == []


def test_a_client_that_left_is_notified_that_its_question_is_resolved() -> None:
    setup = Setup()
    leaver, staying = setup.fake_client("t"), setup.fake_client("t")
    setup.ask()
    leaver.client.leave("t")
    setup.answer(staying)
    assert len(resolved_for(leaver)) == 1


def test_codex_may_settle_a_question_by_itself() -> None:
    setup = Setup()
    one, two = setup.fake_client("t"), setup.fake_client("t")
    setup.ask(b"3")
    question_id = asked_of(one)[0]["id"]
    setup.questions.resolved_by_provider(b"3", "t")
    assert (len(resolved_for(one)), len(resolved_for(two))) == (1, 1)
    assert not setup.answer(one)
    assert setup.codex.heard == []
    assert setup.notes[-1] == ("t", question_id, "resolved")


def test_an_unknown_question_is_settled_silently() -> None:
    setup = Setup()
    fake_client = setup.fake_client("t")
    setup.questions.resolved_by_provider(b"99", "t")
    assert fake_client.received == []


def test_questions_expire_with_the_session_that_asked() -> None:
    setup = Setup()
    fake_client = setup.fake_client("t")
    setup.ask(b"0")
    question_id = asked_of(fake_client)[0]["id"]
    setup.questions.expire_all("it was killed")
    assert resolved_for(fake_client) == [{"threadId": "t", "requestId": question_id}]
    assert setup.notes[-1] == ("t", question_id, "expired")
    assert not setup.answer(fake_client)


def test_a_late_answer_never_reaches_a_new_question_with_the_same_id_of_codex() -> None:
    setup = Setup()
    fake_client = setup.fake_client("t")
    setup.ask(b"0")
    setup.questions.expire_all("it was killed")
    setup.ask(b"0")
    old, new = asked_of(fake_client)
    assert old["id"] != new["id"]
    assert not setup.answer(fake_client, ACCEPT, question_id=old["id"])
    assert setup.codex.heard == []
    assert setup.answer(fake_client, DECLINE, question_id=new["id"])
    assert setup.codex.heard == [(b"0", DECLINE)]


def test_ids_are_never_used_again_in_another_run_of_the_daemon() -> None:
    ids: set[str] = set()
    for _ in range(2):
        setup = Setup()
        fake_client = setup.fake_client("t")
        for number in range(50):
            setup.ask(b"%d" % number)
        ids |= {message["id"] for message in asked_of(fake_client)}
    assert len(ids) == 100


def test_an_answer_that_codex_cannot_take_leaves_the_question_to_expire() -> None:
    setup = Setup()
    fake_client = setup.fake_client("t")
    setup.ask()
    setup.codex.is_gone = True
    with pytest.raises(ProviderExited):
        setup.answer(fake_client)
    assert resolved_for(fake_client) == []
    setup.questions.expire_all("it died")
    assert len(resolved_for(fake_client)) == 1


def test_a_question_about_no_thread_goes_to_every_initialized_client() -> None:
    setup = Setup()
    one, two, silent = (
        setup.fake_client("t"),
        setup.fake_client(),
        setup.fake_client(initialized=False),
    )
    setup.ask(thread_id=None, to_everyone=True)
    assert len(asked_of(one)) == len(asked_of(two)) == 1
    assert asked_of(silent) == []
    silent.client.introduce("late", frozenset())
    setup.questions.resend_pending(silent.client, None, again=False)
    assert len(asked_of(silent)) == 1
    assert setup.notes == []


def test_a_question_of_a_sub_agent_is_everyones_and_can_be_joined_by_its_thread() -> None:
    setup = Setup()
    one = setup.fake_client("t")
    setup.ask(thread_id="sub", to_everyone=True)
    late = setup.fake_client("sub")
    setup.questions.resend_pending(late.client, "sub", again=True)
    assert asked_of(one) == asked_of(late)


def test_a_client_that_opted_out_gets_requests_but_no_notifications() -> None:
    setup = Setup()
    quiet, other = (
        setup.fake_client("t", opted_out=frozenset({"serverRequest/resolved"})),
        setup.fake_client("t"),
    )
    setup.ask()
    setup.answer(other)
    assert quiet.methods() == [METHOD]


def test_each_client_is_asked_in_the_dialect_it_speaks() -> None:
    setup = Setup()
    plain, versioned = setup.fake_client("t"), setup.fake_client("t")
    versioned.connection.versioned = True
    setup.ask()
    assert "jsonrpc" not in plain.received[0]
    assert versioned.received[0]["jsonrpc"] == "2.0"


def test_answers_of_which_codex_never_speaks_again_are_not_kept_for_ever() -> None:
    setup = Setup()
    fake_client = setup.fake_client("t")
    for number in range(MAX_SETTLED + 1):
        setup.ask(b"%d" % number)
        setup.answer(fake_client, question=number)
    setup.questions.resolved_by_provider(b"0", "t")
    assert resolved_for(fake_client) == []
    setup.questions.resolved_by_provider(b"1", "t")
    assert len(resolved_for(fake_client)) == 1


@pytest.mark.parametrize("decision", ["accept", "decline"])
def test_an_item_waits_until_it_is_allowed(decision: str) -> None:
    setup = Setup()
    client = setup.fake_client("t")
    setup.ask()
    assert setup.waiting == [("c1", True)]
    setup.answer(client, {"decision": decision})
    assert (("c1", False) in setup.waiting) is (decision == "accept")
