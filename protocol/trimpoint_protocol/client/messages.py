"""The messages that a client receives without a request, and inboxes to read them from."""

from collections import deque
from collections.abc import Callable
from functools import cached_property
from types import TracebackType
from typing import Any, Protocol, TypeAlias, TypeVar

import anyio
import msgspec

from trimpoint_protocol.client.errors import ConnectionLost

T = TypeVar("T")
METHOD_NOT_FOUND = -32601


class _Named(msgspec.Struct):
    id: str | None = None


class _Routed(msgspec.Struct, rename="camel"):
    thread_id: str | None = None
    thread: _Named | None = None
    event_id: str | None = None

    def about(self) -> str | None:
        """Returns the id of the thread that the message concerns, from the member where the message
        has it; None if it has none.
        """
        if self.thread_id is not None:
            return self.thread_id
        if self.thread is not None:
            return self.thread.id
        return self.event_id.rpartition("/")[0] if self.event_id is not None else None


class Notification:
    """A notification. `raw` is its parameters as JSON text, empty if it has none."""

    def __init__(self, method: str, raw: bytes) -> None:
        self.method = method
        self.raw = raw

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.method!r}, {self.raw!r})"

    @cached_property
    def params(self) -> Any:
        """Returns the decoded parameters; an empty object if there are none."""
        return msgspec.json.decode(self.raw) if self.raw else {}

    @cached_property
    def thread_id(self) -> str | None:
        """Returns the id of the thread that the notification concerns, or None."""
        try:
            return msgspec.json.decode(self.raw or b"{}", type=_Routed).about()
        except msgspec.ValidationError:
            return None

    def read_as(self, shape: type[T]) -> T:
        """Returns the parameters decoded as `shape`, such as a type of `methods.NOTIFICATIONS`.

        :raises msgspec.ValidationError: when they do not have this type.
        """
        return msgspec.json.decode(self.raw or b"{}", type=shape)


class Answering(Protocol):
    """Sends answers."""

    def send_answer(self, request: "ServerRequest", result: Any) -> None:
        """Sends a result."""
        ...

    def send_refusal(self, request: "ServerRequest", code: int, message: str) -> None:
        """Sends an error."""
        ...


class ServerRequest(Notification):
    """A question of the agent, such as an approval. Other clients of the thread receive it, too.

    Answer it, refuse it, or leave it to other clients. The notification `serverRequest/resolved`
    says that it was answered.
    """

    def __init__(self, method: str, raw: bytes, request_id: str | int, by: Answering) -> None:
        super().__init__(method, raw)
        self.id = request_id
        self._by = by

    def answer(self, result: Any) -> None:
        """Sends the answer, in the shape that Codex declares for `method`, without waiting."""
        self._by.send_answer(self, result)

    def refuse(self, message: str = "This client does not answer requests of this kind.") -> None:
        """Leaves the question to other clients; if there are none, Codex receives the refusal."""
        self._by.send_refusal(self, METHOD_NOT_FOUND, message)


Message: TypeAlias = Notification | ServerRequest


class MessageSink(Protocol):
    """Receives the messages of a connection in order. Its methods must not block."""

    def deliver(self, message: Message) -> None:
        """Handles a message."""
        ...

    def end(self) -> None:
        """Handles the end of the connection."""
        ...


class Inbox:
    """Messages in order of arrival, from the opening of the inbox until it is closed.

    Iterate over it in one task. Unread messages are kept in memory. Use it as a context manager, or
    call `close`.
    """

    def __init__(
        self, wants: Callable[[Message], bool], on_close: Callable[["Inbox"], None]
    ) -> None:
        self._wants = wants
        self._on_close = on_close
        self._messages: deque[Message] = deque()
        self._changed = anyio.Event()
        self._is_ended = False

    def __len__(self) -> int:
        """Returns the number of unread messages."""
        return len(self._messages)

    def __aiter__(self) -> "Inbox":
        return self

    async def __anext__(self) -> Message:
        return await self.receive()

    async def receive(self) -> Message:
        """Returns the next message and waits for it if necessary.

        :raises ConnectionLost: when all messages were read and the connection has ended.
        """
        while not self._messages:
            if self._is_ended:
                raise ConnectionLost
            await self._changed.wait()
        return self._messages.popleft()

    async def receive_first(self, wanted: Callable[[Message], bool]) -> Message:
        """Returns the next message for which `wanted` is true; the ones before it are dropped.

        :raises ConnectionLost: when the connection ended before such a message arrived.
        """
        while not wanted(message := await self.receive()):
            pass
        return message

    def close(self) -> None:
        """Stops accepting messages. Those in the inbox can still be read."""
        self._on_close(self)
        self.end()

    def __enter__(self) -> "Inbox":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def deliver(self, message: Message) -> None:
        """Adds a message if the inbox wants it; called by the connection."""
        if self._wants(message):
            self._messages.append(message)
            self._announce()

    def end(self) -> None:
        """Marks the connection as ended; called by the connection."""
        self._is_ended = True
        self._announce()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
