"""The scripted model as a server, without Codex: HTTP manners, waiting, failing scripts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import h11
import msgspec
import pytest
from anyio.abc import ByteStream
from trimpoint.testkit import (
    ModelRequest,
    Reply,
    Respond,
    Script,
    ScriptedModel,
    cut_off,
    hang,
    held,
    http_error,
    say,
)

from tests.deadlines import STEP_S


def asking(text: str) -> bytes:
    """A request body whose only input is what a user says."""
    content = [{"type": "input_text", "text": text}]
    return msgspec.json.encode({"input": [{"type": "message", "role": "user", "content": content}]})


TURN = asking("hi")


class HttpClient:
    """One connection to the model, a request at a time."""

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream
        self.http = h11.Connection(h11.CLIENT)

    async def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> None:
        if self.http.our_state is h11.DONE:
            self.http.start_next_cycle()
        named = [
            ("host", "model"),
            *((name.replace("_", "-"), value) for name, value in headers.items()),
        ]
        if body and "transfer_encoding" not in headers:
            named.append(("content-length", str(len(body))))
        await self._send(h11.Request(method=method, target=path, headers=named))
        for start in range(0, len(body), 10_000):
            await self._send(h11.Data(data=body[start : start + 10_000]))
        await self._send(h11.EndOfMessage())

    async def event(self) -> h11.Event:
        while (event := self.http.next_event()) is h11.NEED_DATA:
            try:
                self.http.receive_data(await self.stream.receive())
            except anyio.EndOfStream:
                self.http.receive_data(b"")
        assert isinstance(event, h11.Event)
        return event

    async def body_until(self, needle: bytes) -> bytes:
        """The part of a streamed answer's body from here up to the chunk that holds `needle`."""
        body = b""
        while needle not in body:
            event = await self.event()
            assert isinstance(event, h11.Response | h11.Data)
            body += event.data if isinstance(event, h11.Data) else b""
        return body

    async def answer(self) -> tuple[int, bytes]:
        head = await self.event()
        assert isinstance(head, h11.Response)
        chunks: list[bytes] = []
        while isinstance(event := await self.event(), h11.Data):
            chunks.append(bytes(event.data))
        return head.status_code, b"".join(chunks)

    async def ask(
        self, method: str, path: str, body: bytes = b"", **headers: str
    ) -> tuple[int, bytes]:
        await self.send(method, path, body, **headers)
        return await self.answer()

    async def _send(self, event: h11.Event) -> None:
        if data := self.http.send(event):
            await self.stream.send(data)


@asynccontextmanager
async def client_of(model: ScriptedModel) -> AsyncGenerator[HttpClient, None]:
    port = urlsplit(model.base_url).port
    assert port is not None
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        yield HttpClient(stream)


@asynccontextmanager
async def served(respond: Respond) -> AsyncGenerator[tuple[ScriptedModel, HttpClient], None]:
    with anyio.fail_after(STEP_S):
        async with ScriptedModel(respond) as model, client_of(model) as client:
            yield model, client


def broken(_: ModelRequest) -> Reply:
    raise LookupError("no such scene")


async def test_a_websocket_attempt_is_refused_so_that_codex_posts() -> None:
    async with served(Script()) as (model, client):
        upgrade: dict[str, Any] = {
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec_websocket_version": "13",
        }
        status, _ = await client.ask("GET", "/v1/responses", **upgrade)
        assert (status, model.websocket_attempts, model.requests) == (426, 1, [])


async def test_the_list_of_models_is_empty_and_other_paths_are_unknown() -> None:
    async with served(Script()) as (_, client):
        status, body = await client.ask("GET", "/v1/models?client_version=1")
        assert (status, msgspec.json.decode(body)["data"]) == (200, [])
        assert await client.ask("POST", "/v1/embeddings", b"{}") == (404, b"")


async def test_a_connection_serves_several_calls() -> None:
    async with served(Script()) as (_, client):
        answers = [(await client.ask("POST", "/v1/responses", TURN))[1] for _ in range(3)]
        assert [b"reply %d" % n in body for n, body in enumerate(answers, start=1)] == [True] * 3


async def test_a_large_chunked_body_arrives_whole() -> None:
    body = asking("x" * 300_000)
    async with served(Script()) as (model, client):
        status, _ = await client.ask("POST", "/v1/responses", body, transfer_encoding="chunked")
        assert (status, model.requests[0].texts()) == (200, ["x" * 300_000])


async def test_a_request_that_trickles_in_byte_by_byte_is_understood() -> None:
    raw = b"POST /v1/responses HTTP/1.1\r\nhost: m\r\ncontent-length: %d\r\n\r\n%b" % (
        len(TURN),
        TURN,
    )
    async with served(Script()) as (model, client):
        for position in range(len(raw)):
            await client.stream.send(raw[position : position + 1])
        assert (await model.wait_for_request()).texts() == ["hi"]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [(b"{", {}, 400), (b"[]", {}, 400), (b"\x28\xb5\x2f\xfd", {"content_encoding": "zstd"}, 415)],
)
async def test_a_body_that_cannot_be_read_is_refused_and_not_recorded(
    body: bytes, headers: dict[str, Any], status: int
) -> None:
    async with served(Script()) as (model, client):
        assert (await client.ask("POST", "/v1/responses", body, **headers))[0] == status
        assert (await client.ask("POST", "/v1/responses", TURN))[0] == 200
        assert len(model.requests) == 1


