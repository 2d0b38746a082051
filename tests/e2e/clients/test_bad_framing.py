"""Oversized and truncated messages, failed handshakes, odd ids, batches and dialects: the client
gets an answer, and other clients are not affected.
"""

import anyio
import msgspec
import pytest
from trimpoint.config.sections import LimitsSection
from trimpoint.testkit import held, say
from trimpoint_protocol.client.unix import connect_unix

from tests.deadlines import STEP_S
from tests.e2e.clients.strangers import CODEX_REFUSES, INPUT, STRANGER, speaking, started, works
from tests.e2e.conftest import Harness
from tests.e2e.wire import connect_socket

pytestmark = pytest.mark.codex


async def test_a_huge_message_is_passed_on_and_answered(harness: Harness) -> None:
    async with speaking(harness) as wire:
        thread_id = await started(wire, harness)
        error = (
            await wire.ask(
                "turn/start", threadId=thread_id, input=[{"type": "text", "text": "x" * 3_000_000}]
            )
        )["error"]
        assert error["data"]["input_error_code"] == "input_too_large"
        outcome = await wire.result(
            "commands/execute", threadId=thread_id, text="/clear " + "x" * 1_000_000
        )
        assert outcome["reason"] == "usage"
        assert len(outcome["message"]) < 1000


async def test_a_message_over_the_limit_is_refused_and_the_next_is_served(harness: Harness) -> None:
    harness.config = msgspec.structs.replace(
        harness.config, limits=LimitsSection(max_message_bytes=100_000)
    )
    async with speaking(harness) as wire:
        await wire.send_bytes(
            b'{"id":"x","method":"model/list","params":{"pad":"' + b"x" * 200_000 + b'"}}\n'
        )
        refusal = await wire.until(lambda message: "error" in message)
        assert refusal["error"]["data"]["reason"] == "message_too_large"


async def test_requests_are_refused_before_the_handshake_and_answered_after_it(
    harness: Harness,
) -> None:
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        for method in (
            "thread/start",
            "sidecar/status",
            "no/such/method",
            "commands/list",
            "sidecar/shutdown",
        ):
            error = (await wire.ask(method))["error"]
            assert (error["code"], error["message"]) == (CODEX_REFUSES, "Not initialized"), method
            assert error["data"]["reason"] == "not_initialized"
        await wire.initialize()
        await works(wire)


async def test_a_second_handshake_is_refused_in_the_words_of_codex(harness: Harness) -> None:
    async with speaking(harness) as wire:
        error = (await wire.initialize("somebody else"))["error"]
        assert (error["code"], error["message"]) == (CODEX_REFUSES, "Already initialized")


async def test_a_wrong_handshake_may_be_tried_again(harness: Harness) -> None:
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        for params in (
            {},
            {"clientInfo": "me"},
            {
                "clientInfo": {"name": "me", "version": "1"},
                "capabilities": {"optOutNotificationMethods": 3},
            },
        ):
            assert (await wire.ask("initialize", **params))["error"]["data"][
                "reason"
            ] == "invalid_params"
        await wire.initialize()
        await works(wire)


async def test_requests_sent_right_behind_the_handshake_are_served(harness: Harness) -> None:
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        info = {"name": "hasty", "version": "1"}
        messages = [
            {"id": 1, "method": "initialize", "params": {"clientInfo": info}}, {"method": "initialized"},
            {"id": 2, "method": "model/list", "params": {}}, {"id": 3, "method": "sidecar/status"},
        ]  # fmt: skip
        await wire.send_bytes(
            b"".join(msgspec.json.encode(message) + b"\n" for message in messages)
        )
        assert "result" in await wire.answer_to(2)
        assert "result" in await wire.answer_to(3)
        assert wire.received[0].get("id") == 1


async def test_a_client_that_dies_in_the_middle_of_a_line_disturbs_no_other(
    harness: Harness,
) -> None:
    cut_off = [
        b'{"id":5,"meth',
        b"",
        b'{"id":5,"method":"thread/start","params":{"cwd":"/tm',
        b'[{"id":5,"method":"thread/start"},{"id"',
    ]
    async with speaking(harness) as wire:
        for last in cut_off:
            async with connect_socket(harness.socket) as dying:
                await dying.initialize("dying")
                await dying.send_bytes(last)
                await dying.abort()
            await works(wire)
        async with connect_socket(harness.socket) as dying:
            await dying.send_bytes(b"Content-Length: 100\r\n\r\n{")
            await dying.abort()
        assert (await wire.result("sidecar/status"))["threads"] == 0
    assert harness.model.requests == []


