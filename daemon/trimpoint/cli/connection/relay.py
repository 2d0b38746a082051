"""Copies bytes in both directions between a client on stdin and stdout and a daemon. The bytes are
not interpreted.
"""

from collections.abc import Callable

import anyio
from anyio.lowlevel import checkpoint

from trimpoint.streams.ends import StreamEnd
from trimpoint.streams.reader import READ_CHUNK_BYTES
from trimpoint.streams.waiting import receive_some, send_all
from trimpoint.transport.client_stream import Transport


class EndClosed(Exception):
    """Raised when the reader of our output has closed it."""


async def relay(client: Transport, daemon: StreamEnd, end_daemon_input: Callable[[], None]) -> bool:
    """Copies bytes until the daemon closes the connection. Returns whether the client had closed
    its input first, which is the normal end.

    After the client closed its input it still receives the answers to its requests: the daemon's
    input is closed too, and the daemon closes the connection when it has answered.
    """
    ends: list[str] = []
    async with anyio.create_task_group() as tasks:

        async def up() -> None:
            try:
                await write_all(daemon, client.received)
                await _pump(client.source, daemon)
                ends.append("client")
                end_daemon_input()
            except (EndClosed, OSError):
                return  # the daemon is gone, which the other direction sees

        tasks.start_soon(up)
        try:
            await _pump(daemon, client.sink)
        except EndClosed:
            ends.append("client")
        tasks.cancel_scope.cancel()
    return bool(ends)


async def _pump(source: StreamEnd, sink: StreamEnd) -> None:
    while data := await read_some(source):
        await write_all(sink, data)
        await checkpoint()


async def read_some(end: StreamEnd) -> bytes:
    """Returns the next bytes, or none if the stream has ended or is broken."""
    try:
        return await receive_some(end, READ_CHUNK_BYTES)
    except OSError:
        return b""


async def write_all(end: StreamEnd, data: bytes) -> None:
    """Writes all of `data`.

    :raises EndClosed: when the reader has closed the stream.
    """
    try:
        await send_all(end, data)
    except OSError as error:
        raise EndClosed from error
