"""What a row says of a message by itself. Pure."""

import msgspec
from trimpoint_protocol import unified as u


class Content(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The members of `unified.Message` that follow from a row alone."""

    id: str | None
    role: str
    kind: str
    text: str
    tool_calls: list[u.ToolCall] = []
    tool_results: list[u.ToolResult] = []
    thoughts: str | None = None
    usage: u.Usage | None = None
    model: str | None = None
    phase: str | None = None
    sidechain: bool = False
    omitted: list[str] = []
