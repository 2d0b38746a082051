"""The byte stream to one client."""

import select
from dataclasses import dataclass
from typing import NamedTuple

from trimpoint.streams.ends import StreamEnd
from trimpoint.transport.peer_process import Distrust


class Endpoints(NamedTuple):
    """The addresses of a TCP connection, each with its port."""

    peer: tuple[str, int]
    ours: tuple[str, int]


@dataclass(frozen=True, slots=True)
class Transport:
    """A byte stream to one client. `source` and `sink` may be the same socket.

    `peer` describes the client for people, `folder` is its working directory if that is known,
    `distrust` tells why it may not be served, `endpoints` is set for TCP, and `received` holds
    bytes that were already read from `source`.
    """

    source: StreamEnd
    sink: StreamEnd
    peer: str
    folder: str | None = None
    distrust: Distrust | None = None
    endpoints: Endpoints | None = None
    received: bytes = b""

    @property
    def is_peer_gone(self) -> bool:
        """Returns whether the client has closed its reading side; a client that only shut its
        writing side has not.
        """
        poll = select.poll()
        poll.register(self.sink.fileno(), 0)
        return any(flags & (select.POLLHUP | select.POLLERR) for _, flags in poll.poll(0))

    def close(self) -> None:
        self.source.close()
        self.sink.close()
