"""Questions of the agent: answered to Codex exactly once, by the first client that really answers (spec §3)."""

from typing import Any

import msgspec
import pytest
from msgspec import Raw
from trimpoint.codex.appserver.peer import ProviderGone
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.server_requests import MAX_SETTLED, Questions
from trimpoint_protocol import jsonrpc

from tests.gateway.stage import Guest

METHOD = "item/commandExecution/requestApproval"
PARAMS = b'{"threadId":"t","command":"rm -rf /"}'
ACCEPT = {"decision": "accept"}
DECLINE = {"decision": "decline"}


class Codex:
    """Hears the answers, or is gone."""

    def __init__(self) -> None:
        self.heard: list[tuple[bytes, Any]] = []
        self.refusals: list[tuple[bytes, int, str]] = []
        self.is_gone = False

    def respond_error(self, request_id: Raw, code: int, message: str) -> None:
        if self.is_gone:
            raise ProviderGone("it died", "")
        self.refusals.append((bytes(request_id), code, message))

    def respond(self, request_id: Raw, result: Any) -> None:
        if self.is_gone:
            raise ProviderGone("it died", "")
        self.heard.append((bytes(request_id), msgspec.json.decode(result)))


class Scene:
    """Questions, with what was written down of them."""

    def __init__(self) -> None:
        self.clients = Clients()
        self.codex = Codex()
        self.notes: list[tuple[str, ...]] = []
        self.questions = Questions(
            self.clients, lambda: self.codex, lambda *note: self.notes.append(note), lambda *note: self.notes.append(note)
        )

    def guest(self, *threads: str, initialized: bool = True, opted_out: frozenset[str] = frozenset()) -> Guest:
        return Guest(self.clients, *threads, initialized=initialized, opted_out=opted_out)

    def ask(self, provider_id: bytes = b"0", thread_id: str | None = "t", *, to_everyone: bool = False) -> None:
        self.questions.ask(thread_id, Raw(provider_id), METHOD, PARAMS, to_everyone=to_everyone)

    def answer(self, guest: Guest, result: Any = ACCEPT, *, question: int = 0, question_id: str | None = None) -> bool:
        asked = question_id or asked_of(guest)[question]["id"]
        text = msgspec.json.encode(result)
        return self.questions.answered(guest.client, asked, jsonrpc.Response(b"", b'"x"', Raw(text), False))

    def refuse(self, guest: Guest, error: bytes = b'{"code":-32601,"message":"Method not found"}') -> bool:
        message = jsonrpc.ErrorResponse(b"", b'"x"', Raw(error), False)
        return self.questions.answered(guest.client, asked_of(guest)[0]["id"], message)


def asked_of(guest: Guest) -> list[dict[str, Any]]:
    return [message for message in guest.heard if message.get("method") == METHOD]


def resolved_for(guest: Guest) -> list[dict[str, Any]]:
    return [message["params"] for message in guest.heard if message.get("method") == "serverRequest/resolved"]


def test_a_question_goes_to_the_clients_of_its_thread_as_codex_put_it() -> None:
    scene = Scene()
    one, two, other = scene.guest("t"), scene.guest("t", "u"), scene.guest("u")
    scene.ask()
    [of_one], [of_two] = asked_of(one), asked_of(two)
    assert of_one == of_two
    assert of_one["params"] == msgspec.json.decode(PARAMS)
    assert asked_of(other) == []
    assert scene.notes == [("t", of_one["id"], METHOD)]


def test_the_first_answer_wins_and_the_others_hear_that_it_is_settled() -> None:
    scene = Scene()
    one, two, three = (scene.guest("t") for _ in range(3))
    scene.ask(b"17")
    assert scene.answer(two, DECLINE)
    assert not scene.answer(one, ACCEPT)
    assert not scene.answer(two, ACCEPT)
    assert scene.codex.heard == [(b"17", DECLINE)]
    question_id = asked_of(one)[0]["id"]
    expected = [{"threadId": "t", "requestId": question_id}]
    assert (resolved_for(one), resolved_for(three)) == (expected, expected)
    assert scene.notes[1:] == [("t", question_id, "answered")]


