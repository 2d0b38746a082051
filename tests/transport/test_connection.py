"""Connections: requests and responses in every framing, until either side closes."""

import asyncio
import json
from itertools import pairwise

import pytest
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.connection import Connection, Limits
from trimpoint.transport.inbox import ClientMessage
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.peer import Asked, Unreadable

from tests.gateway.talks import (
    MIB,
    PATIENT,
    Recorder,
    RecordingEnd,
    answer_everything,
    connected,
    request,
)


async def test_requests_are_handed_on_and_answered_in_order() -> None:
    async with connected() as talk:
        await talk.client.say(b"".join(request(number, f"m{number}") for number in range(100)))
        answers = [await talk.client.message() for _ in range(100)]
    assert answers == [{"id": number, "result": f"m{number}"} for number in range(100)]


async def test_input_that_comes_byte_by_byte_is_the_same_input() -> None:
    text = b"".join(
        [
            b'\r\n {"id":1,"method":"a"} \r\n\n',
            b'[{"method":"b"},{"id":2,"method":"c"}]\n',
            b'{nonsense}\n{"method":"d"}\n',
        ]
    )
    whole, bytewise = Recorder(), Recorder()
    async with connected(whole) as talk:
        await talk.client.say(text)
        await whole.until(5)
    async with connected(bytewise) as talk:
        for at in range(len(text)):
            await talk.client.say(text[at : at + 1])
            await asyncio.sleep(0)
        await bytewise.until(5)
    assert bytewise.methods == whole.methods == ["a", "b", "c", "d"]
    assert [type(one) for one in bytewise.got] == [type(one) for one in whole.got]
    assert isinstance(whole.got[3], Unreadable)


async def test_garbage_is_answered_and_the_connection_lives_on() -> None:
    async with connected() as talk:
        await talk.client.say(b"\x00\xff\xfe garbage\n" + request(7))
        assert (await talk.client.message())["error"]["code"] == jsonrpc.PARSE_ERROR
        assert await talk.client.message() == {"id": 7, "result": "m"}


async def test_a_huge_message_arrives_whole_and_is_sent_whole() -> None:
    text = "x" * (10 * MIB)

    def echo(connection: Connection, message: ClientMessage) -> None:
        assert isinstance(message, Asked)
        connection.answer(message, message.request.params)

    async with connected(echo) as talk:
        await talk.client.say(jsonrpc.encode_request(b"1", "echo", [text], versioned=False) + b"\n")
        assert (await talk.client.message())["result"] == [text]


async def test_others_are_let_on_while_a_large_message_is_read() -> None:
    seen = Recorder()
    text = jsonrpc.encode_request(b"1", "large", ['"[' * (2 * MIB)], versioned=False) + b"\n"
    async with connected(seen) as talk:
        turns = 0

        def count_turn() -> None:
            nonlocal turns
            turns += 1
            if not seen.got:
                loop.call_soon(count_turn)

        loop = asyncio.get_running_loop()
        talk.connection._feed(text + request(2, "small"))  # all of it at once
        talk.connection._handle_messages()
        count_turn()
        await seen.until(2)
    assert seen.methods == ["large", "small"]
    assert turns > 3


@pytest.mark.parametrize("member_bytes", [10, 8_000])
async def test_others_are_let_on_while_the_requests_of_a_batch_are_handled(
    member_bytes: int,
) -> None:
    seen, turns = Recorder(), [0]

    def count_turn() -> None:
        turns.append(len(seen.got))
        if len(seen.got) < 1_001:
            loop.call_soon(count_turn)

    members = [
        jsonrpc.encode_request(b"%d" % n, f"m{n}", ["x" * member_bytes], versioned=False)
        for n in range(1_000)
    ]
    async with connected(seen) as talk:
        loop = asyncio.get_running_loop()
        talk.connection._feed(b"[%b]\n" % b",".join(members) + request(2, "after"))
        talk.connection._handle_messages()
        count_turn()
        await seen.until(1_001)
    assert seen.methods == [*(f"m{n}" for n in range(1_000)), "after"]
    assert max(b - a for a, b in pairwise(turns)) <= 512


async def test_a_large_last_line_without_a_newline_is_read_in_steps() -> None:
    seen = Recorder()
    text = jsonrpc.encode_request(b"1", "large", ["x" * (4 * MIB)], versioned=False)
    async with connected(seen) as talk:
        talk.connection._feed(text)
        talk.connection._end_input()
        talk.connection._handle_messages()
        assert seen.got == []
        await seen.until(1)
    assert seen.methods == ["large"]


@pytest.mark.parametrize("versioned", [False, True])
async def test_a_message_over_the_limit_is_refused_in_the_dialect_spoken_and_the_next_is_served(
    versioned: bool,
) -> None:
    first = jsonrpc.encode_request(b"1", "m", versioned=versioned) + b"\n"
    async with connected(limits=Limits(max_message_bytes=1000)) as talk:
        await talk.client.say(first)
        await talk.client.message()
        await talk.client.say(b'"' + b"x" * 5000 + b'"\n' + first)
        refusal = await talk.client.message()
        assert (await talk.client.message())["result"] == "m"
    assert refusal["id"] is None
    assert ("jsonrpc" in refusal) is versioned
    error = refusal["error"]
    assert error["code"] == -32010
    assert "5002" in error["message"]
    assert error["data"].keys() == {"reason", "retryable", "hint"}
    assert (error["data"]["reason"], error["data"]["retryable"]) == ("message_too_large", False)


