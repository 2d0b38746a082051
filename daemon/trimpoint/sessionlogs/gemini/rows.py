"""The records of Gemini CLI's chat files; only members that are needed are decoded. Pure."""

from typing import Any

import msgspec

from trimpoint.sessionlogs.text.lenient import decode_object, salvaged


class FunctionResponse(msgspec.Struct):
    """The result of a tool."""

    id: str | None = None
    name: str | None = None
    response: Any = None


class FunctionCall(msgspec.Struct):
    """A call of a tool."""

    id: str | None = None
    name: str | None = None
    args: Any = None


class Part(msgspec.Struct, rename="camel"):
    """A part of a content; data is not decoded."""

    text: str | None = None
    thought: bool | None = None
    function_response: FunctionResponse | None = None
    function_call: FunctionCall | None = None
    inline_data: dict[str, Any] | None = None
    file_data: dict[str, Any] | None = None


class Call(msgspec.Struct):
    """A call that the chat file stores with an answer. `result` is a list of parts or a text."""

    id: str | None = None
    name: str | None = None
    args: Any = None
    result: list[Part] | str | None = None
    status: str | None = None


class Thought(msgspec.Struct):
    """A thought: subject and description."""

    subject: str | None = None
    description: str | None = None


class Tokens(msgspec.Struct):
    """Tokens of a model call."""

    input: int | None = 0
    output: int | None = 0
    cached: int | None = 0
    thoughts: int | None = 0
    tool: int | None = 0
    total: int | None = 0


class Message(msgspec.Struct, rename="camel"):
    """A message of any type."""

    id: str | None = None
    type: str | None = None
    timestamp: str | None = None
    content: list[Part] | Part | str | None = None
    tool_calls: list[Call] | None = None
    thoughts: list[Thought] | None = None
    tokens: Tokens | None = None
    model: str | None = None


class Patch(msgspec.Struct, rename="camel"):
    """The members that `$set` changes."""

    messages: list[Message] | None = None
    summary: str | None = None
    last_updated: str | None = None


class Header(msgspec.Struct, rename="camel"):
    """The first row of a file; a file of older versions is one object that also has `messages`."""

    session_id: str | None = None
    start_time: str | None = None
    last_updated: str | None = None
    kind: str | None = None
    directories: list[str] | None = None
    summary: str | None = None
    messages: list[Message] | None = None


Record = Message | Patch | Header | str


def record_of(line: bytes) -> Record | None:
    """Returns the record in a line: a message, a patch, a header, or the target of a rewind; None
    for anything else.
    """
    found = decode_object(line)
    if found is None:
        return None
    if "$rewindTo" in found:
        return str(found["$rewindTo"])
    if "$set" in found:
        return salvaged(found["$set"], Patch)
    if "type" in found and "sessionId" not in found:
        return salvaged(found, Message)
    if "sessionId" in found or "messages" in found:
        return salvaged(found, Header)
    return None
