"""Sends bytes to a descriptor without waiting, and queues the bytes that its reader does not accept
yet.

`append` never waits and never raises. Buffers are sent in order, and each is sent whole; the unsent
ones are dropped at the end. With a `DropRule`, a reader that does not read costs at most the rule's
`max_bytes` and one chunk of memory.

Small buffers are joined and written together at the end of the turn of the event loop, because
copying is far cheaper than a system call (measured: 4.2 million 252-byte lines a second to one
socket by joining, 3.2 million by `sendmsg`).
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from trimpoint.streams.ends import Sink

WRITE_CHUNK_BYTES = 256 * 1024
_CHUNKS_PER_TURN = 16


@dataclass(frozen=True, slots=True)
class DropRule:
    """The limit of bytes queued for a reader, and the last bytes for a reader that is dropped.

    `last_words` is called with the reason. The bytes that it returns replace the queued ones, and
    the caller then ends the stream. If it returns none, the stream ends at once.
    """

    max_bytes: int
    last_words: Callable[[str], bytes] = lambda _: b""


class StreamWriter:
    """Queues and sends the bytes for one reader, on the running asyncio loop.

    `on_sent` is called after bytes were sent. `on_end` is called once if nothing more can be sent,
    because the reader is gone or was dropped. Both are called in a later turn of the loop, never
    from inside `append`. The caller must close the sink, after `close`.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        on_end: Callable[[str], None],
        on_sent: Callable[[], None] = lambda: None,
        drop_rule: DropRule | None = None,
    ) -> None:
        self.queued_bytes = 0
        """The number of appended bytes that the kernel has not accepted yet."""
        self.sent_bytes = 0
        """The number of bytes that the kernel has accepted."""
        self.dropped_because: str | None = None
        """The reason why the reader was dropped for being too slow, or None."""
        self._loop = asyncio.get_running_loop()
        self._sink = sink
        self._on_sent = on_sent
        self._on_end = on_end
        self._drop_rule = drop_rule
        # `_fresh` has the buffers of this turn of the loop, for which a flush is scheduled;
        # `_backlog` has those of earlier turns.
        self._fresh: list[bytes] = []
        self._backlog: deque[bytes | memoryview] = deque()
        self._pack_at_bytes = self._next_pack()
        self._is_blocked = False
        self._has_sent = False
        self._is_finishing = False
        self._is_shut = False
        self._progress = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """Returns whether `append` still has an effect."""
        return not (self._is_shut or self._is_finishing)

    def append(self, buffer: bytes) -> None:
        """Sends `buffer` now or as soon as the reader accepts it; ignored after the end.

        The same object may be appended to several writers.
        """
        if self._is_shut or self._is_finishing:
            return
        if not self._fresh and not self._is_blocked:
            self._loop.call_soon(self.flush)
        self._fresh.append(buffer)
        self.queued_bytes += len(buffer)
        if self.queued_bytes >= self._pack_at_bytes:
            self._pack()

    def flush(self) -> None:
        """Writes as many queued bytes as the reader accepts now."""
        if self._is_shut:
            return
        self._unblock()
        self._pack()
        if self._backlog and not self._is_blocked:
            self._loop.call_soon(self.flush)
        if self._has_sent and not self._is_shut:
            self._has_sent = False
            self._wake()
            self._on_sent()
        if self._is_finishing and not self.queued_bytes and not self._is_shut:
            self.close()
            self._sink.finish()

    async def room(self, below_bytes: int) -> None:
        """Waits until fewer than `below_bytes` bytes are queued, or nothing more will be sent."""
        while self.is_open and self.queued_bytes >= below_bytes:
            await self._progress.wait()

    def finish(self) -> None:
        """Accepts no more buffers, and finishes the sink after everything was sent."""
        self._is_finishing = True
        self.flush()
        self._wake()

    def close(self) -> None:
        """Stops at once; unsent bytes are lost, and `on_end` is not called. Idempotent."""
        if not self._is_shut:
            self._is_shut = True
            self._unblock()
            self._fresh.clear()
            self._backlog.clear()
            self.queued_bytes = 0
            self._wake()

    def _pack(self) -> None:
        """Joins the new buffers and writes as much as possible, so that the sending of a burst
        starts before the turn of the loop ends.
        """
        if self._fresh:
            self._backlog.append(b"".join(self._fresh))
            self._fresh.clear()
        # Before a reader is dropped, a write is tried again: there may be room since this turn of
        # the loop began.
        if not self._is_blocked or self._is_over_limit:
            self._write()
        if self._is_over_limit:
            self._drop()
        self._pack_at_bytes = self._next_pack()

    @property
    def _is_over_limit(self) -> bool:
        return self._drop_rule is not None and self.queued_bytes > self._drop_rule.max_bytes

    def _next_pack(self) -> int:
        next_chunk_bytes = self.queued_bytes + WRITE_CHUNK_BYTES
        if self._drop_rule is None:
            return next_chunk_bytes
        return min(next_chunk_bytes, self._drop_rule.max_bytes + 1)

    def _write(self) -> None:
        try:
            for _ in range(_CHUNKS_PER_TURN):
                if not self._backlog:
                    return
                self._write_chunk(self._backlog[0])
        except BlockingIOError:
            if not self._is_blocked:
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
        assert self._drop_rule is not None
        reason = (
            f"it does not read: {self.queued_bytes} bytes wait for it, the limit is "
            f"{self._drop_rule.max_bytes}"
        )
        self.dropped_because = reason
        if last_words := self._drop_rule.last_words(reason):
            self._replace_backlog(last_words)
        else:
            self._end(reason)

    def _replace_backlog(self, last_words: bytes) -> None:
        """Replaces the queued bytes by `last_words`, except for the rest of a chunk that was sent
        in part, so that frames stay whole.
        """
        partly_sent = [chunk for chunk in self._backlog if isinstance(chunk, memoryview)]
        self._backlog = deque([*partly_sent, last_words])
        self.queued_bytes = sum(map(len, self._backlog))

    def _end(self, reason: str) -> None:
        self.close()
        self._loop.call_soon(self._on_end, reason)

    def _wake(self) -> None:
        self._progress.set()
        self._progress = asyncio.Event()
