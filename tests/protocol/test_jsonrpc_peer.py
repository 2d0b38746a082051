"""The peer: calls and answers, deadlines, the end, batches, and streams that are cut anywhere."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.jsonrpc.framing import (
    AutoFramer,
    LineFramer,
    Malformed,
    TooLarge,
    Truncated,
)
from trimpoint_protocol.jsonrpc.nesting import STEP_BYTES, finished
from trimpoint_protocol.peer import (
    Answered,
    Asked,
    Call,
    Event,
    Peer,
    Refused,
    Run,
    Unexpected,
    Unreadable,
)


def events(peer: Peer[Any], data: bytes, run_prefix: bytes | None = None) -> list[Event[Any]]:
    peer.feed(data)
    return rest(peer, run_prefix)


def rest(peer: Peer[Any], run_prefix: bytes | None = None) -> list[Event[Any]]:
    found: list[Event[Any]] = []
    while (event := peer.next_event(run_prefix)) is not None:
        found.append(event)
    return found


def test_a_call_is_answered_with_its_context() -> None:
    peer: Peer[str] = Peer()
    call_id, data = peer.call("thread/read", {"threadId": "t"}, context="mine")
    assert data == b'{"id":1,"method":"thread/read","params":{"threadId":"t"}}\n'
    assert peer.calls_in_flight == 1

    [event] = events(peer, b'{"id":1,"result":{"a":2}}\n')

    assert isinstance(event, Answered)
    assert event.call == Call(call_id, "thread/read", None, "mine")
    assert bytes(event.result) == b'{"a":2}'
    assert peer.calls_in_flight == 0


def test_a_call_is_refused_with_the_error_as_it_came() -> None:
    peer: Peer[str] = Peer()
    peer.call("x", context="mine")
    [event] = events(peer, b'{"id":1,"error":{"code":-5,"message":"no"}}\n')
    assert isinstance(event, Refused)
    error = jsonrpc.error_object(event.error)
    assert error is not None
    assert (event.call.context, error.code) == ("mine", -5)


def test_params_are_left_out_spliced_or_encoded() -> None:
    peer: Peer[None] = Peer()
    assert peer.notify("a") == b'{"method":"a"}\n'
    assert peer.notify("a", msgspec.Raw(b"[ 1 ]")) == b'{"method":"a","params":[ 1 ]}\n'
    assert peer.notify("a", [1]) == b'{"method":"a","params":[1]}\n'


def test_a_versioned_peer_writes_the_member_in_all_that_it_begins() -> None:
    peer: Peer[None] = Peer(versioned=True)
    assert peer.notify("a") == b'{"jsonrpc":"2.0","method":"a"}\n'
    assert peer.call("a", context=None)[1] == b'{"jsonrpc":"2.0","id":1,"method":"a"}\n'


@pytest.mark.parametrize("written", [b"1", b"1.0", b"1e0"])
def test_an_answer_finds_its_call_however_its_number_is_written(written: bytes) -> None:
    peer: Peer[None] = Peer()
    peer.call("x", context=None)
    [event] = events(peer, b'{"id":%b,"result":1}\n' % written)
    assert isinstance(event, Answered)


@pytest.mark.parametrize("written", [b'"1"', b"2", b"null", b'"\xff"'])
def test_an_answer_to_no_call_is_unexpected(written: bytes) -> None:
    peer: Peer[None] = Peer(decode=jsonrpc.decode_trusted)
    peer.call("x", context=None)
    [event] = events(peer, b'{"id":%b,"result":1}\n' % written)
    assert isinstance(event, Unexpected)
    assert peer.calls_in_flight == 1


def test_a_second_answer_and_one_to_an_abandoned_call_are_unexpected() -> None:
    peer: Peer[None] = Peer()
    peer.call("x", context=None)
    other, _ = peer.call("y", context=None)
    abandoned = peer.abandon(other)
    assert abandoned is not None
    assert abandoned.method == "y"
    assert peer.abandon(other) is None

    found = events(peer, b'{"id":1,"result":1}\n{"id":1,"result":1}\n{"id":2,"error":{}}\n')

    assert [type(event) for event in found] == [Answered, Unexpected, Unexpected]


def test_calls_expire_in_the_order_of_their_deadlines() -> None:
    peer: Peer[str] = Peer()
    assert peer.next_deadline is None
    peer.call("late", context="late", deadline=30.0)
    peer.call("never", context="never")
    peer.call("early", context="early", deadline=10.0)
    assert peer.next_deadline == 10.0

    assert peer.expire(9.9) == []
    assert [call.context for call in peer.expire(10.0)] == ["early"]
    assert peer.next_deadline == 30.0
    assert [call.context for call in peer.expire(99.0)] == ["late"]
    assert peer.next_deadline is None
    assert [call.context for call in peer.close()] == ["never"]


def test_a_call_that_has_ended_does_not_expire() -> None:
    peer: Peer[None] = Peer()
    peer.call("x", context=None, deadline=5.0)
    later, _ = peer.call("y", context=None, deadline=6.0)
    events(peer, b'{"id":1,"result":1}\n')
    assert peer.next_deadline == 6.0
    peer.abandon(later)
    assert peer.next_deadline is None
    assert peer.expire(100.0) == []


def test_deadlines_of_ended_calls_take_no_memory_for_long() -> None:
    peer: Peer[None] = Peer()
    for _ in range(1000):
        call_id, _ = peer.call("x", context=None, deadline=86_400.0)
        peer.abandon(call_id)
    assert peer.next_deadline is None
    kept, _ = peer.call("x", context=None, deadline=90_000.0)
    for _ in range(1000):
        call_id, _ = peer.call("x", context=None, deadline=86_400.0)
        peer.abandon(call_id)
        assert peer.next_deadline == 90_000.0
        assert len(vars(peer)["_deadlines"]) < 100
    assert peer.abandon(kept) is not None


def test_close_ends_all_calls_in_flight_once() -> None:
    peer: Peer[str] = Peer()
    peer.call("a", context="a", deadline=1.0)
    peer.call("b", context="b")
    assert [call.context for call in peer.close()] == ["a", "b"]
    assert peer.close() == []
    assert peer.next_deadline is None


def test_a_request_is_answered_under_its_own_id_and_in_its_own_dialect() -> None:
    peer: Peer[None] = Peer()
    data = (
        b'{"id":"a 1","method":"ask","params":{"q":1}}\n{"jsonrpc":"2.0","id":7.0,"method":"x"}\n'
    )
    plain, versioned = events(peer, data)
    assert isinstance(plain, Asked)
    assert isinstance(versioned, Asked)
    assert plain.request.method == "ask"
    assert peer.answer(plain, {"ok": True}) == b'{"id":"a 1","result":{"ok":true}}\n'
    refusal = peer.refuse(versioned, -32601, "no", {"reason": "x"})
    assert refusal == (
        b'{"jsonrpc":"2.0","id":7.0,"error":{"code":-32601,"message":"no","data":{"reason":"x"}}}\n'
    )


def test_the_answers_to_a_batch_are_sent_together_when_the_last_is_there() -> None:
    peer: Peer[None] = Peer()
    batch = (
        b'[{"id":1,"method":"a"},{"method":"note"},{"id":{},"method":"b"},{"id":2,"method":"c"}]\n'
    )
    first, note, bad, last = events(peer, batch)
    assert isinstance(note, jsonrpc.Notification)
    assert isinstance(first, Asked)
    assert isinstance(bad, Unreadable)
    assert isinstance(last, Asked)
    assert bad.is_owed
    assert peer.answer(last, 3) == b""
    assert peer.refuse(bad, bad.problem.code, "bad") == b""
    assert peer.answer(first, 1) == (
        b'[{"id":2,"result":3},{"id":null,"error":{"code":-32600,"message":"bad"}},'
        b'{"id":1,"result":1}]\n'
    )


def test_input_that_is_no_message_is_reported_and_the_next_message_read() -> None:
    peer: Peer[None] = Peer(LineFramer(40))
    found = events(peer, b"nonsense\n" + b" " * 50 + b'x\n{"method":"a"}\n')
    assert [type(event) for event in found] == [Unreadable, TooLarge, jsonrpc.Notification]


def test_lost_boundaries_and_a_torn_end_are_reported() -> None:
    peer: Peer[None] = Peer(AutoFramer(100))
    assert [type(event) for event in events(peer, b"Content-Length: x\r\n\r\n")] == [Malformed]
    peer = Peer()
    assert events(peer, b'{"method":"a"}\n{"meth') != []
    peer.feed_eof()
    assert rest(peer) == [Truncated(b'{"meth')]


def test_events_that_were_not_read_come_before_those_of_the_next_bytes() -> None:
    peer: Peer[None] = Peer()
    peer.feed(b'{"method":"a"}\n{"method":"b"}\n')
    first = peer.next_event()
    assert isinstance(first, jsonrpc.Notification)
    peer.feed(b'{"method":"c"}\n')
    assert [event.method for event in [first, *rest(peer)]] == ["a", "b", "c"]  # type: ignore[union-attr]


def test_messages_that_begin_alike_are_one_run_between_the_others() -> None:
    peer: Peer[None] = Peer(LineFramer(30))
    delta = b'{"method":"d","x":'
    data = b'{"method":"a"}\n%b1}\n%b2}\n{"method":"b"}\n%b3}\n' % (delta, delta, delta)
    found = events(peer, data + b" " * 40 + b"\n" + delta + b"4}\n", delta)
    assert [event.lines if isinstance(event, Run) else type(event) for event in found] == [
        jsonrpc.Notification,
        [delta + b"1}", delta + b"2}"],
        jsonrpc.Notification,
        [delta + b"3}"],
        TooLarge,
        [delta + b"4}"],
    ]


def test_a_run_can_be_asked_for_in_the_middle_of_a_chunk() -> None:
    peer: Peer[None] = Peer()
    peer.feed(b'{"method":"d"}\n' * 3)
    assert isinstance(peer.next_event(), jsonrpc.Notification)
    assert peer.next_event(b'{"method":"d"') == Run([b'{"method":"d"}'] * 2)


STREAM = (
    b'{"method":"a","params":{"t":"\xc3\xa9"}}\n{"id":1,"result":null}\n\n'
    b'[{"id":9,"method":"q"},{"method":"n"}]\r\nnonsense\n{"id":3,"error":1}\n{"method":"z"}\n'
)


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_events_do_not_depend_on_where_the_stream_is_cut(cuts: list[int]) -> None:
    def seen(pieces: list[bytes]) -> list[str]:
        peer: Peer[None] = Peer()
        peer.call("x", context=None)
        return [_shown(event) for piece in pieces for event in events(peer, piece)]

    bounds = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in pairwise(bounds)]
    assert seen(pieces) == seen([STREAM])
    assert len(seen([STREAM])) == 7


def _shown(event: Event[None]) -> str:
    match event:
        case Asked(request):
            return f"asked {request.method}"
        case jsonrpc.Notification():
            return f"note {event.method}"
        case _:
            return type(event).__name__


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"method":"a"}', jsonrpc.Notification),
        (b'{"method":"a","id":1,"params":null}', jsonrpc.Request),
        (b'{"id":1,"result":2}', jsonrpc.Response),
        (b'{"id":1}', jsonrpc.Response),
        (b'{"id":1,"error":{"code":1,"message":""},"result":null}', jsonrpc.ErrorResponse),
        (b'{"result":2}', jsonrpc.Invalid),
        (b'{"method":1}', jsonrpc.Invalid),
        (b"[]", jsonrpc.Invalid),
        (b"{", jsonrpc.Invalid),
        (b"[" * 100_000, jsonrpc.Invalid),
    ],
)
def test_a_trusted_message_is_read_in_one_pass(line: bytes, expected: type[object]) -> None:
    message = jsonrpc.decode_trusted(line)
    assert type(message) is expected


def test_a_trusted_message_may_have_the_version() -> None:
    message = jsonrpc.decode_trusted(b'{"jsonrpc":"2.0","method":"a","params":[1]}')
    assert isinstance(message, jsonrpc.Notification)
    assert message.versioned
    assert bytes(message.params or b"") == b"[1]"


def test_a_message_that_was_framed_elsewhere_is_read_alone() -> None:
    peer: Peer[None] = Peer()
    [one] = peer.read(b'{"method":"a"}')
    assert isinstance(one, jsonrpc.Notification)
    first, second = peer.read(b'[{"method":"a"},{"id":1,"method":"b"}]')
    assert isinstance(first, jsonrpc.Notification)
    assert isinstance(second, Asked)
    assert peer.encode(b'{"own":1}') == b'{"own":1}\n'


@pytest.mark.parametrize("text", [b"%b", b'[%b,{"method":"a"}]'])
def test_a_large_message_is_read_in_steps_as_at_once(text: bytes) -> None:
    message = text % (b'{"id":1,"method":"b","params":["%b"]}' % (b"x" * (2 * STEP_BYTES)))
    peer: Peer[None] = Peer()
    steps = peer.read_in_steps(message)
    assert next(steps) is None
    stepwise, at_once = finished(steps), peer.read(message)
    assert [one.request if isinstance(one, Asked) else one for one in stepwise] == [
        one.request if isinstance(one, Asked) else one for one in at_once
    ]


@pytest.mark.parametrize("versioned", [False, True])
def test_an_error_object_is_sent_as_it_is_in_the_version_of_the_request(versioned: bool) -> None:
    peer: Peer[None] = Peer(encode=bytes)
    opening = b'{"jsonrpc":"2.0",' if versioned else b"{"
    (asked,) = peer.read(opening + b'"id":7,"method":"m"}')
    assert isinstance(asked, Asked)
    error = b'{"message": "no", "code": 1, "future": [1e3]}'
    assert peer.refuse_with(asked, error) == opening + b'"id":7,"error":' + error + b"}"


def test_unreadable_input_is_refused_without_an_id() -> None:
    peer: Peer[None] = Peer()
    (unreadable,) = peer.read(b"nonsense")
    assert isinstance(unreadable, Unreadable)
    assert peer.refuse_with(unreadable, b"{}") == b'{"id":null,"error":{}}\n'
