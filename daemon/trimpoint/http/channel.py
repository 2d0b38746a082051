"""HTTP/1.1 over a non-blocking byte stream: h11 parses and formats, this module reads and writes
the stream.
"""

from http import HTTPStatus
from typing import TYPE_CHECKING

import h11

from trimpoint.http.exchange import Request, Response
from trimpoint.streams.waiting import receive_some, send_all
from trimpoint.transport.client_stream import Transport

if TYPE_CHECKING:
    from h11 import Event

MAX_HEAD_BYTES = 16 * 1024
STALLED_S = 60.0
"""After so long without taking a byte, a client has its connection closed."""
_READ_BYTES = 64 * 1024
_LENGTHS = frozenset({"content-length", "transfer-encoding"})


class BodyTooLarge(Exception):
    """Raised when a request's body exceeds the limit."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self.max_bytes = max_bytes


class HttpChannel:
    """The requests of one connection, one after the other.

    Call `next_head`, then `body` or `switch`, then one of the `send` methods; repeat while
    `is_reusable`. All of them raise `h11.RemoteProtocolError` for malformed HTTP, and `OSError`
    when the stream is broken.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        if transport.received:
            self._http.receive_data(transport.received)

    async def next_head(self) -> Request | None:
        """Returns the next request without its body; None if the client sends no more."""
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            return None
        request = _request(head)
        if request.headers.keys() >= _LENGTHS:
            # A proxy in front may go by the other one, and take the rest for a request of its own.
            raise h11.RemoteProtocolError("a body of two lengths")
        return request

    async def body(self, max_bytes: int) -> bytes:
        """Returns the body of the request that was read last.

        :raises BodyTooLarge: when it is longer than `max_bytes`.
        """
        body = bytearray()
        if self._http.they_are_waiting_for_100_continue:
            await self._send(h11.InformationalResponse(status_code=100, headers=[]))
        while isinstance(event := await self._next_event(), h11.Data):
            body += event.data
            if len(body) > max_bytes:
                raise BodyTooLarge(max_bytes)
        return bytes(body)

    async def switch(self) -> bytes:
        """Returns the bytes after the request's head and stops parsing HTTP, because the connection
        changes to another protocol.
        """
        await self._next_event()
        return bytes(self._http.trailing_data[0])

    @property
    def is_reusable(self) -> bool:
        """Returns whether another request can follow."""
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    @property
    def may_respond(self) -> bool:
        """Returns whether a response can still be sent to the current request, or to malformed
        bytes.
        """
        return self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE)

    async def send(
        self, response: Response, *, close: bool = False, with_body: bool = True
    ) -> None:
        """Sends a complete response; without a body if `with_body` is false, as for HEAD."""
        ending = [("Connection", "close")] if close else []
        await self._send(
            h11.Response(
                status_code=response.status,
                reason=HTTPStatus(response.status).phrase.encode(),
                headers=[*response.all_headers(), *ending],
            ),
            h11.Data(data=response.body if with_body else b""),
            h11.EndOfMessage(),
        )

    async def send_raw(self, data: bytes) -> None:
        """Sends bytes that are not HTTP, or a response that was encoded elsewhere."""
        await send_all(self._transport.sink, data, STALLED_S)

    async def _next_event(self) -> "Event | None":
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await receive_some(self._transport.source, _READ_BYTES))
        return event if isinstance(event, h11.Event) else None

    async def _send(self, *events: "Event") -> None:
        await self.send_raw(b"".join(self._http.send(event) or b"" for event in events))


def _request(head: h11.Request) -> Request:
    headers: dict[str, str] = {}
    for raw_name, raw_value in head.headers:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return Request(head.method.decode("ascii"), head.target.decode("ascii"), headers)
