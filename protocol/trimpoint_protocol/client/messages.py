"""Messages that a client is sent without having asked, and how it reads them one by one."""

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
        """Returns the thread, in the place where the message has it."""
        if self.thread_id is not None:
            return self.thread_id
        if self.thread is not None:
            return self.thread.id
        return self.event_id.rpartition("/")[0] if self.event_id is not None else None


class Notification:
    """Something that happened. `raw` is its parameters as JSON, empty where it has none."""

    def __init__(self, method: str, raw: bytes) -> None:
        self.method = method
        self.raw = raw

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.method!r}, {self.raw!r})"

    @cached_property
    def params(self) -> Any:
        """Returns the decoded parameters; an empty object where there are none."""
        return msgspec.json.decode(self.raw) if self.raw else {}

    @cached_property
    def thread_id(self) -> str | None:
        """Returns the thread that it is about, if it names one."""
        try:
            return msgspec.json.decode(self.raw or b"{}", type=_Routed).about()
        except msgspec.ValidationError:
            return None

    def read_as(self, shape: type[T]) -> T:
        """Returns the parameters as a declared shape, such as those of `methods.NOTIFICATIONS`.

        :raises msgspec.ValidationError: they have another shape.
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
    """A question of the agent, such as an approval. It also goes to the thread's other clients.

    Answer it, refuse it ("not me"), or leave it to the others. The notification
    `serverRequest/resolved` says that it is settled.
    """

    def __init__(self, method: str, raw: bytes, request_id: str | int, by: Answering) -> None:
        super().__init__(method, raw)
        self.id = request_id
        self._by = by

    def answer(self, result: Any) -> None:
        """Sends the answer, in the shape that Codex declares for `method`; does not wait."""
        self._by.send_answer(self, result)

    def refuse(self, message: str = "This client does not answer requests of this kind.") -> None:
        """Leaves the question to the other clients; with none left, Codex gets the refusal."""
        self._by.send_refusal(self, METHOD_NOT_FOUND, message)


Message: TypeAlias = Notification | ServerRequest


class MessageSink(Protocol):
    """Receives the messages of a connection, in order; called by the connection, and must not
    wait.
    """

    def deliver(self, message: Message) -> None:
        """Takes one message."""
        ...

    def end(self) -> None:
        """Learns that nothing more will come."""
        ...


class Inbox:
    """Messages in order of arrival, from the moment the inbox is opened until it is closed.

    Iterate over it, in one task. What is not read is kept in memory. Use it as a context manager,
    or call `close`.
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
        """Returns how many messages wait to be read."""
        return len(self._messages)

    def __aiter__(self) -> "Inbox":
        return self

    async def __anext__(self) -> Message:
        return await self.receive()

    async def receive(self) -> Message:
        """Returns the next message, waiting for it if need be.

        :raises ConnectionLost: all were read, and no more can come.
        """
        while not self._messages:
            if self._is_ended:
                raise ConnectionLost
            await self._changed.wait()
        return self._messages.popleft()

    async def receive_first(self, wanted: Callable[[Message], bool]) -> Message:
        """Returns the next message that is wanted; those before it are dropped.

        :raises ConnectionLost: none came.
        """
        while not wanted(message := await self.receive()):
            pass
        return message

    def close(self) -> None:
        """Takes no more messages. What is there can still be read."""
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
        """Adds a message if it is wanted; called by the connection."""
        if self._wants(message):
            self._messages.append(message)
            self._announce()

    def end(self) -> None:
        """Says that nothing more will come; called by the connection."""
        self._is_ended = True
        self._announce()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
