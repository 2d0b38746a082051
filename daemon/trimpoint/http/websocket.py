"""JSON-RPC in WebSocket frames (RFC 6455), with the sans-IO core of `websockets`.

Each text message is sent in one frame without compression, so that all clients receive the same
bytes. A client that offers the subprotocol `trimpoint.lines` receives messages that are sent
together in one frame, one per line, because a browser spends more time on a frame than on its
content. Protocol errors are answered with a close frame: 1002 for invalid frames, 1003 for binary
messages, 1009 for messages beyond the limit.
"""

from collections.abc import Sequence

import anyio
import msgspec
from websockets.datastructures import Headers
from websockets.frames import Frame, Opcode
from websockets.http11 import Request as UpgradeRequest
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from trimpoint.http.exchange import Request, Response
from trimpoint.http.problems import HttpReason, as_response, problem
from trimpoint.transport.connection import Connection
from trimpoint.transport.wire import (
    CloseCode,
    Dialect,
    Ended,
    Received,
    Reply,
    encode_text_frame,
)

MAX_FRAME_BYTES = 16 * 1024 * 1024
PING_AFTER_S = 20.0
PONG_WITHIN_S = 60.0
LINES = Subprotocol("trimpoint.lines")
_MAX_REASON_BYTES = 123


class UpgradeRefused(Exception):
    """Raised when a WebSocket handshake is not valid; `response` says why."""

    def __init__(self, response: Response) -> None:
        super().__init__(response)
        self.response = response


class WebSocketWire:
    """A `Wire` of a server after the handshake. `by_lines`: the client accepts several messages in
    one frame.
    """

    def __init__(self, protocol: ServerProtocol, *, by_lines: bool = False) -> None:
        self._protocol = protocol
        self._dialect = Dialect.WEBSOCKET_LINES if by_lines else Dialect.WEBSOCKET
        self._message = bytearray()

    @property
    def dialect(self) -> Dialect:
        return self._dialect

    def feed(self, data: bytes) -> list[Received]:
        self._protocol.receive_data(data)
        received: list[Received] = []
        for event in self._protocol.events_received():
            assert isinstance(event, Frame), event  # the handshake is over
            self._on_frame(event, received)
        return received + self._replies()

    def eof(self) -> list[Received]:
        self._protocol.receive_eof()
        return self._replies()

    def encode(self, message: bytes) -> bytes:
        return encode_text_frame(message)

    def farewell(self, code: CloseCode, reason: str) -> bytes:
        if self._protocol.state is not State.OPEN:
            return b""
        short = reason.encode()[:_MAX_REASON_BYTES].decode(errors="ignore")
        self._protocol.send_close(code, short)
        return self._unsent()

    def ping(self) -> bytes:
        """Returns a ping frame; empty if the connection is closing."""
        if self._protocol.state is not State.OPEN:
            return b""
        self._protocol.send_ping(b"")
        return self._unsent()

    def _on_frame(self, frame: Frame, received: list[Received]) -> None:
        match frame.opcode:
            case Opcode.TEXT if frame.fin:
                received.append(bytes(frame.data))
            case Opcode.TEXT:
                self._message += frame.data
            case Opcode.CONT:
                self._message += frame.data
                if frame.fin:
                    received.append(bytes(self._message))
                    self._message.clear()
            case Opcode.BINARY:
                self._protocol.fail(CloseCode.UNSUPPORTED_DATA, "send JSON in text frames")
            case Opcode.CLOSE | Opcode.PING | Opcode.PONG:
                pass  # the core has answered them

    def _replies(self) -> list[Received]:
        replies: list[Received] = []
        if unsent := self._unsent():
            replies.append(Reply(unsent))
        if self._protocol.state is not State.OPEN:
            replies.append(Ended(_why(self._protocol)))
        return replies

    def _unsent(self) -> bytes:
        return b"".join(self._protocol.data_to_send())


def _why(protocol: ServerProtocol) -> str:
    if protocol.parser_exc is not None:
        return f"it broke the WebSocket protocol: {protocol.parser_exc}"
    if protocol.close_rcvd is not None:
        return f"the client closed it ({protocol.close_rcvd.code})"
    return "the client closed it"


def wants_upgrade(request: Request) -> bool:
    """Returns whether a request opens a WebSocket."""
    return request.headers.get("upgrade", "").lower() == "websocket"


def accept_upgrade(
    request: Request, max_message_bytes: int, extra: dict[str, str]
) -> tuple[WebSocketWire, bytes]:
    """Returns the wire of a new WebSocket, and the response that opens it.

    :raises UpgradeRefused: when the handshake is not valid.
    """
    handshake = ServerProtocol(select_subprotocol=_lines_if_offered)
    response = handshake.accept(
        UpgradeRequest(request.target, Headers(request.headers), request.method)
    )
    if response.status_code != 101:
        headers = tuple(("Upgrade", value) for value in response.headers.get_all("Upgrade"))
        detail = bytes(response.body or b"").decode(errors="replace").strip()
        details = msgspec.structs.replace(
            problem(HttpReason.UPGRADE_REFUSED, detail),
            status=response.status_code,
            title=response.reason_phrase,
        )
        raise UpgradeRefused(as_response(details, *headers, ("Sec-WebSocket-Version", "13")))
    for name, value in extra.items():
        response.headers[name] = value
    handshake.send_response(response)
    # h11 has read the request already, so the core that reads frames begins behind it.
    limits = (max_message_bytes, min(max_message_bytes, MAX_FRAME_BYTES))
    protocol = ServerProtocol(state=State.OPEN, max_size=limits)
    wire = WebSocketWire(protocol, by_lines=handshake.subprotocol == LINES)
    return wire, b"".join(handshake.data_to_send())


def _lines_if_offered(_: ServerProtocol, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    return LINES if LINES in offered else None


async def keep_alive(connection: Connection, wire: WebSocketWire) -> None:
    """Pings a client that has been silent, and closes its connection if it does not answer."""
    while True:
        silent_s = anyio.current_time() - connection.last_received_at
        if silent_s < PING_AFTER_S:
            await anyio.sleep(PING_AFTER_S - silent_s)
            continue
        pinged_at = anyio.current_time()
        connection.send_framed(wire.ping())
        await anyio.sleep(PONG_WITHIN_S)
        if connection.last_received_at < pinged_at:
            reason = f"it has not answered a ping for {PONG_WITHIN_S:g} s"
            connection.close(reason, CloseCode.POLICY_VIOLATION)
            return
