"""Writing to a reader that takes nothing."""

import os

import pytest
from trimpoint.streams.waiting import send_all

ALL_THAT_A_PIPE_HOLDS = 2**20


class PipeEnd:
    """The writing end of a pipe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_blocking(descriptor, False)

    def write(self, data: bytes | memoryview) -> int:
        return os.write(self._descriptor, data)

    def fileno(self) -> int:
        return self._descriptor


async def test_a_reader_that_takes_no_more_ends_the_patience() -> None:
    reading, writing = os.pipe()
    try:
        sink = PipeEnd(writing)
        await send_all(sink, b"a little", 0)
        with pytest.raises(TimeoutError):
            await send_all(sink, bytes(ALL_THAT_A_PIPE_HOLDS), 0)
        assert os.read(reading, 8) == b"a little"
    finally:
        os.close(reading)
        os.close(writing)
