"""Reading from real descriptors: pipes, a socket, a file."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from trimpoint.streams.ends import DescriptorEnd, SocketEnd, Source, dup_nonblocking
from trimpoint.streams.reader import LEAST_CHUNK_BYTES, READ_CHUNK_BYTES, StreamReader

from tests.deadlines import STEP_S


class Watched:
    """A reader, and what it handed over."""

    def __init__(self, source: Source) -> None:
        self.chunks: list[bytes] = []
        self.ends: list[OSError | None] = []
        self.ended = anyio.Event()
        self.reader = StreamReader(source, self.chunks.append, self._on_end)

    def _on_end(self, error: OSError | None) -> None:
        self.ends.append(error)
        self.ended.set()

    async def until_end(self) -> bytes:
        with anyio.fail_after(STEP_S):
            await self.ended.wait()
        return b"".join(self.chunks)


@pytest.fixture
def pipe() -> Iterator[tuple[DescriptorEnd, DescriptorEnd]]:
    ends = [DescriptorEnd(fd) for fd in os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)]
    yield ends[0], ends[1]
    for end in ends:
        end.close()


async def _turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_reader_reads_only_while_resumed(
    pipe: tuple[DescriptorEnd, DescriptorEnd],
) -> None:
    source, sink = pipe
    watched = Watched(source)
    sink.write(b"a")
    await _turns()
    assert watched.chunks == []
    watched.reader.resume()
    watched.reader.resume()
    await _turns()
    assert watched.chunks == [b"a"]
    watched.reader.pause()
    watched.reader.pause()
    sink.write(b"b")
    await _turns()
    assert watched.chunks == [b"a"]
    sink.close()
    watched.reader.resume()
    assert await watched.until_end() == b"ab"


async def test_the_end_is_reported_once_and_nothing_is_read_after_it(
    pipe: tuple[DescriptorEnd, DescriptorEnd],
) -> None:
    source, sink = pipe
    watched = Watched(source)
    sink.close()
    watched.reader.resume()
    assert await watched.until_end() == b""
    assert watched.reader.is_ended
    watched.reader.resume()
    watched.reader.drain()
    await _turns()
    assert watched.ends == [None]


async def test_a_regular_file_is_read_to_its_end(tmp_path: Path) -> None:
    content = os.urandom(3 * READ_CHUNK_BYTES + 7)
    (tmp_path / "lines").write_bytes(content)
    fd = os.open(tmp_path / "lines", os.O_RDONLY)
    source = dup_nonblocking(fd, os.O_RDONLY)
    os.close(fd)
    watched = Watched(source)
    watched.reader.resume()
    watched.reader.pause()
    await _turns()
    assert watched.chunks == []
    watched.reader.resume()
    assert await watched.until_end() == content
    source.close()


async def test_less_is_read_at_once_while_it_takes_long_to_handle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lines").write_bytes(bytes(6 * READ_CHUNK_BYTES))
    fd = os.open(tmp_path / "lines", os.O_RDONLY)
    source = dup_nonblocking(fd, os.O_RDONLY)
    os.close(fd)
    spent_s, s_per_byte = [0.0], [1e-6]
    sizes: list[int] = []
    ended = asyncio.Event()

    def on_chunk(data: bytes) -> None:
        sizes.append(len(data))
        spent_s[0] += len(data) * s_per_byte[0]
        if len(sizes) == 6:
            s_per_byte[0] = 1e-12

    monkeypatch.setattr("trimpoint.streams.reader.time.thread_time", lambda: spent_s[0])
    StreamReader(source, on_chunk, lambda _: ended.set()).resume()
    with anyio.fail_after(STEP_S):
        await ended.wait()
    source.close()
    whole = READ_CHUNK_BYTES
    assert sizes[:5] == [whole, whole // 2, whole // 4, whole // 8, LEAST_CHUNK_BYTES]
    assert sizes[5:10] == [LEAST_CHUNK_BYTES] * 2 + [whole // 8, whole // 4, whole // 2]


async def test_drain_hands_over_what_the_pipe_holds_and_waits_for_no_more(
    pipe: tuple[DescriptorEnd, DescriptorEnd],
) -> None:
    source, sink = pipe
    watched = Watched(source)
    sink.write(b"last words")
    watched.reader.drain()
    assert watched.chunks == [b"last words"]
    assert watched.ends == []


async def test_closing_within_a_chunk_ends_the_reading_without_a_report(
    pipe: tuple[DescriptorEnd, DescriptorEnd],
) -> None:
    source, sink = pipe
    ends: list[OSError | None] = []
    chunks: list[bytes] = []

    def on_chunk(data: bytes) -> None:
        chunks.append(data)
        reader.close()

    reader = StreamReader(source, on_chunk, ends.append)
    reader.resume()
    sink.write(b"a")
    await _turns()
    sink.write(b"b")
    await _turns()
    assert (chunks, ends) == ([b"a"], [])


async def test_a_broken_stream_is_reported_with_its_error() -> None:
    class Broken(SocketEnd):
        def read(self, max_bytes: int) -> bytes:
            raise ConnectionResetError(104, "Connection reset by peer")

    ours, theirs = socket.socketpair()
    with ours, theirs:
        watched = Watched(Broken(ours))
        watched.reader.resume()
        theirs.send(b"x")
        assert await watched.until_end() == b""
        assert [type(end) for end in watched.ends] == [ConnectionResetError]
