"""Bytes both ways between a client at our stdin and stdout and a daemon; nothing is looked at, so
nothing can be misread.
"""

from collections.abc import Callable

import anyio
from anyio.lowlevel import checkpoint

from trimpoint.gateway.transport.client_stream import Transport
from trimpoint.streams.ends import StreamEnd
from trimpoint.streams.reader import READ_CHUNK_BYTES
from trimpoint.streams.waiting import receive_some, send_all


class EndClosed(Exception):
    """The reader of our output has gone."""


async def relay(client: Transport, daemon: StreamEnd, end_daemon_input: Callable[[], None]) -> bool:
    """Copies bytes until the daemon has ended the connection; returns whether the client had ended
    first, as it should.

    A client that ends its input still gets the answers it is owed: the daemon is told of the end
    and ends when it has given them.
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
    """Returns the next bytes; none at the end of the stream, or when it is broken."""
    try:
        return await receive_some(end, READ_CHUNK_BYTES)
    except OSError:
        return b""


async def write_all(end: StreamEnd, data: bytes) -> None:
    """Writes all of it.

    :raises EndClosed: the reader has gone.
    """
    try:
        await send_all(end, data)
    except OSError as error:
        raise EndClosed from error
