"""`GET /metrics` for a Prometheus on this machine, off unless configured. It tells numbers and takes nothing.

Law: whoever connects costs little and for a short time, is read no further than one request head, and can neither change anything
nor learn what is said in a conversation.
"""

from collections.abc import Callable
from typing import NamedTuple

import anyio
import structlog
from anyio import CapacityLimiter
from anyio.abc import SocketStream, TaskStatus
from anyio.streams.buffered import BufferedByteReceiveStream

from trimpoint.gateway.metrics.exposition import CONTENT_TYPE

MAX_HEAD_BYTES = 8 * 1024
MAX_CONNECTIONS = 8
DEADLINE_S = 5.0

log = structlog.get_logger()


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


async def serve_metrics(
    address: Address, text: Callable[[], str], *, task_status: TaskStatus[int | None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Serve until cancelled. `task_status` is told the port, or None where nothing can listen there.

    Never raises for an address that cannot be had: the daemon is worth more than its metrics.
    """
    try:
        listener = await anyio.create_tcp_listener(local_host=address.host, local_port=address.port)
    except OSError as error:
        log.error("metrics_not_served", address=str(address), detail=error.strerror or str(error))
        task_status.started(None)
        return
    port = int(listener.extra(anyio.abc.SocketAttribute.local_port))
    log.info("metrics_served", address=str(Address(address.host, port)))
    seats = CapacityLimiter(MAX_CONNECTIONS)

    async def attend(stream: SocketStream) -> None:
        async with stream:
            with anyio.move_on_after(DEADLINE_S):
                async with seats:
                    await _answer(stream, text)

    async with listener:
        task_status.started(port)
        await listener.serve(attend)


async def _answer(stream: SocketStream, text: Callable[[], str]) -> None:
    try:
        head = await BufferedByteReceiveStream(stream).receive_until(b"\r\n\r\n", MAX_HEAD_BYTES)
        await stream.send(_response(head.partition(b"\r\n")[0], text))
    except (anyio.IncompleteRead, anyio.DelimiterNotFound, anyio.BrokenResourceError, anyio.ClosedResourceError):
        return  # it was no request, or nobody waits for the answer any more


def _response(request_line: bytes, text: Callable[[], str]) -> bytes:
    match request_line.split(b" "):
        case [b"GET" | b"HEAD" as method, target, _] if target.partition(b"?")[0] == b"/metrics":
            return _encoded("200 OK", text(), CONTENT_TYPE, with_body=method == b"GET")
        case [b"GET" | b"HEAD", _, _]:
            return _encoded("404 Not Found", "Metrics are at /metrics.\n")
        case [_, _, _]:
            return _encoded("405 Method Not Allowed", "Metrics can only be read.\n")
        case _:
            return _encoded("400 Bad Request", "This is no HTTP request.\n")


def _encoded(status: str, text: str, content_type: str = "text/plain; charset=utf-8", *, with_body: bool = True) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + (body if with_body else b"")
