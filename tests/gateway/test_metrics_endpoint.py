"""`GET /metrics`: what a Prometheus gets, what everybody else gets, and that nothing harms the daemon."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from structlog.testing import capture_logs
from trimpoint.gateway.metrics.metrics_endpoint import MAX_CONNECTIONS, MAX_HEAD_BYTES, Address, serve_metrics

from tests.deadlines import STEP_S

DEADLINE_S = STEP_S


def text() -> str:
    return "up 1\n"


@asynccontextmanager
async def served() -> AsyncIterator[int]:
    with anyio.fail_after(DEADLINE_S):
        async with anyio.create_task_group() as tasks:
            port = await tasks.start(serve_metrics, Address("127.0.0.1", 0), text)
            yield int(port)
            tasks.cancel_scope.cancel()


async def said_to(port: int, request: bytes) -> bytes:
    """All that is answered to a request, until the connection ends."""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(request)
        answer = b""
        try:
            while True:
                answer += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return answer


async def test_a_scrape_gets_the_metrics() -> None:
    async with served() as port:
        head, _, body = (await said_to(port, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: 5\r\n")
    assert body == b"up 1\n"


@pytest.mark.parametrize(
    ("request_line", "status", "has_body"),
    [
        (b"GET /metrics?name=up HTTP/1.1", b"200", True),
        (b"HEAD /metrics HTTP/1.1", b"200", False),
        (b"GET / HTTP/1.1", b"404", True),
        (b"POST /metrics HTTP/1.1", b"405", True),
        (b"hello", b"400", True),
        (b"\xff\x00", b"400", True),
    ],
)
async def test_everything_else_is_told_what_is_right(request_line: bytes, status: bytes, has_body: bool) -> None:
    async with served() as port:
        head, _, body = (await said_to(port, request_line + b"\r\n\r\n")).partition(b"\r\n\r\n")
    assert head.split(b" ")[1] == status
    assert bool(body) is has_body


async def test_an_endless_request_is_read_no_further_than_a_head() -> None:
    async with served() as port:
        assert await said_to(port, b"GET /metrics HTTP/1.1\r\nX: " + b"x" * MAX_HEAD_BYTES) == b""
        assert (await said_to(port, b"GET /metrics HTTP/1.1\r\n\r\n")).endswith(b"up 1\n")


async def test_a_client_that_leaves_in_the_middle_harms_nobody() -> None:
    async with served() as port:
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(b"GET /met")
        assert (await said_to(port, b"GET /metrics HTTP/1.1\r\n\r\n")).endswith(b"up 1\n")


async def test_silent_clients_keep_their_seats_no_longer_than_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trimpoint.gateway.metrics.metrics_endpoint.DEADLINE_S", 0.2)
    async with served() as port:
        silent = [await anyio.connect_tcp("127.0.0.1", port) for _ in range(MAX_CONNECTIONS)]
        for stream in silent:
            with pytest.raises(anyio.EndOfStream):
                await stream.receive()
            await stream.aclose()
        assert (await said_to(port, b"GET /metrics HTTP/1.1\r\n\r\n")).endswith(b"up 1\n")


async def test_a_port_that_is_taken_is_logged_and_harms_nothing() -> None:
    async with served() as port:
        with capture_logs() as logs:
            async with anyio.create_task_group() as tasks:
                assert await tasks.start(serve_metrics, Address("127.0.0.1", port), text) is None
    assert [(entry["event"], entry["address"]) for entry in logs] == [("metrics_not_served", f"127.0.0.1:{port}")]


def test_an_address_is_written_as_it_is_typed() -> None:
    assert (str(Address("127.0.0.1", 9464)), str(Address("::1", 9464))) == ("127.0.0.1:9464", "[::1]:9464")