def test_each_client_hears_once_that_a_question_is_settled() -> None:
    scene = Scene()
    one, two = scene.guest("t"), scene.guest("t")
    scene.ask(b"17")
    scene.answer(two)
    assert resolved_for(two) == []  # as straight on Codex, who answers hears it from Codex
    scene.questions.resolved_by_provider(b"17", "t")
    scene.questions.resolved_by_provider(b"17", "t")
    assert (len(resolved_for(one)), len(resolved_for(two))) == (1, 1)
    assert resolved_for(two) == resolved_for(one)


REFUSAL = (b"0", -32601, "Method not found")


def test_an_error_is_no_answer_and_the_question_stays_open_for_the_others() -> None:
    scene = Scene()
    one, two = scene.guest("t"), scene.guest("t")
    scene.ask()
    assert scene.refuse(one)
    assert (scene.codex.heard, scene.codex.refusals) == ([], [])
    assert resolved_for(one) == resolved_for(two) == []
    assert scene.answer(two)
    assert scene.codex.heard == [(b"0", ACCEPT)]


def test_a_question_that_all_clients_refuse_is_refused_to_codex() -> None:
    scene = Scene()
    one, two, other = scene.guest("t"), scene.guest("t"), scene.guest("u")
    scene.ask()
    scene.refuse(one)
    scene.refuse(two)
    assert (scene.codex.heard, scene.codex.refusals) == ([], [REFUSAL])
    question_id = asked_of(one)[0]["id"]
    assert scene.notes[-1] == ("t", question_id, "refused")
    assert len(resolved_for(one)) == len(resolved_for(two)) == 1
    assert asked_of(other) == []
    assert not scene.answer(one)


@pytest.mark.parametrize("error", [b'"no"', b"7", b"[]", b"{}", b'{"code":"x","message":3}'])
def test_a_refusal_of_any_shape_is_one(error: bytes) -> None:
    scene = Scene()
    guest = scene.guest("t")
    scene.ask()
    scene.refuse(guest, error)
    assert scene.codex.refusals == [(b"0", -32601, "No client answers this.")]


def test_a_client_that_refused_may_answer_while_others_could() -> None:
    scene = Scene()
    guest, _ = scene.guest("t"), scene.guest("t")
    scene.ask()
    scene.refuse(guest)
    assert scene.answer(guest)
    assert scene.codex.heard == [(b"0", ACCEPT)]


def test_a_client_that_refused_and_joins_again_is_asked_anew() -> None:
    scene = Scene()
    one, two = scene.guest("t"), scene.guest("t")
    scene.ask()
    scene.refuse(one)
    scene.questions.put_all_to(one.client, "t", again=True)
    scene.refuse(two)
    assert scene.codex.refusals == []
    scene.refuse(one)
    assert scene.codex.refusals == [REFUSAL]


@pytest.mark.parametrize("disconnects", [True, False])
def test_a_question_is_refused_when_the_last_client_that_could_answer_leaves(disconnects: bool) -> None:
    scene = Scene()
    refuser, capable = scene.guest("t"), scene.guest("t")
    scene.ask()
    scene.refuse(refuser)
    scene.clients.remove(capable.client) if disconnects else capable.client.leave("t")
    scene.questions.client_left()
    assert scene.codex.refusals == [REFUSAL]


def test_a_question_waits_when_the_last_client_leaves_without_a_word() -> None:
    scene = Scene()
    refuser, silent = scene.guest("t"), scene.guest("t")
    scene.ask()
    scene.refuse(refuser)
    scene.clients.remove(refuser.client)
    scene.questions.client_left()
    scene.clients.remove(silent.client)
    scene.questions.client_left()
    assert (scene.codex.heard, scene.codex.refusals) == ([], [])
    late = scene.guest("t")
    scene.questions.put_all_to(late.client, "t", again=False)
    assert scene.answer(late)


def test_a_refusal_that_a_codex_that_is_gone_cannot_take_is_forgotten_with_it() -> None:
    scene = Scene()
    refuser, capable = scene.guest("t"), scene.guest("t")
    scene.ask()
    scene.refuse(refuser)
    scene.codex.is_gone = True
    scene.clients.remove(capable.client)
    scene.questions.client_left()
    scene.questions.expire_all("it died")
    assert len(resolved_for(refuser)) == 1