async def test_a_content_length_client_is_answered_in_content_length() -> None:
    body = b'{"id":1,"method":"m"}'
    async with connected() as talk:
        for byte in b"Content-Length: %d\r\n\r\n" % len(body) + body:
            await talk.client.say(bytes([byte]))
        answer = b'{"id":1,"result":"m"}'
        expected = b"Content-Length: %d\r\n\r\n" % len(answer) + answer
        assert await talk.client.receive(len(expected)) == expected
        talk.connection.send_encoded_lines(b"{}\n[]\n")
        assert (
            await talk.client.receive(46)
            == b"Content-Length: 2\r\n\r\n{}Content-Length: 2\r\n\r\n[]"
        )


async def test_broken_framing_is_answered_and_ends_the_connection() -> None:
    recorder = Recorder()
    async with connected(recorder) as talk:
        await talk.client.say(b'Content-Length: many\r\n\r\n{"method":"never"}')
        headers, _, body = (await talk.client.rest()).partition(b"\r\n\r\n")
        await talk.ended.wait()
    assert headers == b"Content-Length: %d" % len(body)
    error = json.loads(body)["error"]
    assert (error["code"], error["data"]["reason"]) == (jsonrpc.PARSE_ERROR, "parse_error")
    assert not recorder.got
    assert talk.connection.closed_because is not None
    assert "Content-Length" in talk.connection.closed_because


async def test_a_client_that_dies_in_the_middle_of_a_line_ends_quietly() -> None:
    recorder = Recorder()
    async with connected(recorder) as talk:
        await talk.client.say(request(1, "whole") + b'{"id":2,"meth')
        talk.client.vanish()
        await talk.ended.wait()
    assert recorder.methods == ["whole"]
    assert talk.connection.dropped_because is None


async def test_a_client_that_stopped_writing_still_gets_the_answers_it_is_owed() -> None:
    recorder = Recorder()
    async with connected(recorder) as talk:
        await talk.client.say(
            request(1) + b'[{"id":2,"method":"a"},{"id":3,"method":"b"}]\n{"cut off'
        )
        talk.client.stop_writing()
        await recorder.until(3)
        first, second, third = (one for one in recorder.got if isinstance(one, Asked))
        talk.connection.answer(first, 1)
        assert await talk.client.message() == {"id": 1, "result": 1}
        assert not talk.ended.is_set()
        talk.connection.answer(third, 3)
        talk.connection.answer(second, 2)
        assert await talk.client.rest() == b'[{"id":3,"result":3},{"id":2,"result":2}]\n'
        await talk.ended.wait()
    assert talk.connection.closed_because == "the client closed it"


async def test_a_client_that_stopped_writing_gets_a_long_answer_to_its_end() -> None:
    def answer_at_length(connection: Connection, message: ClientMessage) -> None:
        assert isinstance(message, Asked)
        connection.answer(message, "x" * (8 * MIB))

    async with connected(answer_at_length) as talk:
        await talk.client.say(request(1))
        talk.client.stop_writing()
        assert len(await talk.client.rest()) == 8 * MIB + len(b'{"id":1,"result":""}\n')


async def test_a_client_that_stopped_writing_and_is_owed_nothing_is_let_go() -> None:
    async with connected(Recorder()) as talk:
        await talk.client.say(b'{"method":"a"}\n{"id":1,"result":1}\n')
        talk.client.stop_writing()
        assert await talk.client.rest() == b""
        await talk.ended.wait()


async def test_a_message_over_the_limit_is_refused_even_if_it_never_ends() -> None:
    async with connected(limits=Limits(max_message_bytes=100)) as talk:
        await talk.client.say(b"x" * 101)
        talk.client.stop_writing()
        assert json.loads(await talk.client.rest())["error"]["code"] == -32010


async def test_answers_that_never_come_are_not_waited_for_without_end() -> None:
    async with connected(Recorder(), Limits(half_close_grace_s=0.01)) as talk:
        await talk.client.say(request(1))
        talk.client.stop_writing()
        assert await talk.client.rest() == b""
        await talk.ended.wait()
    assert talk.connection.closed_because == "the client waited too long for its answers"


async def test_a_client_that_is_gone_altogether_is_not_waited_for() -> None:
    recorder = Recorder()
    async with connected(recorder) as talk:
        await talk.client.say(request(1))
        talk.client.vanish()
        await talk.ended.wait()
    assert recorder.methods == ["m"]


async def test_clients_that_speak_lines_share_one_encoded_message() -> None:
    line = b'{"method":"delta"}\n'
    sinks = [RecordingEnd() for _ in range(3)]
    connections = [
        Connection(Transport(sink, sink, ""), PATIENT, answer_everything) for sink in sinks
    ]
    for connection in connections:
        connection.send_encoded_lines(line)
    await asyncio.sleep(0)
    assert all(sink.written[0] is line for sink in sinks)