async def test_a_client_that_dies_while_it_is_owed_answers_disturbs_no_other(
    harness: Harness,
) -> None:
    async with speaking(harness) as wire:
        thread_id = await started(wire, harness)
        async with connect_socket(harness.socket) as dying:
            await dying.initialize("dying")
            await dying.result("thread/resume", threadId=thread_id)
            harness.script.then(say("the answer."))
            flood = [
                {"id": number, "method": "model/list", "params": {}} for number in range(50)
            ]  # Codex takes some 130 at once
            prompt = {
                "id": "turn",
                "method": "turn/start",
                "params": {"threadId": thread_id, "input": INPUT},
            }
            await dying.send_bytes(
                b"".join(msgspec.json.encode(message) + b"\n" for message in [*flood, prompt])
            )
            assert "result" in await dying.answer_to("turn")
            await dying.abort()
        completed = await wire.received_after("turn/completed", threadId=thread_id)
        assert completed["params"]["turn"]["status"] == "completed"
        read = await wire.result("thread/read", threadId=thread_id, includeTurns=True)
        assert [item["type"] for item in read["thread"]["turns"][0]["items"]] == [
            "userMessage",
            "agentMessage",
        ]


IDS = [
    "0",
    "-1",
    "9007199254740993",
    "123456789012345678901234567890",
    "1.5",
    "1e3",
    '""',
    '"text"',
    '"\\u00e9"',
    '"🦀"',
    "null",
]


async def test_an_id_of_any_type_comes_back_in_the_very_text_it_was_sent(harness: Harness) -> None:
    async with harness.daemon(), await connect_unix(harness.socket) as stream:
        await stream.send(
            b'{"id":"0th","method":"initialize","params":{"clientInfo":{"name":"ids","version":"1"}}}\n'
        )
        for method in ("sidecar/status", "thread/loaded/list", "no/such/method", "timeline/read"):
            lines = [
                f'{{"id":{request_id},"method":"{method}","params":{{}}}}\n' for request_id in IDS
            ]
            await stream.send("".join(lines).encode())
            heard = b""
            with anyio.fail_after(STEP_S):
                while not all(f'{{"id":{request_id},'.encode() in heard for request_id in IDS):
                    heard += await stream.receive()


async def test_a_batch_is_answered_with_a_batch_bad_members_among_good_ones(
    harness: Harness,
) -> None:
    async with speaking(harness) as wire:
        await wire.send(
            [
                {"id": "a", "method": "sidecar/status"}, {"id": "b", "method": "no/such/method"}, 7, {"method": "initialized"}, [],
                {"id": "c", "method": "model/list", "params": {}}, {"id": "d", "method": 3}, {"id": "e", "result": 1},
                {"id": "f", "method": "timeline/read", "params": {"threadId": STRANGER}},
            ]
        )  # fmt: skip
        batch = await wire.until(lambda message: isinstance(message, list))
        kinds = {
            answer["id"]: "error" if "error" in answer else "result"
            for answer in batch
            if answer["id"] is not None
        }
        assert kinds == {"a": "result", "b": "error", "c": "result", "d": "error", "f": "error"}
        assert sum(answer["id"] is None for answer in batch) == 2


async def test_a_batch_that_wants_no_answer_gets_none(harness: Harness) -> None:
    async with speaking(harness) as wire:
        await wire.send(
            [{"method": "initialized"}, {"method": "no/such/notification", "params": {}}]
        )
        await works(wire)
        assert not any(isinstance(message, list) for message in wire.received)


