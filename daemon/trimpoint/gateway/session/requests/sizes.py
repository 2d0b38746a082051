"""Says how large the parts of a request may be.

Only members that carry content (a prompt with images, a file) may have megabytes. They are passed
on and never decoded whole, because each further step with them keeps all other clients waiting.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import Raw
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.jsonrpc.nesting import finished, measure

from trimpoint.gateway.session.requests.errors import Refusal

MAX_METHOD_CHARS: Final = 1_024
"""No method has so long a name."""

CHECKED_BYTES: Final = 16 * 1024
"""Whatever a smaller request holds takes little time."""

MAX_OTHER_BYTES: Final = 1024 * 1024
"""All of a request but its content, in bytes of JSON."""

MAX_OTHER_VALUES: Final = 20_000
"""The values in it. Each may be an id, which is looked up."""

MAX_MEMBER_BYTES: Final = 128 * 1024
"""A member that no person writes and no program generates, in bytes of JSON."""

LONG_MEMBERS: Final = frozenset(
    {
        "_meta", "additionalContext", "arguments", "baseInstructions", "collaborationMode",
        "command", "config", "developerInstructions", "dynamicTools", "edits", "env", "event",
        "excludedThreadIds", "history", "initialItems", "itemIds", "itemTypeResults",
        "migrationItems", "objective", "outputSchema", "payload", "prompt",
        "realtimeEndInstructions", "realtimeStartInstructions", "target", "text", "threads",
        "toolOutput", "value",
    }
)  # fmt: skip
"""Members that people or programs write; they are limited only with all else."""

LONGEST_BYTES: Final = {
    "threadId": 1_024,
    "turnId": 1_024,
    "expectedTurnId": 1_024,
    "lastTurnId": 1_024,
    "beforeTurnId": 1_024,
    "name": 64 * 1_024,
    "cursor": 64 * 1_024,
    # What is searched for becomes a regular expression, among others; that takes 1 µs a character.
    "query": 16 * 1_024,
    "search": 16 * 1_024,
    "searchTerm": 16 * 1_024,
    # Linux has no path of more than 4 KiB, and a byte of it takes up to 6 in JSON.
    "cwd": 6 * 4_096,
    # Linux runs no command of more than 128 KiB, and a byte of it takes up to 6 in JSON.
    "command": 6 * 128 * 1_024,
}
"""Members of parameters → how long they may be where they are text, in bytes of JSON."""


class Content(NamedTuple):
    """The member of a method's parameters that carries content, and the bytes that it begins
    with. Codex repeats a value of another type in its error.
    """

    member: str
    starts: bytes


_LIST, _TEXT, _OBJECT, _ANY = b"[", b'"', b"{", b'[{"tfn-0123456789'
_KINDS = {_LIST: "a list", _TEXT: "a string", _OBJECT: "an object", _ANY: "a JSON value"}
_INPUT = Content("input", _LIST)

CONTENT: Final[Mapping[str, Content]] = {
    "turn/start": _INPUT,
    "turn/steer": _INPUT,
    "thread/queue/add": _INPUT,
    "thread/queue/update": _INPUT,
    "thread/inject_items": Content("items", _LIST),
    "thread/realtime/appendAudio": Content("audio", _OBJECT),
    "fs/writeFile": Content("dataBase64", _TEXT),
    "command/exec/write": Content("deltaBase64", _TEXT),
    "process/writeStdin": Content("deltaBase64", _TEXT),
    "mcpServer/tool/call": Content("arguments", _ANY),
}
"""The methods that carry content, and where."""


def check_sizes(method: str, size_bytes: int, members: Mapping[str, Raw]) -> None:
    """Checks that a request is not larger than it may be. `size_bytes` is the size of the whole
    request, and `members` are those of its parameters.

    :raises Refusal: when it, or a part of it, is larger than in any valid request.
    """
    if len(method) > MAX_METHOD_CHARS:
        problem = f"No method has a name of more than {MAX_METHOD_CHARS:,} characters."
        raise Refusal(Reason.METHOD_NOT_FOUND, problem, "Send a method of docs/protocol.md.")
    for name, limit in LONGEST_BYTES.items():
        if name in members and len(members[name]) > limit and _starts(members[name], _TEXT):
            raise Refusal(Reason.INVALID_PARAMS, f"`{name}` is longer than {limit:,} bytes.")
    content = CONTENT.get(method)
    carried = members.get(content.member) if content is not None else None
    if content is not None and carried is not None and not _starts(carried, content.starts):
        problem = f"`{content.member}` must be {_KINDS[content.starts]}."
        raise Refusal(Reason.INVALID_PARAMS, problem)
    others = {name: text for name, text in members.items() if text is not carried}
    beside = f" beside `{content.member}`" if content is not None else ""
    if size_bytes - len(carried or b"") > MAX_OTHER_BYTES:
        raise _too_large(f"{method} takes at most {MAX_OTHER_BYTES:,} bytes{beside}.")
    if _values_in(others) > MAX_OTHER_VALUES:
        raise _too_large(f"{method} takes at most {MAX_OTHER_VALUES:,} values{beside}.")
    for name, text in others.items():
        if len(text) > MAX_MEMBER_BYTES and name not in LONG_MEMBERS:
            raise _too_large(f"`{name[:40]}` is larger than {MAX_MEMBER_BYTES:,} bytes.")


def _values_in(members: Mapping[str, Raw]) -> int:
    """Returns how many values the members hold, or some number that is too large."""
    return len(members) + sum(
        finished(measure(bytes(text), MAX_OTHER_VALUES, jsonrpc.MAX_ESCAPES)).values
        for text in members.values()
        if memoryview(text)[0] in b"[{"
    )


def _too_large(problem: str) -> Refusal:
    return Refusal(
        Reason.MESSAGE_TOO_LARGE, problem, "Only prompts, files and the like may be larger."
    )


def _starts(member: Raw, starts: bytes) -> bool:
    return memoryview(member)[0] in starts
