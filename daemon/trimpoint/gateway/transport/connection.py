"""One client over any byte stream: chunks in, decoded messages out, answers back in the framing it speaks.

Law: nothing a client sends, sends late, or leaves half said ends anything but its own connection, and bad
input ends not even that, unless message boundaries are lost. No method waits; only `run` does.

A client that shuts its writing side still gets the answers it is owed. Each frame that wants an answer is
owed one message, and `answer` is how it is given; `send` is for everything else.
"""

import asyncio
import fcntl
import os
import select
import socket
import stat
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Protocol, TypeAlias

import structlog
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.framing import AutoFramer, Frame, Malformed, TooLarge, Truncated

from trimpoint.gateway.transport.framing_errors import encode_refusal, malformed, too_large
from trimpoint.gateway.transport.outbox import Outbox, Sink

READ_CHUNK_BYTES = 256 * 1024
# A chunk may hold a hundred thousand tiny frames; other clients get their turn in between.
_FRAMES_PER_TURN = 512
# A larger one is the last of its turn.
_LARGE_FRAME_BYTES = 256 * 1024

_log = structlog.get_logger("trimpoint.gateway.transport.connection")
_numbers = count(1)


class StreamEnd(Sink, Protocol):
    """One half of a byte stream, or both halves of a socket. Non-blocking."""

    def read(self, max_bytes: int) -> bytes:
        """What is there; empty at the end of the stream.

        :raises BlockingIOError: when nothing is there yet.
        :raises OSError: when the stream is broken.
        """
        ...

    def close(self) -> None:
        """Give the descriptor back. May be called again."""
        ...


class SocketEnd:
    """A connected stream socket. Other holders of the socket keep their own blocking mode."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self, max_bytes: int) -> bytes:
        return self._socket.recv(max_bytes, socket.MSG_DONTWAIT)

    def write(self, data: bytes | memoryview) -> int:
        return self._socket.send(data, socket.MSG_DONTWAIT)

    def close(self) -> None:
        self._socket.close()


class DescriptorEnd:
    """A pipe, terminal or file whose descriptor does not block."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def read(self, max_bytes: int) -> bytes:
        return os.read(self._fd, max_bytes)

    def write(self, data: bytes | memoryview) -> int:
        return os.write(self._fd, data)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


def dup_nonblocking(fd: int, access: int) -> StreamEnd:
    """An end of our own of a stream that `fd` stands for; `access` is O_RDONLY or O_WRONLY. `fd` stays."""
    mode = os.fstat(fd).st_mode
    if stat.S_ISSOCK(mode):
        return SocketEnd(socket.socket(fileno=_private_fd(fd)))
    if stat.S_ISREG(mode):
        # It never blocks, and opened anew it would begin at its start.
        return DescriptorEnd(_private_fd(fd))
    return DescriptorEnd(_non_blocking_fd(fd, access))


def _private_fd(fd: int) -> int:
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


