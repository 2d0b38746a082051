"""A JSON-RPC connection over a byte stream: requests with answers, and inboxes for other messages.

Always true: a frame is written completely, because only one task writes and no caller can cancel
it. Messages that arrived before an answer are in the inboxes before the answer is returned.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar, cast, overload

import anyio
import msgspec
from msgspec import Raw

from trimpoint_protocol import jsonrpc
from trimpoint_protocol.client.errors import (
    ClientError,
    ConnectionLost,
    DeadlinePassed,
    remote_error,
)
from trimpoint_protocol.client.messages import (
    Inbox,
    Message,
    MessageSink,
    Notification,
    ServerRequest,
)
from trimpoint_protocol.peer import Answered, Asked, Event, Peer, Refused

T = TypeVar("T")
READ_CHUNK_BYTES = 256 * 1024
FLUSH_DEADLINE_S = 2.0
_SIGN_OF_LIFE = "commands/complete"
_BROKEN = (
    anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError,
)  # fmt: skip


class Stream(Protocol):
    """A byte stream, such as `anyio.abc.ByteStream`."""

    async def receive(self, max_bytes: int = ...) -> bytes:
        """Returns the next bytes.

        :raises anyio.EndOfStream: when the stream has ended.
        """
        ...

    async def send(self, item: bytes) -> None:
        """Sends all of the bytes."""
        ...


class PendingAnswer:
    """The answer to a request that was sent, which may not have arrived yet."""

    def __init__(self, method: str) -> None:
        self.method = method
        self._arrived = anyio.Event()
        self._outcome: Raw | ClientError | None = None

    @property
    def is_there(self) -> bool:
        """Returns whether the answer has arrived."""
        return self._arrived.is_set()

    async def result(self) -> Any:
        """Waits for the answer and returns its decoded result. It may be awaited again after a
        cancellation.

        :raises RemoteError: when the request was refused.
        :raises ConnectionLost: when the connection ended before the answer arrived.
        """
        return msgspec.json.decode(await self.raw_result())

    async def result_as(self, shape: type[T]) -> T:
        """Returns the result, decoded as `shape`; raises as `result` does."""
        return msgspec.json.decode(await self.raw_result(), type=shape)

    async def raw_result(self) -> Raw:
        """Returns the result as JSON text; raises as `result` does."""
        await self._arrived.wait()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        assert self._outcome is not None
        return self._outcome

    def settle(self, outcome: Raw | ClientError) -> None:
        """Sets the outcome and wakes the waiting task; called by the connection."""
        self._outcome = outcome
        self._arrived.set()


class Connection:
    """A connection, made by `open_connection`. It is not initialized yet."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._peer: Peer[PendingAnswer] = Peer(decode=jsonrpc.decode_trusted)
        self._asked: dict[str | int, Asked] = {}
        self._sinks: list[MessageSink] = []
        self._unsent: list[bytes] = []
        self._has_unsent = anyio.Event()
        self._sent_all = anyio.Event()
        self._is_lost = False
        self._received = 0

    @property
    def is_lost(self) -> bool:
        """Returns whether the connection has ended."""
        return self._is_lost

    def listen(self, *methods: str, thread_id: str | None = None) -> Inbox:
        """Opens an inbox for notifications and questions of the agent that arrive from now on.

        :param methods: only messages of these methods; all if none is named.
        :param thread_id: only messages about this thread.
        """
        wanted = frozenset(methods)

        def wants(message: Message) -> bool:
            return (not wanted or message.method in wanted) and (
                thread_id is None or message.thread_id == thread_id
            )

        inbox = Inbox(wants, self.detach)
        self.attach(inbox)
        return inbox

    def attach(self, sink: MessageSink) -> None:
        """Delivers all messages to `sink` from now on, as they arrive."""
        if self._is_lost:
            sink.end()
        else:
            self._sinks.append(sink)

    def detach(self, sink: MessageSink) -> None:
        """Stops delivering messages to `sink`."""
        if sink in self._sinks:
            self._sinks.remove(sink)

    def begin(self, method: str, params: Any = None) -> PendingAnswer:
        """Sends a request and returns its pending answer without waiting for it.

        :param params: a mapping, a struct of `methods`, Raw for JSON text, or None for no
            parameters.
        :raises ConnectionLost: when the connection has ended.
        """
        return self._begin(method, params)[1]

    def _begin(self, method: str, params: Any) -> tuple[int, PendingAnswer]:
        pending = PendingAnswer(method)
        call_id, data = self._peer.call(method, params, context=pending)
        self._send(data)
        return call_id, pending

    @overload
    async def request(
        self, method: str, params: Any = None, *, deadline_s: float | None = None
    ) -> Any: ...

    @overload
    async def request(
        self, method: str, params: Any = None, *, result: type[T], deadline_s: float | None = None
    ) -> T: ...

    async def request(
        self,
        method: str,
        params: Any = None,
        *,
        result: type[T] | None = None,
        deadline_s: float | None = None,
    ) -> Any:
        """Sends a request and returns its result. If the wait is cancelled, the answer is ignored.

        :param params: as in `begin`.
        :param result: the type to decode the result as; None returns the decoded JSON.
        :raises RemoteError: when the request was refused.
        :raises DeadlinePassed: when no answer arrived within `deadline_s` seconds.
        :raises ConnectionLost: when the connection has ended.
        """
        call_id, pending = self._begin(method, params)
        try:
            with anyio.move_on_after(deadline_s) as scope:
                return await (pending.result() if result is None else pending.result_as(result))
        finally:
            self._peer.abandon(call_id)
        assert scope.cancelled_caught
        assert deadline_s is not None
        raise DeadlinePassed(method, deadline_s)

    def notify(self, method: str, params: Any = None) -> None:
        """Sends a notification; `params` as in `begin`.

        :raises ConnectionLost: when the connection has ended.
        """
        self._send(self._peer.notify(method, params))

    def send_answer(self, request: ServerRequest, result: Any) -> None:
        """Answers a question of the agent, unless it was answered before."""
        if (asked := self._asked.pop(request.id, None)) is not None:
            self._send(self._peer.answer(asked, result))

    def send_refusal(self, request: ServerRequest, code: int, message: str) -> None:
        """Refuses a question of the agent, unless it was answered before."""
        if (asked := self._asked.pop(request.id, None)) is not None:
            self._send(self._peer.refuse(asked, code, message))

    async def beat(self, silence_s: float, patience_s: float) -> None:
        """Asks for a sign of life whenever nothing arrived for `silence_s` seconds, until nothing
        arrives for `patience_s` seconds more. A machine that sleeps or a network that is gone ends
        no connection.

        :raises DeadlinePassed: when nothing has arrived.
        """
        while True:
            received = self._received
            await anyio.sleep(silence_s)
            if received != self._received:
                continue
            self.begin(_SIGN_OF_LIFE, {"text": ""})
            await anyio.sleep(patience_s)
            if received == self._received:
                raise DeadlinePassed(_SIGN_OF_LIFE, silence_s + patience_s)

    async def flush(self) -> None:
        """Waits until everything was sent, or the connection has ended."""
        while self._unsent and not self._is_lost:
            await self._sent_all.wait()

    async def read(self) -> None:
        """Reads until the connection ends; a task of `open_connection`."""
        try:
            while True:
                self._peer.feed(await self._stream.receive(READ_CHUNK_BYTES))
                self._received += 1
                while (event := self._peer.next_event()) is not None:
                    self._on_event(event)
        except _BROKEN:
            self.lose()

    async def write(self) -> None:
        """Sends queued bytes until the connection ends; a task of `open_connection`."""
        try:
            while True:
                await self._has_unsent.wait()
                self._has_unsent = anyio.Event()
                count = len(self._unsent)
                await self._stream.send(b"".join(self._unsent))
                del self._unsent[:count]
                if not self._unsent:
                    self._sent_all.set()
                    self._sent_all = anyio.Event()
        except _BROKEN:
            self.lose()

    def _send(self, data: bytes) -> None:
        if self._is_lost:
            raise ConnectionLost
        self._unsent.append(data)
        self._has_unsent.set()

    def _on_event(self, event: Event[PendingAnswer]) -> None:
        match event:
            case Answered(call, result):
                call.context.settle(result)
            case Refused(call, error):
                call.context.settle(remote_error(error))
            case jsonrpc.Notification():
                self._deliver(Notification(event.method, bytes(event.params or b"")))
            case Asked():
                self._deliver_question(event)
            case _:
                pass  # an answer that nothing waits for, or a line that is no message

    def _deliver_question(self, asked: Asked) -> None:
        request = asked.request
        key = jsonrpc.id_key(request.id)
        if isinstance(key, str | int):
            self._asked[key] = asked
            raw = bytes(request.params or b"")
            self._deliver(ServerRequest(request.method, raw, key, self))

    def _deliver(self, message: Message) -> None:
        for sink in self._sinks:
            sink.deliver(message)

    def lose(self) -> None:
        """Ends the connection; whoever still waits for an answer gets none."""
        self._is_lost = True
        for call in self._peer.close():
            call.context.settle(ConnectionLost())
        for sink in self._sinks:
            sink.end()
        self._sent_all.set()


@asynccontextmanager
async def open_connection(stream: Stream) -> AsyncGenerator[Connection]:
    """Yields a connection over `stream`. When the block ends it waits until everything was sent;
    the caller closes `stream`.
    """
    connection = Connection(stream)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.read)
            tasks.start_soon(connection.write)
            try:
                yield connection
                with anyio.move_on_after(FLUSH_DEADLINE_S):
                    await connection.flush()
            finally:
                tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        # The error of the block as it was raised there, and not as a group of one.
        raise _sole_error(group) from None
    finally:
        connection.lose()


def _sole_error(error: BaseException) -> BaseException:
    """Returns the only error inside nested exception groups, or the group if it contains
    several.
    """
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return _sole_error(group.exceptions[0]) if len(group.exceptions) == 1 else group