def test_a_question_of_everyone_is_refused_when_everyone_refuses() -> None:
    scene = Scene()
    one, two = scene.guest(), scene.guest("u")
    scene.ask(thread_id=None, to_everyone=True)
    scene.refuse(one)
    assert scene.codex.refusals == []
    scene.refuse(two)
    assert scene.codex.refusals == [REFUSAL]


NO_ANSWERS = [None, {}, [], "yes", 7, {"decide": "accept"}]


@pytest.mark.parametrize("result", NO_ANSWERS)
def test_a_result_without_an_answer_leaves_the_question_to_the_others(result: Any) -> None:
    scene = Scene()
    odd, capable = scene.guest("t"), scene.guest("t")
    scene.ask()
    assert scene.answer(odd, result)
    assert scene.codex.heard == []
    assert scene.answer(capable)
    assert scene.codex.heard == [(b"0", ACCEPT)]


@pytest.mark.parametrize("result", [*NO_ANSWERS, {"decision": {"acceptWithExecpolicyAmendment": {"x": [1]}}}])
def test_the_result_of_the_only_client_is_passed_on_as_it_is(result: Any) -> None:
    scene = Scene()
    guest = scene.guest("t")
    scene.ask(b'"text id"')
    assert scene.answer(guest, result)
    assert scene.codex.heard == [(b'"text id"', result)]


def test_with_nobody_there_a_question_waits_for_the_next_to_join() -> None:
    scene = Scene()
    scene.ask()
    late = scene.guest("t")
    scene.questions.put_all_to(late.client, "t", again=False)
    assert scene.answer(late)
    assert scene.codex.heard == [(b"0", ACCEPT)]


def test_a_late_joiner_gets_the_same_id_and_only_what_is_still_open() -> None:
    scene = Scene()
    early = scene.guest("t")
    scene.ask(b"0")
    scene.ask(b"1")
    scene.ask(b"2", "u")
    scene.answer(early, question=0)
    late = scene.guest("t")
    scene.questions.put_all_to(late.client, "t", again=False)
    assert asked_of(late) == asked_of(early)[1:]


def test_who_joins_again_is_asked_again_only_where_codex_would() -> None:
    scene = Scene()
    guest = scene.guest("t")
    scene.ask()
    scene.questions.put_all_to(guest.client, "t", again=False)
    assert len(asked_of(guest)) == 1
    scene.questions.put_all_to(guest.client, "t", again=True)
    first, second = asked_of(guest)
    assert first == second
    scene.answer(guest)
    scene.questions.resolved_by_provider(b"0", "t")
    assert len(resolved_for(guest)) == 1


def test_what_codex_repeats_while_somebody_joins_is_the_same_question() -> None:
    scene = Scene()
    guest = scene.guest("t")
    scene.ask(b"5")
    scene.ask(b"5")
    assert len(asked_of(guest)) == 1
    scene.answer(guest)
    scene.ask(b"5")  # on its way when the answer was given
    assert len(asked_of(guest)) == 1
    assert scene.codex.heard == [(b"5", ACCEPT)]


def test_who_was_not_asked_cannot_answer() -> None:
    scene = Scene()
    asked, stranger = scene.guest("t"), scene.guest("u")
    scene.ask()
    assert not scene.answer(stranger, question_id=asked_of(asked)[0]["id"])
    assert not scene.answer(asked, question_id="0")
    assert scene.codex.heard == []


def test_a_client_that_vanished_leaves_the_question_to_the_others() -> None:
    scene = Scene()
    gone, staying = scene.guest("t"), scene.guest("t")
    scene.ask()
    scene.clients.remove(gone.client)
    assert scene.answer(staying)
    assert scene.codex.heard == [(b"0", ACCEPT)]
    assert resolved_for(gone) == []


def test_who_left_the_thread_is_told_all_the_same_that_its_question_is_settled() -> None:
    scene = Scene()
    leaver, staying = scene.guest("t"), scene.guest("t")
    scene.ask()
    leaver.client.leave("t")
    scene.answer(staying)
    assert len(resolved_for(leaver)) == 1


def test_codex_may_settle_a_question_by_itself() -> None:
    scene = Scene()
    one, two = scene.guest("t"), scene.guest("t")
    scene.ask(b"3")
    question_id = asked_of(one)[0]["id"]
    scene.questions.resolved_by_provider(b"3", "t")
    assert (len(resolved_for(one)), len(resolved_for(two))) == (1, 1)
    assert not scene.answer(one)
    assert scene.codex.heard == []
    assert scene.notes[-1] == ("t", question_id, "resolved")