def _non_blocking_fd(fd: int, access: int) -> int:
    """Opened anew, because its blocking mode is shared with all who hold it: a terminal's with the shell."""
    try:
        return os.open(f"/proc/self/fd/{fd}", access | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        private_fd = _private_fd(fd)
        os.set_blocking(private_fd, False)
        return private_fd


@dataclass(frozen=True, slots=True)
class Transport:
    """A byte stream to one client, `peer` to people, at work in `folder` if that is known. A socket is `source` and `sink` in one."""

    source: StreamEnd
    sink: StreamEnd
    peer: str
    folder: str | None = None

    @property
    def is_peer_gone(self) -> bool:
        """Whether nobody is left to read: a client that merely shut its writing side still does."""
        poll = select.poll()
        poll.register(self.sink.fileno(), 0)
        return any(flags & (select.POLLHUP | select.POLLERR) for _, flags in poll.poll(0))

    def close(self) -> None:
        self.source.close()
        self.sink.close()


@dataclass(frozen=True, slots=True)
class Limits:
    """What one client may cost, and how long it is waited for once it or we want to end (docs/spec/running.md).

    A message larger than `max_outbox_bytes` can never be sent. Above half of it no more messages are taken
    from the client, so that one which asks faster than it reads its answers is slowed, not dropped.
    """

    max_message_bytes: int = 64 * 1024 * 1024
    max_outbox_bytes: int = 64 * 1024 * 1024
    half_close_grace_s: float = 30.0
    close_grace_s: float = 2.0


OnMessage: TypeAlias = Callable[["Connection", jsonrpc.Decoded], None]


class Connection:
    """A client. `on_message(connection, decoded)` is called for each frame, in order, and must not raise.

    `decoded` may be an `Invalid` or a batch; for each one that `wants_answer`, call `answer` once, now or
    later. Made on the running asyncio loop; nothing is read before `run`.
    """

    def __init__(self, transport: Transport, limits: Limits, on_message: OnMessage) -> None:
        self.id = f"c{next(_numbers)}"
        """Unique in this process."""
        self.peer, self.folder = transport.peer, transport.folder
        self.closed_because: str | None = None
        """Why it ended or is ending; None while it is open."""
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._limits = limits
        self._on_message = on_message
        self._framer = AutoFramer(limits.max_message_bytes)
        self._speaks_lines = True
        self._speaks_versioned = False
        self._frames: deque[Frame] = deque()
        self._frames_turn: asyncio.Handle | None = None
        self._pending_replies = 0
        self._has_eof = False
        self._grace: asyncio.TimerHandle | None = None
        self._closed = asyncio.Event()
        self._reading = _ReadWatcher(self._loop, transport.source.fileno(), self._read)
        max_bytes = limits.max_outbox_bytes
        self._outbox = Outbox(transport.sink, max_bytes=max_bytes, on_sent=self._update_io, on_end=self._shut, client=self.id)

    @property
    def dropped_because(self) -> str | None:
        """Why the client was dropped for not reading; None if it was not."""
        return self._outbox.dropped_because

    @property
    def queued_bytes(self) -> int:
        """What was sent and not yet taken by the client's socket."""
        return self._outbox.queued_bytes

    @property
    def sent_bytes(self) -> int:
        """What the client's socket has taken."""
        return self._outbox.sent_bytes

    def send(self, message: bytes) -> None:
        """Send one JSON message, in the client's framing. Ignored once the connection ends."""
        if self.closed_because is None:
            self._outbox.append(self._framer.encode(message))

    def answer(self, message: bytes) -> None:
        """Send the answer to one frame: a response, an error, or a batch of them."""
        self.send(message)
        self._pending_replies = max(0, self._pending_replies - 1)

    def send_encoded_lines(self, lines: bytes) -> None:
        """Send JSON messages, each of which ends in its only newline: encoded once, written to many.

        Clients that speak lines share the object, so that n clients cost no n copies.
        """
        if self.closed_because is not None:
            return
        if not self._speaks_lines:
            lines = b"".join(self._framer.encode(line) for line in lines[:-1].split(b"\n"))
        self._outbox.append(lines)

    def close(self, reason: str) -> None:
        """Read no more, send what was queued, then end; not later than `close_grace_s`."""
        if self.closed_because is None:
            self.closed_because = reason
            self._frames.clear()
            self._start_grace(self._limits.close_grace_s, reason)
            self._update_io()

    async def run(self) -> None:
        """Talk to the client until the connection has ended, for whatever reason; cancelling ends it."""
        try:
            _log.info("client_connected", client=self.id, peer=self.peer)
            self._update_io()
            await self._closed.wait()
        finally:
            self._outbox.flush()
            self._shut("the daemon ends it")

    def _read(self) -> None:
        try:
            data = self._transport.source.read(READ_CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._shut(f"the client is gone: {error.strerror}")
            return
        if data:
            self._frames.extend(self._framer.feed(data))
            self._speaks_lines = self._framer.encode(b"") == b"\n"
        else:
            self._end_input()
        self._read_frames()

    def _end_input(self) -> None:
        if self._transport.is_peer_gone:
            self._shut("the client closed it")
            return
        self._has_eof = True
        self._frames.extend(self._framer.eof())
        self._start_grace(self._limits.half_close_grace_s, "the client waited too long for its answers")

    def _read_frames(self) -> None:
        self._frames_turn = None
        for _ in range(_FRAMES_PER_TURN):
            if not self._frames or self._is_full:
                break
            frame = self._frames.popleft()
            self._on_frame(frame)
            if isinstance(frame, bytes) and len(frame) > _LARGE_FRAME_BYTES:
                break
        self._update_io()

    def _on_frame(self, frame: Frame) -> None:
        match frame:
            case bytes():
                self._dispatch(jsonrpc.decode(frame))
            case TooLarge(size_bytes):
                self._refuse(*too_large(size_bytes, self._limits.max_message_bytes))
            case Malformed(reason):
                self._refuse(*malformed(reason))
                self.close(f"it sent no message: {reason}")
            case Truncated(received):
                self._on_last_frames(received)

    def _on_last_frames(self, received: bytes) -> None:
        """A last message without its newline, as from `printf`, is one if it is whole; a client that died mid-line left none."""
        decoded = jsonrpc.decode(received)
        if not isinstance(decoded, jsonrpc.Invalid):
            self._dispatch(decoded)

    def _dispatch(self, decoded: jsonrpc.Decoded) -> None:
        if not isinstance(decoded, jsonrpc.Batch):
            self._speaks_versioned = decoded.versioned
        self._pending_replies += wants_answer(decoded)
        try:
            self._on_message(self, decoded)
        except Exception:
            # Boundary: a defect above costs this one connection, where its request would wait for ever.
            _log.exception("message_not_handled", client=self.id)
            self.close("internal error")

    def _refuse(self, reason: Reason, message: str, hint: str) -> None:
        self.send(encode_refusal(reason, message, hint, versioned=self._speaks_versioned))

    def _update_io(self) -> None:
        """Decide what is next, after anything that could change it."""
        is_ending = self.closed_because is not None
        if self._frames and not self._is_full and self._frames_turn is None:
            self._frames_turn = self._loop.call_soon(self._read_frames)
        if self._frames or is_ending or self._has_eof:
            self._reading.pause()
        else:
            self._reading.resume()
        is_answered = self._has_eof and not self._frames and not self._pending_replies
        if (is_ending or is_answered) and not self._outbox.queued_bytes:
            self._shut("the client closed it")

    @property
    def _is_full(self) -> bool:
        return self._outbox.queued_bytes > self._limits.max_outbox_bytes // 2

    def _start_grace(self, grace_s: float, reason: str) -> None:
        if self._grace is not None:
            self._grace.cancel()
        self._grace = self._loop.call_later(grace_s, self._shut, reason)

    def _shut(self, reason: str) -> None:
        """End now. The first reason given stands."""
        if self._closed.is_set():
            return
        self.closed_because = self.closed_because or reason
        self._closed.set()
        if self._grace is not None:
            self._grace.cancel()
        self._frames.clear()
        self._reading.pause()
        self._outbox.close()
        self._transport.close()
        _log.info("client_disconnected", client=self.id, reason=self.closed_because)


class _ReadWatcher:
    """Calls back, once a turn of the loop, while a descriptor can be read."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int, on_readable: Callable[[], None]) -> None:
        self._loop = loop
        self._fd = fd
        self._on_readable = on_readable
        self._is_on = False
        self._next_turn: asyncio.Handle | None = None

    def resume(self) -> None:
        if self._is_on:
            return
        self._is_on = True
        try:
            self._loop.add_reader(self._fd, self._on_readable)
        except PermissionError:
            # epoll takes no regular files and no /dev/null: those can always be read.
            self._next_turn = self._loop.call_soon(self._turn)

    def pause(self) -> None:
        if not self._is_on:
            return
        self._is_on = False
        if self._next_turn is None:
            self._loop.remove_reader(self._fd)
        else:
            self._next_turn.cancel()

    def _turn(self) -> None:
        self._next_turn = self._loop.call_soon(self._turn)
        self._on_readable()


def wants_answer(decoded: jsonrpc.Decoded) -> bool:
    """Whether a frame is owed an answer; a batch is owed one batch, if any member wants an answer."""
    match decoded:
        case jsonrpc.Batch(members):
            return any(map(wants_answer, members))
        case jsonrpc.Invalid():
            return decoded.answerable
        case _:
            return isinstance(decoded, jsonrpc.Request)
