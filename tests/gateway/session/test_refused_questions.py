"""A client that refuses a question of Codex, or answers without an answer, leaves it to the others."""

from typing import Any

import pytest

from tests.gateway.session.asking import ACCEPT, Setup, asked_of, resolved_for

REFUSAL = (b"0", -32601, "Method not found")


def test_an_error_is_no_answer_and_the_question_stays_open_for_the_others() -> None:
    setup = Setup()
    one, two = setup.fake_client("t"), setup.fake_client("t")
    setup.ask()
    assert setup.refuse(one)
    assert (setup.codex.heard, setup.codex.refusals) == ([], [])
    assert resolved_for(one) == resolved_for(two) == []
    assert setup.answer(two)
    assert setup.codex.heard == [(b"0", ACCEPT)]


def test_a_question_that_all_clients_refuse_is_refused_to_codex() -> None:
    setup = Setup()
    one, two, other = setup.fake_client("t"), setup.fake_client("t"), setup.fake_client("u")
    setup.ask()
    setup.refuse(one)
    setup.refuse(two)
    assert (setup.codex.heard, setup.codex.refusals) == ([], [REFUSAL])
    question_id = asked_of(one)[0]["id"]
    assert setup.notes[-1] == ("t", question_id, "refused")
    assert len(resolved_for(one)) == len(resolved_for(two)) == 1
    assert asked_of(other) == []
    assert not setup.answer(one)


@pytest.mark.parametrize("error", [b'"no"', b"7", b"[]", b"{}", b'{"code":"x","message":3}'])
def test_a_refusal_of_any_shape_is_one(error: bytes) -> None:
    setup = Setup()
    fake_client = setup.fake_client("t")
    setup.ask()
    setup.refuse(fake_client, error)
    assert setup.codex.refusals == [(b"0", -32601, "No client answers this.")]


def test_a_client_that_refused_may_answer_while_others_could() -> None:
    setup = Setup()
    fake_client, _ = setup.fake_client("t"), setup.fake_client("t")
    setup.ask()
    setup.refuse(fake_client)
    assert setup.answer(fake_client)
    assert setup.codex.heard == [(b"0", ACCEPT)]


def test_a_client_that_refused_and_joins_again_is_asked_anew() -> None:
    setup = Setup()
    one, two = setup.fake_client("t"), setup.fake_client("t")
    setup.ask()
    setup.refuse(one)
    setup.questions.resend_pending(one.client, "t", again=True)
    setup.refuse(two)
    assert setup.codex.refusals == []
    setup.refuse(one)
    assert setup.codex.refusals == [REFUSAL]


@pytest.mark.parametrize("disconnects", [True, False])
def test_a_question_is_refused_when_the_last_client_that_could_answer_leaves(
    disconnects: bool,
) -> None:
    setup = Setup()
    refuser, capable = setup.fake_client("t"), setup.fake_client("t")
    setup.ask()
    setup.refuse(refuser)
    setup.clients.remove(capable.client) if disconnects else capable.client.leave("t")
    setup.questions.client_left()
    assert setup.codex.refusals == [REFUSAL]


def test_a_question_waits_when_the_last_client_leaves_without_a_word() -> None:
    setup = Setup()
    refuser, silent = setup.fake_client("t"), setup.fake_client("t")
    setup.ask()
    setup.refuse(refuser)
    setup.clients.remove(refuser.client)
    setup.questions.client_left()
    setup.clients.remove(silent.client)
    setup.questions.client_left()
    assert (setup.codex.heard, setup.codex.refusals) == ([], [])
    late = setup.fake_client("t")
    setup.questions.resend_pending(late.client, "t", again=False)
    assert setup.answer(late)


def test_a_refusal_that_a_codex_that_is_gone_cannot_take_is_forgotten_with_it() -> None:
    setup = Setup()
    refuser, capable = setup.fake_client("t"), setup.fake_client("t")
    setup.ask()
    setup.refuse(refuser)
    setup.codex.is_gone = True
    setup.clients.remove(capable.client)
    setup.questions.client_left()
    setup.questions.expire_all("it died")
    assert len(resolved_for(refuser)) == 1


def test_a_question_of_everyone_is_refused_when_everyone_refuses() -> None:
    setup = Setup()
    one, two = setup.fake_client(), setup.fake_client("u")
    setup.ask(thread_id=None, to_everyone=True)
    setup.refuse(one)
    assert setup.codex.refusals == []
    setup.refuse(two)
    assert setup.codex.refusals == [REFUSAL]


NO_ANSWERS: list[Any] = [
    None,
    {},
    [],
    "yes",
    7,
    {"decide": "accept"},
    {"decision": "Accept"},
    {"decision": "allow"},
    {"decision": {"acceptWithExecpolicyAmendment": {"x": [1]}}},
]


@pytest.mark.parametrize("result", NO_ANSWERS)
def test_a_result_without_an_answer_leaves_the_question_to_the_others(result: Any) -> None:
    setup = Setup()
    odd, capable = setup.fake_client("t"), setup.fake_client("t")
    setup.ask()
    assert setup.answer(odd, result)
    assert setup.codex.heard == []
    assert setup.answer(capable)
    assert setup.codex.heard == [(b"0", ACCEPT)]


@pytest.mark.parametrize("result", NO_ANSWERS)
def test_the_result_of_the_only_client_is_passed_on_as_it_is(result: Any) -> None:
    setup = Setup()
    fake_client = setup.fake_client("t")
    setup.ask(b'"text id"')
    assert setup.answer(fake_client, result)
    assert setup.codex.heard == [(b'"text id"', result)]