async def test_a_whole_handshake_may_come_as_a_batch_in_the_other_dialect(harness: Harness) -> None:
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        params = {"clientInfo": {"name": "batch", "version": "1"}}
        await wire.send(
            [
                {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, {"jsonrpc": "2.0", "method": "initialized"},
                {"jsonrpc": "2.0", "id": 2, "method": "thread/start", "params": {"cwd": str(harness.worktree)}},
            ]
        )  # fmt: skip
        batch = await wire.until(lambda message: isinstance(message, list))
        assert [answer["id"] for answer in sorted(batch, key=lambda answer: answer["id"])] == [1, 2]
        notification = await wire.received_after("thread/started")
        assert {message["jsonrpc"] for message in [*batch, notification]} == {"2.0"}


async def test_a_client_is_spoken_to_in_the_dialect_it_speaks(harness: Harness) -> None:
    async with speaking(harness) as plain, connect_socket(harness.socket) as versioned:
        info = {"clientInfo": {"name": "versioned", "version": "1"}}
        await versioned.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info})
        await versioned.answer_to(1)
        thread_id = await started(plain, harness)
        await versioned.received_after("thread/started")
        await versioned.send({"jsonrpc": "2.0", "id": 2, "method": "no/such/method"})
        await versioned.send(
            {"jsonrpc": "2.0", "id": 3, "method": "thread/read", "params": {"threadId": thread_id}}
        )
        await versioned.answer_to(3)
        assert {message.get("jsonrpc") for message in versioned.received} == {"2.0"}
        assert {message.get("jsonrpc") for message in plain.received} == {None}


async def test_a_client_that_sends_content_length_is_answered_in_it(harness: Harness) -> None:
    async with harness.daemon(), await connect_unix(harness.socket) as stream:
        body = msgspec.json.encode(
            {
                "id": 1,
                "method": "initialize",
                "params": {"clientInfo": {"name": "lsp", "version": "1"}},
            }
        )
        bad = b"{nonsense"
        asked = msgspec.json.encode({"id": 2, "method": "model/list"})
        framed = [
            b"Content-Length: %d\r\nContent-Type: x\r\n\r\n%b" % (len(one), one)
            for one in (body, bad, asked)
        ]
        for byte in b"".join(framed):
            await stream.send(bytes([byte]))
        heard = b""
        with anyio.fail_after(STEP_S):
            while b'"id":2' not in heard or b"-32700" not in heard:
                heard += await stream.receive()
        assert heard.startswith(b"Content-Length: ")
        assert b"\n{" not in heard.replace(b"\r\n\r\n{", b"")


async def test_broken_framing_ends_that_connection_alone_and_says_why(harness: Harness) -> None:
    async with speaking(harness), await connect_unix(harness.socket) as stream:
        await stream.send(b"Content-Length: many\r\n\r\n{}")
        heard = b""
        with anyio.fail_after(STEP_S), pytest.raises(anyio.EndOfStream):  # noqa: PT012 - it is heard until it ends
            while True:
                heard += await stream.receive()
        assert b"parse_error" in heard


async def test_too_many_requests_at_once_are_refused_and_the_others_answered(
    harness: Harness,
) -> None:
    harness.config = msgspec.structs.replace(
        harness.config, limits=LimitsSection(max_requests_in_flight=4)
    )
    async with speaking(harness) as wire, connect_socket(harness.socket) as other:
        await other.initialize("other")
        thread_id = await started(wire, harness)
        release = anyio.Event()
        harness.script.at_compaction(held(say("Held gist."), release))
        await wire.result("turn/start", threadId=thread_id, input=INPUT)
        await wire.received_after("turn/completed", threadId=thread_id)
        requests = [
            {
                "id": n,
                "method": "commands/execute",
                "params": {"threadId": thread_id, "text": "/compact --force"},
            }
            for n in range(6)
        ]
        await wire.send_bytes(
            b"".join(msgspec.json.encode(request) + b"\n" for request in requests)
        )
        answers = [await wire.answer_to(number) for number in (4, 5)]
        for answer in answers:
            assert (answer["error"]["code"], answer["error"]["data"]["reason"]) == (
                -32001,
                "overloaded",
            )
            assert answer["error"]["data"]["retryable"] is True
        await works(other)
        release.set()
        outcomes = [(await wire.answer_to(number))["result"]["status"] for number in range(4)]
        assert sorted(outcomes) == ["completed", "skipped", "skipped", "skipped"]


async def test_notifications_of_a_client_are_taken_without_a_word(harness: Harness) -> None:
    async with speaking(harness) as wire:
        after = len(wire.received)
        for message in (
            {"method": "initialized"},
            {"method": "$/cancelRequest", "params": {"id": 1}},
            {"method": "exit", "params": None},
        ):
            await wire.send(message)
        answer = await wire.ask("sidecar/status")
        assert [message for message in wire.received[after:] if "id" in message] == [answer]
