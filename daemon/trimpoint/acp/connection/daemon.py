"""The connection to the daemon: made when it is needed, and made anew when the daemon has ended."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from trimpoint.acp.connection.peer import INTERNAL, Incoming, OnResult, Peer, RpcError
from trimpoint.acp.json_access import Json, as_object

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
    """No daemon could be reached or started; the text says why, for a person."""


class ThreadFollower(Protocol):
    """Receives notifications about a thread. None of the methods may wait."""

    def heard(self, method: str, params: Json) -> None:
        """Takes a notification about the thread, or about all of them."""
        ...

    def asked(self, question: Incoming, params: Json) -> None:
        """Takes a question of Codex."""
        ...

    def daemon_lost(self) -> None:
        """Ends all that was open at the daemon, whose connection is lost."""
        ...


class DaemonLink:
    """`epoch` grows with each connection; 0 before the first. `codex_home` is where the editor's
    Codex keeps its threads, if not where the daemon's does.
    """

    def __init__(self, find: FindDaemon, version: str, codex_home: str | None = None) -> None:
        self._codex_home = codex_home
        self.epoch = 0
        self._find = find
        self._version = version
        self._followers: dict[str, ThreadFollower] = {}
        self._watches: dict[str, list[asyncio.Future[Json]]] = {}
        self._connecting = asyncio.Lock()
        self._peer: Peer | None = None
        self._transport: asyncio.Transport | None = None

    @property
    def is_connected(self) -> bool:
        """Returns whether the daemon can be asked without being looked for."""
        return self._peer is not None

    async def request(
        self, method: str, *, on_result: OnResult | None = None, **params: Any
    ) -> Json:
        """Ask the daemon, or Codex behind it, and return the result.

        :param on_result: is called with it before anything that the daemon says afterwards.

        :raises RpcError: it was refused, or the daemon cannot be reached or has ended.
        """
        peer = await self.connected()
        return as_object(msgspec.json.decode(await peer.request(method, params, on_result)))

    async def connected(self) -> Peer:
        """Returns the connection, and makes it if there is none.

        :raises RpcError: there is no daemon, and none could be started.
        """
        async with self._connecting:
            if self._peer is None:
                self._peer = await self._connect()
                self.epoch += 1
            return self._peer

    def follow(self, thread_id: str, follower: ThreadFollower) -> None:
        """Have a follower told of a thread."""
        self._followers[thread_id] = follower

    def unfollow(self, thread_id: str, follower: ThreadFollower) -> None:
        """Tell a follower of a thread no more."""
        if self._followers.get(thread_id) is follower:
            del self._followers[thread_id]

    def next_notification(self, method: str) -> "asyncio.Future[Json]":
        """Returns the parameters of the next notification of a method, when it comes."""
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._watches.setdefault(method, []).append(future)
        return future

    def pause(self) -> None:
        """Read no more, because the editor does not."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self._transport is not None:
            self._transport.resume_reading()

    def close(self) -> None:
        """End the connection; the daemon stays."""
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
        """Pass a question of Codex on to who follows its thread."""
        params = _decoded(request.params)
        follower = self._followers.get(str(params.get("threadId")))
        if follower is not None:
            follower.asked(request, params)
        else:
            refuse_as_not_mine(request)

    def notified(self, method: str, params: Raw) -> None:
        """Pass a notification on to who follows its thread; one about no thread to all."""
        decoded = _decoded(params)
        for future in self._watches.pop(method, []):
            if not future.done():
                future.set_result(decoded)
        thread_id = decoded.get("threadId")
        if thread_id is None:
            for follower in list(self._followers.values()):
                follower.heard(method, decoded)
        elif (one := self._followers.get(str(thread_id))) is not None:
            one.heard(method, decoded)

    def lost(self, peer: Peer) -> None:
        """Handles the end of the connection to the daemon."""
        peer.lost(RpcError(INTERNAL, LOST, {"reason": "daemon_lost"}))
        if self._peer in (peer, None):
            self._peer = self._transport = None
            for follower in list(self._followers.values()):
                follower.daemon_lost()


class _Lines(asyncio.Protocol):
    """The bytes of one connection."""

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
    """Leave a question to other clients: that is what an error means to the daemon."""
    question.refuse(RpcError(INTERNAL, "This client does not answer it."))


def _decoded(params: Raw) -> Json:
    return as_object(msgspec.json.decode(params))
