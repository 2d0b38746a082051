"""What a client has sent and the daemon has not handled yet.

A frame is decoded when its turn comes: a large one in steps, and the members of a batch are
returned one at a time. Between any two of these the event loop can serve other clients.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import NoReturn, TypeAlias

from trimpoint_protocol.jsonrpc.framing import Malformed, TooLarge, Truncated
from trimpoint_protocol.peer import Message, Peer, Unreadable

from trimpoint.transport.wire import Ended, Received, Reply

# Decoding a larger frame is done in steps, each of which is the last of its turn.
_LARGE_FRAME_BYTES = 256 * 1024

ClientMessage: TypeAlias = Message[NoReturn]
"""A message from a client. Its responses are all `Unexpected` here, because a request to many
clients is encoded once and not sent through a connection's own peer.
"""
NoMessage: TypeAlias = TooLarge | Malformed | Reply | Ended
"""A frame without a message."""


class Inbox:
    """Received frames, and the members of the batch that was read last.

    `on_decoded` is called with all messages of a frame before the first of them is returned, and
    `on_odd_frame` with a frame that has none.
    """

    def __init__(
        self,
        peer: Peer[NoReturn],
        on_odd_frame: Callable[[NoMessage], None],
        on_decoded: Callable[[list[ClientMessage]], None],
    ) -> None:
        self._peer = peer
        self._on_odd_frame = on_odd_frame
        self._on_decoded = on_decoded
        self._frames: deque[Received] = deque()
        self._members: deque[ClientMessage] = deque()
        self._large: Generator[None, None, list[ClientMessage]] | None = None

    def __bool__(self) -> bool:
        """Returns whether there is anything left to handle."""
        return bool(self._frames or self._members)

    def add(self, frames: Iterable[Received]) -> None:
        """Adds frames after all others."""
        self._frames.extend(frames)

    def clear(self) -> None:
        """Drops everything."""
        self._frames.clear()
        self._members.clear()
        self._large = None

    def pop(self) -> ClientMessage | None:
        """Returns the next message, or None if the next frame has none."""
        if not self._members and self._frames:
            frame = self._frames.popleft()
            if isinstance(frame, bytes | Truncated):
                self._take(frame, self._peer.read(_text_of(frame)))
            else:
                self._on_odd_frame(frame)
        return self._members.popleft() if self._members else None

    def step_into_large(self) -> bool:
        """Decodes one more step of the next frame if it is a large one. Returns whether it is."""
        if self._members or not self._frames:
            return False
        frame = self._frames[0]
        if not isinstance(frame, bytes | Truncated) or len(_text_of(frame)) <= _LARGE_FRAME_BYTES:
            return False
        self._large = self._large or self._peer.read_in_steps(_text_of(frame))
        try:
            next(self._large)
        except StopIteration as end:
            self._large = None
            self._frames.popleft()
            self._take(frame, end.value)
        return True

    def _take(self, frame: bytes | Truncated, messages: list[ClientMessage]) -> None:
        if isinstance(frame, Truncated) and _is_cut(messages[0]):
            return
        self._on_decoded(messages)
        self._members.extend(messages)


def _text_of(frame: bytes | Truncated) -> bytes:
    return frame if isinstance(frame, bytes) else frame.received


def _is_cut(message: ClientMessage) -> bool:
    """Returns whether a last line without a newline is cut off; `printf` sends a whole one so."""
    return isinstance(message, Unreadable) and message.batch is None