def test_a_question_that_nobody_knows_is_settled_without_a_word() -> None:
    scene = Scene()
    guest = scene.guest("t")
    scene.questions.resolved_by_provider(b"99", "t")
    assert guest.heard == []


def test_questions_expire_with_the_session_that_asked() -> None:
    scene = Scene()
    guest = scene.guest("t")
    scene.ask(b"0")
    question_id = asked_of(guest)[0]["id"]
    scene.questions.expire_all("it was killed")
    assert resolved_for(guest) == [{"threadId": "t", "requestId": question_id}]
    assert scene.notes[-1] == ("t", question_id, "expired")
    assert not scene.answer(guest)


def test_a_late_answer_never_reaches_a_new_question_with_the_same_id_of_codex() -> None:
    scene = Scene()
    guest = scene.guest("t")
    scene.ask(b"0")
    scene.questions.expire_all("it was killed")
    scene.ask(b"0")
    old, new = asked_of(guest)
    assert old["id"] != new["id"]
    assert not scene.answer(guest, ACCEPT, question_id=old["id"])
    assert scene.codex.heard == []
    assert scene.answer(guest, DECLINE, question_id=new["id"])
    assert scene.codex.heard == [(b"0", DECLINE)]


def test_ids_are_never_used_again_in_another_run_of_the_daemon() -> None:
    ids = set()
    for _ in range(2):
        scene = Scene()
        guest = scene.guest("t")
        for number in range(50):
            scene.ask(b"%d" % number)
        ids |= {message["id"] for message in asked_of(guest)}
    assert len(ids) == 100


def test_an_answer_that_codex_cannot_take_leaves_the_question_to_expire() -> None:
    scene = Scene()
    guest = scene.guest("t")
    scene.ask()
    scene.codex.is_gone = True
    with pytest.raises(ProviderGone):
        scene.answer(guest)
    assert resolved_for(guest) == []
    scene.questions.expire_all("it died")
    assert len(resolved_for(guest)) == 1


def test_what_belongs_to_no_thread_is_asked_of_everyone_who_has_shaken_hands() -> None:
    scene = Scene()
    one, two, silent = scene.guest("t"), scene.guest(), scene.guest(initialized=False)
    scene.ask(thread_id=None, to_everyone=True)
    assert len(asked_of(one)) == len(asked_of(two)) == 1
    assert asked_of(silent) == []
    silent.client.introduce("late", frozenset())
    scene.questions.put_all_to(silent.client, None, again=False)
    assert len(asked_of(silent)) == 1
    assert scene.notes == []


def test_a_question_of_a_sub_agent_is_everyones_and_can_be_joined_by_its_thread() -> None:
    scene = Scene()
    one = scene.guest("t")
    scene.ask(thread_id="sub", to_everyone=True)
    late = scene.guest("sub")
    scene.questions.put_all_to(late.client, "sub", again=True)
    assert asked_of(one) == asked_of(late)


def test_a_client_that_opted_out_is_asked_but_not_told() -> None:
    scene = Scene()
    quiet, other = scene.guest("t", opted_out=frozenset({"serverRequest/resolved"})), scene.guest("t")
    scene.ask()
    scene.answer(other)
    assert quiet.methods() == [METHOD]


def test_each_client_is_asked_in_the_dialect_it_speaks() -> None:
    scene = Scene()
    plain, versioned = scene.guest("t"), scene.guest("t")
    versioned.client.versioned = True
    scene.ask()
    assert "jsonrpc" not in plain.heard[0]
    assert versioned.heard[0]["jsonrpc"] == "2.0"


def test_answers_of_which_codex_never_speaks_again_are_not_kept_for_ever() -> None:
    scene = Scene()
    guest = scene.guest("t")
    for number in range(MAX_SETTLED + 1):
        scene.ask(b"%d" % number)
        scene.answer(guest, question=number)
    scene.questions.resolved_by_provider(b"0", "t")
    assert resolved_for(guest) == []
    scene.questions.resolved_by_provider(b"1", "t")
    assert len(resolved_for(guest)) == 1
