"""Content blocks and tool calls that an agent sends."""

from typing import Any, Literal

import msgspec

ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]
ToolStatus = Literal["pending", "in_progress", "completed", "failed"]


class AcpStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The base of ACP's structs: camelCase members; members with their default value are left
    out.
    """


class Text(AcpStruct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Text, read as Markdown."""

    text: str


class Image(AcpStruct, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """An image; `data` is base64."""

    data: str
    mime_type: str


class ResourceLink(AcpStruct, frozen=True, kw_only=True, tag_field="type", tag="resource_link"):
    """A link to something that the editor can open."""

    name: str
    uri: str


ContentBlock = Text | Image | ResourceLink


class Content(AcpStruct, frozen=True, kw_only=True, tag_field="type", tag="content"):
    """A content block in a tool call."""

    content: ContentBlock


class Diff(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="diff"):
    """A change of a file; `old_text` is null for a new one. `path` is absolute."""

    path: str
    old_text: str | None
    new_text: str


class Terminal(AcpStruct, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """A terminal of the agent, for editors that draw one from the `_meta` of updates."""

    terminal_id: str


ToolContent = Content | Diff | Terminal


class Location(AcpStruct, frozen=True, kw_only=True):
    """A file that a tool call concerns; `line` counts from 1."""

    path: str
    line: int | None = None


class ToolCall(AcpStruct, frozen=True, kw_only=True):
    """A complete tool call, or in an update only the changed members. `content` and `locations`
    replace the earlier ones.
    """

    tool_call_id: str
    title: str | None = None
    name: str | None = None
    kind: ToolKind | None = None
    status: ToolStatus | None = None
    content: list[ToolContent] | None = None
    locations: list[Location] | None = None
    raw_input: Any = None
    raw_output: Any = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


def text_content(text: str) -> Content:
    """Returns `text` as content of a tool call."""
    return Content(content=Text(text=text))
