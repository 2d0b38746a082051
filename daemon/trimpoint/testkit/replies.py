"""The replies of the scripted model, as values.

Always true: a reply describes one exchange completely, without I/O, clock or counters. Ids that
must be unique are added when a reply is sent (`trimpoint.testkit.sse.numbered`), so a reply can be
sent any number of times.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import anyio
import msgspec

#: One output item of the Responses API, as JSON. `id` and `call_id` may be left out.
Item: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The token usage that one model call reports; its total becomes Codex's `last.totalTokens`."""

    input_tokens: int = 1_000
    output_tokens: int = 10
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens


DEFAULT_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Completed:
    """The stream ends with `response.completed`."""


@dataclass(frozen=True, slots=True)
class Stalled:
    """The last item stays unfinished until `until` is set; then the stream completes."""

    until: anyio.Event


@dataclass(frozen=True, slots=True)
class Failed:
    """The last item stays unfinished and `response.failed` follows."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class CutOff:
    """The last item stays unfinished and the connection is closed."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An HTTP error response instead of a stream."""

    status: int
    body: bytes


StreamEnding: TypeAlias = Completed | Stalled | Failed | CutOff


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One reply of the model. `a + b` sends the items of both in one response.

    `held_until`: nothing is sent before this event is set. `delta_chars`: the number of characters
    in one streamed delta.
    """

    items: Sequence[Item] = ()
    usage: Usage = DEFAULT_USAGE
    ending: StreamEnding | Refused = Completed()
    held_until: anyio.Event | None = None
    delta_chars: int = 32

    def __post_init__(self) -> None:
        if self.delta_chars < 1:
            raise ValueError(f"delta_chars must be positive, not {self.delta_chars}")
        if self.items and isinstance(self.ending, Refused):
            raise ValueError("an HTTP error carries no items")

    def __add__(self, later: Reply) -> Reply:
        """Returns a reply with the items of both in order, and with the usage and the ending of
        `later`.

        :raises ValueError: when `self` does not end with `Completed`.
        """
        if self.ending != Completed():
            raise ValueError(f"nothing can follow a reply that ends with {self.ending}")
        held_until = self.held_until or later.held_until
        return dataclasses.replace(later, items=[*self.items, *later.items], held_until=held_until)


def say(text: str, *, usage: Usage = DEFAULT_USAGE, phase: str | None = None) -> Reply:
    """Returns an assistant message. `phase` is Codex's "commentary" or "final_answer"."""
    item: Item = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }
    if phase is not None:
        item["phase"] = phase
    return Reply(items=[item], usage=usage)


def call(name: str, arguments: Mapping[str, Any], *, call_id: str | None = None) -> Reply:
    """Returns a function call; without `call_id` it gets a new one each time it is sent."""
    item: Item = {
        "type": "function_call",
        "name": name,
        "arguments": msgspec.json.encode(arguments).decode(),
    }
    if call_id is not None:
        item["call_id"] = call_id
    return Reply(items=[item])


def run(cmd: str, *, call_id: str | None = None) -> Reply:
    """Returns a call of the tool that Codex offers for shell commands (measured: 0.163 and
    0.171).
    """
    return call("exec_command", {"cmd": cmd}, call_id=call_id)


def reasoning(summary: str = "", *, encrypted_content: str | None = None) -> Reply:
    """Returns a reasoning item; Codex sends `encrypted_content` back with the next request."""
    parts = [{"type": "summary_text", "text": summary}] if summary else []
    item: Item = {"type": "reasoning", "summary": parts}
    if encrypted_content is not None:
        item["encrypted_content"] = encrypted_content
    return Reply(items=[item])


def encrypted_compaction(blob: str, *, usage: Usage = DEFAULT_USAGE) -> Reply:
    """Returns the response to a remote compaction: a summary that only the provider can decrypt."""
    return Reply(items=[{"type": "compaction", "encrypted_content": blob}], usage=usage)


def http_error(status: int, body: str | bytes | Mapping[str, Any] = b"") -> Reply:
    """Returns an HTTP error response instead of a stream; a mapping is sent as JSON."""
    match body:
        case bytes():
            encoded = body
        case str():
            encoded = body.encode()
        case _:
            encoded = msgspec.json.encode(body)
    return Reply(ending=Refused(status, encoded))


def failure(code: str, message: str) -> Reply:
    """Returns a stream that ends with `response.failed`; `say(…) + failure(…)` fails in the middle
    of a message.
    """
    return Reply(ending=Failed(code, message))


def overflow(message: str = "Your input exceeds the context window of this model.") -> Reply:
    """Returns a failure that Codex reports as `contextWindowExceeded` (measured: 0.163 and 0.171).

    An HTTP 400 with the same code does so in 0.171 only.
    """
    return failure("context_length_exceeded", message)


def hang(text: str = "", *, until: anyio.Event | None = None) -> Reply:
    """Returns a reply that streams `text` and then stalls until `until` is set or one side
    disconnects. After `until` is set it completes as `say(text)` does.
    """
    ending = Stalled(until or anyio.Event())
    return Reply(items=say(text).items if text else (), ending=ending)


def cut_off(text: str = "") -> Reply:
    """Returns a reply that closes the connection after `text` was streamed, before the message is
    complete.
    """
    return Reply(items=say(text).items if text else (), ending=CutOff())


def held(reply: Reply, event: anyio.Event) -> Reply:
    """Returns `reply` delayed until `event` is set."""
    return dataclasses.replace(reply, held_until=event)
