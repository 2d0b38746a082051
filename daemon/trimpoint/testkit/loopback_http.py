"""One HTTP/1.1 connection of the scripted model: h11 over an anyio byte stream.

Supports keep-alive, and chunked bodies of any size in both directions. Independent of the content
of requests and responses.
"""

from __future__ import annotations

from dataclasses import dataclass

import h11
from anyio import EndOfStream
from anyio.abc import ByteStream

_RECEIVE_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """An HTTP request with its body. `headers` have lower-case names; `path` is without the
    query.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class HttpConnection:
    """The server's end of one connection: alternately `next_request` and one complete response."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.SERVER)

    async def next_request(self) -> HttpRequest | None:
        """Returns the next request with its whole body, or None after the last one.

        :raises h11.RemoteProtocolError: when the peer does not speak HTTP, or disconnected within a
            request.
        """
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        if self._http.our_state is not h11.IDLE:
            return None
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            return None
        return _http_request(head, await self._body())

    async def send_response(
        self, status: int, body: bytes, content_type: str = "application/json"
    ) -> None:
        """Sends a complete response."""
        headers = [("content-type", content_type), ("content-length", str(len(body)))]
        await self._send(h11.Response(status_code=status, headers=headers))
        await self._send(h11.Data(data=body))
        await self._send(h11.EndOfMessage())

    async def start_stream(self, content_type: str) -> None:
        """Sends status 200 and headers; `send_chunk` and `end_stream` follow."""
        await self._send(h11.Response(status_code=200, headers=[("content-type", content_type)]))

    async def send_chunk(self, data: bytes) -> None:
        await self._send(h11.Data(data=data))

    async def end_stream(self) -> None:
        await self._send(h11.EndOfMessage())

    async def _body(self) -> bytes:
        chunks: list[bytes] = []
        while isinstance(event := await self._next_event(), h11.Data):
            chunks.append(bytes(event.data))
        return b"".join(chunks)

    async def _next_event(self) -> h11.Event | None:
        """Returns the next event of h11; None if the peer switches to another protocol."""
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._received())
        return event if isinstance(event, h11.Event) else None

    async def _received(self) -> bytes:
        try:
            return await self._stream.receive(_RECEIVE_BYTES)
        except EndOfStream:
            return b""

    async def _send(self, event: h11.Event) -> None:
        if data := self._http.send(event):
            await self._stream.send(data)


def _http_request(head: h11.Request, body: bytes) -> HttpRequest:
    headers = {
        bytes(name).decode("latin-1"): bytes(value).decode("latin-1")
        for name, value in head.headers
    }
    path, _, _ = bytes(head.target).decode("latin-1").partition("?")
    return HttpRequest(bytes(head.method).decode("ascii"), path, headers, body)
