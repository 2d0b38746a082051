"""The connection to the daemon. It is opened when it is needed, and again after the daemon has
ended.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Raw
from trimpoint_protocol.lenient import Json, as_dict, as_text

from trimpoint.acp.connection.peer import INTERNAL, Incoming, OnResult, Peer, RpcError
from trimpoint.acp.translate.upgrade import upgrade_words

FindDaemon = Callable[[], Awaitable[Path]]
"""Returns the socket of the daemon, which it starts if none runs. Raises `DaemonMissing`."""

# Notifications that are not passed on to editors.
UNWANTED = (
    "thread/tokenUsage/updated",
    "turn/diff/updated",
    "item/fileChange/outputDelta",
    "account/rateLimits/updated",
    "thread/status/changed",
    "thread/started",
    "command/exec/outputDelta",
    "process/outputDelta",
    "fs/changed",
    "app/list/updated",
)
LOST = (
    "The trimpoint daemon has ended. What the agent did until then is kept; "
    "the next prompt starts the daemon again."
)


class DaemonMissing(Exception):
    """Raised when no daemon could be reached or started; the text is for a person."""


class ThreadFollower(Protocol):
    """Receives notifications and questions about a thread. None of its methods may block."""

    def on_notification(self, method: str, params: Json) -> None:
        """Handles a notification about the thread, or about no thread in particular."""
        ...

    def asked(self, question: Incoming, params: Json) -> None:
        """Handles a question that Codex asks about the thread."""
        ...

    def daemon_lost(self) -> None:
        """Ends everything that waits for the daemon, because the connection is lost."""
        ...


class DaemonLink:
    """The connection to the daemon. `epoch` counts the connections that were opened; 0 before the
    first. `codex_home` is the editor's Codex home if it differs from the daemon's.
    """

    def __init__(self, find: FindDaemon, version: str, codex_home: str | None = None) -> None:
        self._codex_home = codex_home
        self.epoch = 0
        self._find = find
        self._version = version
        self._is_version_known = False
        self._followers: dict[str, ThreadFollower] = {}
        self._watches: dict[str, list[asyncio.Future[Json]]] = {}
        self._connecting = asyncio.Lock()
        self._peer: Peer | None = None
        self._transport: asyncio.Transport | None = None

    @property
    def is_connected(self) -> bool:
        """Returns whether the connection is open."""
        return self._peer is not None

    async def request(
        self, method: str, *, on_result: OnResult | None = None, **params: Any
    ) -> Json:
        """Sends a request to the daemon, or to Codex through it, and returns the result. Connects
        first if necessary.

        :param on_result: called with the result before any later message of the daemon is
            processed.

        :raises RpcError: when the request was refused, or the daemon cannot be reached or has
            ended.
        """
        peer = await self.connected()
        return as_dict(msgspec.json.decode(await peer.request(method, params, on_result)))

    async def upgrade(self) -> str | None:
        """Returns what to tell a person about a daemon that is older than this program; None about
        any other, and when it was asked before.

        :raises RpcError: when the daemon cannot be reached or has ended.
        """
        if self._is_version_known:
            return None
        self._is_version_known = True
        status = await self.request("sidecar/status")
        return upgrade_words(as_text(status.get("version")), self._version)

    async def connected(self) -> Peer:
        """Returns the peer of the open connection; connects first if there is none.

        :raises RpcError: when no daemon could be reached or started.
        """
        async with self._connecting:
            if self._peer is None:
                self._peer = await self._connect()
                self.epoch += 1
            return self._peer

    def follow(self, thread_id: str, follower: ThreadFollower) -> None:
        """Registers `follower` for the messages about a thread."""
        self._followers[thread_id] = follower

    def unfollow(self, thread_id: str, follower: ThreadFollower) -> None:
        """Removes `follower` from a thread, if it is registered there."""
        if self._followers.get(thread_id) is follower:
            del self._followers[thread_id]

    def next_notification(self, method: str) -> "asyncio.Future[Json]":
        """Returns a future for the parameters of the next notification `method`."""
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._watches.setdefault(method, []).append(future)
        return future

    def pause(self) -> None:
        """Stops reading from the daemon, because the editor does not read."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        """Reads from the daemon again."""
        if self._transport is not None:
            self._transport.resume_reading()

    def close(self) -> None:
        """Closes the connection; the daemon continues to run."""
        if self._transport is not None:
            self._transport.close()

    async def _connect(self) -> Peer:
        try:
            path = await self._find()
            protocol = _Lines(self)
            loop = asyncio.get_running_loop()
            self._transport, _ = await loop.create_unix_connection(lambda: protocol, str(path))
        except (DaemonMissing, OSError) as error:
            raise RpcError(INTERNAL, f"The trimpoint daemon cannot be reached. {error}") from None
        if self._codex_home is not None:
            await protocol.peer.request("sidecar/useProfile", {"codexHome": self._codex_home})
        info = {"name": "trimpoint-acp", "title": "ACP editor", "version": self._version}
        capabilities = {"experimentalApi": True, "optOutNotificationMethods": list(UNWANTED)}
        await protocol.peer.request(
            "initialize", {"clientInfo": info, "capabilities": capabilities}
        )
        protocol.peer.notify("initialized", {})
        return protocol.peer

    def requested(self, request: Incoming) -> None:
        """Passes a question of Codex to the follower of its thread; without one, the question is
        left to other clients.
        """
        params = _decoded(request.params)
        follower = self._followers.get(str(params.get("threadId")))
        if follower is not None:
            follower.asked(request, params)
        else:
            refuse_as_not_mine(request)

    def notified(self, method: str, params: Raw) -> None:
        """Passes a notification to the follower of its thread; one without a thread goes to all
        followers.
        """
        decoded = _decoded(params)
        for future in self._watches.pop(method, []):
            if not future.done():
                future.set_result(decoded)
        thread_id = decoded.get("threadId")
        if thread_id is None:
            for follower in list(self._followers.values()):
                follower.on_notification(method, decoded)
        elif (one := self._followers.get(str(thread_id))) is not None:
            one.on_notification(method, decoded)

    def lost(self, peer: Peer) -> None:
        """Handles the end of the connection: fails the open requests and notifies all followers."""
        peer.lost(RpcError(INTERNAL, LOST, {"reason": "daemon_lost"}))
        if self._peer in (peer, None):
            self._peer = self._transport = None
            for follower in list(self._followers.values()):
                follower.daemon_lost()


class _Lines(asyncio.Protocol):
    """The asyncio protocol of one connection."""

    def __init__(self, link: DaemonLink) -> None:
        self._link = link
        self._transport: asyncio.Transport | None = None
        self.peer = Peer(link, self._send, versioned=False)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.peer.take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._link.lost(self.peer)

    def _send(self, line: bytes) -> None:
        if self._transport is not None:
            with suppress(OSError):
                self._transport.write(line)


def refuse_as_not_mine(question: Incoming) -> None:
    """Leaves a question to other clients. The daemon interprets an error as "not answered by this
    client".
    """
    question.refuse(RpcError(INTERNAL, "This client does not answer requests of this kind."))


def _decoded(params: Raw) -> Json:
    return as_dict(msgspec.json.decode(params))
