"""What one client has been sent and has not taken yet.

Law: `append` never waits and never raises, and a client that does not read costs no more than
`max_bytes` and one chunk; then it alone is dropped. Buffers go out in the order they came, whole
or, at the end, not at all.

Small messages are joined and written together at the end of the loop's turn: a copy is far cheaper
than a system call (measured: 4.2 million 252-byte lines a second to one socket by joining, 3.2 by
`sendmsg`).
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

import structlog

WRITE_CHUNK_BYTES = 256 * 1024
_CHUNKS_PER_TURN = 16

_log = structlog.get_logger("trimpoint.gateway.transport.outbox")


class Sink(Protocol):
    """The non-blocking writable half of a byte stream."""

    def fileno(self) -> int:
        """The descriptor to watch for room."""
        ...

    def write(self, data: bytes | memoryview) -> int:
        """Take as much as there is room for; the number of bytes taken.

        :raises BlockingIOError: when there is no room.
        :raises OSError: when there never will be again.
        """
        ...


class Outbox:
    """The unsent bytes of one client, and their way out, on the running asyncio loop.

    `on_sent` is called after bytes went out, `on_end` once when nothing more ever will: the client
    is gone or was dropped. Both are called in a turn of their own, never from inside `append`.
    `last_words` is asked, with the reason, when a client is about to be dropped: what it returns is
    sent instead of all that waits, and the caller then sees to the end; with nothing to say, the
    client is dropped at once.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        max_bytes: int,
        on_sent: Callable[[], None],
        on_end: Callable[[str], None],
        last_words: Callable[[str], bytes] = lambda _: b"",
        client: str = "",
    ) -> None:
        self.queued_bytes = 0
        """Appended and not yet taken by the kernel."""
        self.sent_bytes = 0
        """Taken by the kernel."""
        self.dropped_because: str | None = None
        """Why the client was dropped, when its own slowness is to blame."""
        self._loop = asyncio.get_running_loop()
        self._sink = sink
        self._max_bytes = max_bytes
        self._on_sent = on_sent
        self._on_end = on_end
        self._last_words = last_words
        self._client = client
        # Buffers of this turn, and what earlier turns left behind. What is in `_fresh` has a flush
        # coming.
        self._fresh: list[bytes] = []
        self._backlog: deque[bytes | memoryview] = deque()
        self._pack_at_bytes = min(WRITE_CHUNK_BYTES, max_bytes + 1)
        self._is_blocked = False
        self._has_sent = False
        self._is_shut = False

    def append(self, buffer: bytes) -> None:
        """Send `buffer`, now or when the client takes it; ignored after the end.

        The same object may be appended to any number of outboxes.
        """
        if self._is_shut:
            return
        if not self._fresh and not self._is_blocked:
            self._loop.call_soon(self.flush)
        self._fresh.append(buffer)
        self.queued_bytes += len(buffer)
        if self.queued_bytes >= self._pack_at_bytes:
            self._pack()

    def flush(self) -> None:
        """Write what the client takes now."""
        if self._is_shut:
            return
        self._unblock()
        self._pack()
        if self._backlog and not self._is_blocked:
            self._loop.call_soon(self.flush)
        if self._has_sent and not self._is_shut:
            self._has_sent = False
            self._on_sent()

    def close(self) -> None:
        """Stop now; what is unsent is lost. `on_end` is not called. May be called again."""
        if not self._is_shut:
            self._is_shut = True
            self._unblock()
            self._fresh.clear()
            self._backlog.clear()
            self.queued_bytes = 0

    def _pack(self) -> None:
        """Join the fresh buffers and write what goes, so that a burst within one turn is on its way
        early.
        """
        if self._fresh:
            self._backlog.append(b"".join(self._fresh))
            self._fresh.clear()
        # Room may have come since this turn of the loop began; nobody is dropped without having
        # been asked.
        if not self._is_blocked or self.queued_bytes > self._max_bytes:
            self._write()
        if self.queued_bytes > self._max_bytes:
            self._drop()
        self._pack_at_bytes = min(self.queued_bytes + WRITE_CHUNK_BYTES, self._max_bytes + 1)

    def _write(self) -> None:
        try:
            for _ in range(_CHUNKS_PER_TURN):
                if not self._backlog:
                    return
                self._write_chunk(self._backlog[0])
        except BlockingIOError:
            self._is_blocked = True
            self._loop.add_writer(self._sink.fileno(), self.flush)
        except OSError as error:
            self._end(f"the client is gone: {error.strerror}")

    def _write_chunk(self, chunk: bytes | memoryview) -> None:
        taken_bytes = self._sink.write(chunk)
        self.queued_bytes -= taken_bytes
        self.sent_bytes += taken_bytes
        self._has_sent = True
        if taken_bytes == len(chunk):
            self._backlog.popleft()
        else:
            self._backlog[0] = memoryview(chunk)[taken_bytes:]

    def _unblock(self) -> None:
        if self._is_blocked:
            self._is_blocked = False
            self._loop.remove_writer(self._sink.fileno())

    def _drop(self) -> None:
        reason = (
            f"it does not read: {self.queued_bytes} bytes wait for it, the limit is "
            f"{self._max_bytes}"
        )
        _log.warning(
            "client_dropped",
            client=self._client,
            queued_bytes=self.queued_bytes,
            max_outbox_bytes=self._max_bytes,
        )
        self.dropped_because = reason
        if last_words := self._last_words(reason):
            self._replace_backlog(last_words)
        else:
            self._end(reason)

    def _replace_backlog(self, last_words: bytes) -> None:
        """Keep of what waits only the rest of a chunk that went out in part: frames stay whole."""
        begun = [chunk for chunk in self._backlog if isinstance(chunk, memoryview)]
        self._backlog = deque([*begun, last_words])
        self.queued_bytes = sum(map(len, self._backlog))

    def _end(self, reason: str) -> None:
        self.close()
        self._loop.call_soon(self._on_end, reason)
