"""The client's connection: requests, inboxes, questions, the end."""

from typing import Any

import anyio
import pytest
from trimpoint_protocol.client import (
    ConnectionLost,
    DeadlinePassed,
    RemoteError,
    ServerRequest,
    open_connection,
)
from trimpoint_protocol.errors import Reason

from tests.deadlines import STEP_S
from tests.protocol.conversations import Server, conversation, stream_pair


async def test_a_request_returns_its_result_and_what_came_before_is_in_the_inbox() -> None:
    async with conversation() as (connection, server):
        inbox = connection.listen()
        pending = connection.begin("a", {"x": 1})
        assert await server.read() == {"id": 1, "method": "a", "params": {"x": 1}}
        await server.send({"method": "note", "params": {"n": 1}}, {"id": 1, "result": [1]})
        assert await pending.result() == [1]
        assert pending.is_there
        assert len(inbox) == 1
        assert aiter(inbox) is inbox
        assert (await inbox.receive()).params == {"n": 1}
        assert await pending.result_as(list[int]) == [1]


async def test_a_refusal_is_raised_with_the_reason_of_the_daemon() -> None:
    async with conversation() as (connection, server):
        data = {"reason": "turn_in_progress", "retryable": True, "hint": "wait", "new": 1}
        await server.send({"id": 1, "error": {"code": -32013, "message": "busy", "data": data}})
        with pytest.raises(RemoteError, match="busy") as refused:
            await connection.request("a")
        assert refused.value.reason is Reason.TURN_IN_PROGRESS
        assert refused.value.hint == "wait"
        assert refused.value.data == data


@pytest.mark.parametrize("error", [{"code": 1, "message": "no"}, 1])
async def test_an_error_of_codex_has_no_reason(error: Any) -> None:
    async with conversation() as (connection, server):
        await server.send({"id": 1, "error": error})
        with pytest.raises(RemoteError) as refused:
            await connection.request("a")
        assert refused.value.reason is None
        assert refused.value.hint == ""


async def test_a_request_that_is_not_answered_in_time_is_given_up() -> None:
    async with conversation() as (connection, server):
        with pytest.raises(DeadlinePassed, match="slow was not answered within 0 s"):
            await connection.request("slow", deadline_s=0)
        assert (await server.read())["method"] == "slow"
        await server.send({"id": 1, "result": "late"}, {"id": 2, "result": "in time"})
        assert await connection.request("next", deadline_s=STEP_S) == "in time"


async def test_a_cancelled_request_leaves_whole_frames_on_the_stream() -> None:
    async with conversation() as (connection, server):
        with anyio.move_on_after(0):
            await connection.request("given-up", {"text": "x" * 100_000})
        connection.notify("after")
        assert (await server.read())["method"] == "given-up"
        assert (await server.read())["method"] == "after"


async def test_a_lost_connection_ends_requests_and_inboxes_and_refuses_what_follows() -> None:
    async with conversation() as (connection, server):
        inbox = connection.listen()
        pending = connection.begin("a")
        await server.read()
        await server.send({"method": "last"})
        server.close()
        with pytest.raises(ConnectionLost, match="the daemon closed the connection"):
            await pending.result()
        assert (await inbox.receive()).method == "last"
        with pytest.raises(ConnectionLost):
            await inbox.receive()
        assert connection.is_lost
        with pytest.raises(ConnectionLost):
            connection.notify("b")
        with pytest.raises(ConnectionLost):
            await connection.listen().receive()
        await connection.flush()


async def test_an_inbox_has_what_it_was_opened_for_until_it_is_closed() -> None:
    async with conversation() as (connection, server):
        with connection.listen("a", "b", thread_id="t1") as inbox:
            await server.send(
                {"method": "a", "params": {"threadId": "t2"}},
                {"method": "c", "params": {"threadId": "t1"}},
                {"method": "a"},
                {"method": "b", "params": [1]},
                {"method": "a", "params": {"threadId": "t1", "n": 1}},
                {"method": "b", "params": {"thread": {"id": "t1"}, "n": 2}},
                {"method": "b", "params": {"eventId": "t1/7", "n": 3}},
                {"id": 1, "result": None},
            )
            await connection.request("x")
            assert [message.params["n"] for message in [await anext(inbox) for _ in range(3)]] == [
                1,
                2,
                3,
            ]
        await server.send({"method": "a", "params": {"threadId": "t1"}}, {"id": 2, "result": 0})
        await connection.request("x")
        assert len(inbox) == 0
        inbox.close()
        with pytest.raises(ConnectionLost):
            await inbox.receive()


async def test_the_first_wanted_message_is_waited_for() -> None:
    async with conversation() as (connection, server):
        inbox = connection.listen()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.send, {"method": "a"}, {"method": "b"})
            found = await inbox.receive_first(lambda message: message.method == "b")
            assert repr(found) == "Notification('b', b'')"
            assert found.params == {}


async def test_a_question_is_answered_once_or_refused() -> None:
    async with conversation() as (connection, server):
        inbox = connection.listen()
        await server.send(
            {"id": "q1", "method": "ask", "params": {"threadId": "t"}},
            {"id": "q2", "method": "ask"},
            {"id": [], "method": "no-id"},
        )
        first, second = await inbox.receive(), await inbox.receive()
        assert isinstance(first, ServerRequest)
        assert isinstance(second, ServerRequest)
        assert (first.id, first.thread_id) == ("q1", "t")
        first.answer({"decision": "accept"})
        first.answer({"decision": "decline"})
        first.refuse()
        second.refuse("not me")
        second.answer({})
        assert await server.read() == {"id": "q1", "result": {"decision": "accept"}}
        assert await server.read() == {"id": "q2", "error": {"code": -32601, "message": "not me"}}


async def test_unsent_messages_are_sent_at_the_end_of_the_block() -> None:
    ours, theirs = stream_pair()
    async with open_connection(ours) as connection:
        connection.notify("last words")
    assert await Server(theirs).read() == {"method": "last words"}
    ours.close()
    theirs.close()


async def test_an_error_of_the_block_is_raised_as_itself() -> None:
    with pytest.raises(ZeroDivisionError):
        async with conversation():
            raise ZeroDivisionError


async def test_a_connection_on_which_nothing_arrives_is_given_up() -> None:
    async with conversation() as (connection, server), anyio.create_task_group() as tasks:
        tasks.start_soon(_answer_twice, server)
        with pytest.raises(DeadlinePassed, match="commands/complete"):
            await connection.beat(0.1, 0.1)
        tasks.cancel_scope.cancel()


async def _answer_twice(server: Server) -> None:
    await server.send({"method": "thread/started", "params": {}})
    for _ in range(2):
        asked = await server.read()
        assert asked["method"] == "commands/complete"
        await server.send({"id": asked["id"], "result": []})
    assert (await server.read())["method"] == "commands/complete"


async def test_who_waits_for_an_answer_at_the_end_of_the_block_gets_none() -> None:
    async with conversation() as (connection, _):
        pending = connection.begin("thread/list")
    with pytest.raises(ConnectionLost):
        await pending.result()