async def test_a_client_that_speaks_no_http_loses_only_its_connection() -> None:
    async with served(Script()) as (model, client):
        async with client_of(model) as stray:
            await stray.stream.send(b"\x00\x01 nonsense\r\n\r\n")
            with pytest.raises(anyio.EndOfStream):
                await stray.stream.receive()
        assert (await client.ask("POST", "/v1/responses", TURN))[0] == 200


async def test_a_hanging_reply_blocks_neither_other_calls_nor_the_end() -> None:
    async with served(Script().then(hang("so far"))) as (model, stuck):
        await stuck.send("POST", "/v1/responses", TURN)
        assert isinstance(await stuck.event(), h11.Response)
        async with client_of(model) as other:
            assert b"reply 2" in (await other.ask("POST", "/v1/responses", TURN))[1]


async def test_a_hanging_reply_completes_once_it_is_released() -> None:
    release = anyio.Event()
    async with served(lambda _: hang("so far", until=release)) as (_, client):
        await client.send("POST", "/v1/responses", TURN)
        begun = await client.body_until(b"so far")
        release.set()
        rest = await client.body_until(b"response.completed")
        assert b"output_item.done" not in begun
        assert b"output_item.done" in rest


async def test_of_a_held_reply_nothing_is_sent_before_its_event() -> None:
    event = anyio.Event()
    order: list[str] = []
    script = Script().then(held(say("late"), event))
    async with served(script) as (model, client), anyio.create_task_group() as tasks:

        async def ask() -> None:
            await client.ask("POST", "/v1/responses", TURN)
            order.append("answered")

        tasks.start_soon(ask)
        await model.wait_for_request()
        async with client_of(model) as other:
            await other.ask("POST", "/v1/responses", TURN)
        order.append("released")
        event.set()
    assert order == ["released", "answered"]


async def test_a_stream_that_is_cut_off_ends_without_the_end_of_its_body() -> None:
    async with served(Script().then(cut_off("half"))) as (_, client):
        with pytest.raises(h11.RemoteProtocolError, match="incomplete"):
            await client.ask("POST", "/v1/responses", TURN)


async def test_an_http_error_is_sent_as_it_is_and_the_connection_stays() -> None:
    async with served(Script().then(http_error(429, {"a": 1}))) as (_, client):
        assert await client.ask("POST", "/v1/responses", TURN) == (429, b'{"a":1}')
        assert (await client.ask("POST", "/v1/responses", TURN))[0] == 200


async def test_a_responder_may_be_asynchronous() -> None:
    async def respond(request: ModelRequest) -> Reply:
        await anyio.lowlevel.checkpoint()
        return say(f"heard {request.texts()[0]}")

    async with served(respond) as (_, client):
        assert b"heard hi" in (await client.ask("POST", "/v1/responses", TURN))[1]


async def test_a_responder_that_fails_is_answered_at_once_and_raised_at_the_end() -> None:
    with pytest.raises(LookupError, match="no such scene"):
        async with served(broken) as (_, client):
            assert (await client.ask("POST", "/v1/responses", TURN))[0] == 500


async def test_a_failed_responder_is_noted_on_the_error_that_the_test_raises_itself() -> None:
    async def fail_after_the_script() -> None:
        async with served(broken) as (_, client):
            await client.ask("POST", "/v1/responses", TURN)
            raise ValueError("own")

    with pytest.raises(ValueError, match="own") as caught:
        await fail_after_the_script()
    assert "no such scene" in caught.value.__notes__[0]


async def test_waiting_for_a_request_finds_past_and_future_ones() -> None:
    found: list[ModelRequest] = []
    async with served(Script()) as (model, client), anyio.create_task_group() as tasks:

        async def wait(wanted: Callable[[ModelRequest], bool] | int) -> None:
            found.append(await model.wait_for_request(wanted))

        tasks.start_soon(wait, 2)
        await client.ask("POST", "/v1/responses", TURN)
        await client.ask("POST", "/v1/responses", asking("later"))
        await wait(lambda request: request.mentions("later"))
    assert found == [model.requests[1]] * 2


async def test_a_cancelled_test_takes_its_model_along() -> None:
    with anyio.CancelScope() as scope:
        async with served(Script().then(hang())) as (_, client):
            await client.send("POST", "/v1/responses", TURN)
            scope.cancel()
            await client.answer()
    assert scope.cancelled_caught


def test_the_address_is_known_only_while_the_model_runs() -> None:
    with pytest.raises(RuntimeError, match="not running"):
        _ = ScriptedModel(Script()).base_url
