"""The rows of Claude Code's session files; only members that are needed are decoded. Pure."""

from typing import Any

import msgspec

from trimpoint.sessionlogs.text.lenient import decode_object, decode_value, salvaged

NULL = msgspec.Raw(b"null")
DAMAGE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
# Rows that say nothing that is read.
SKIPPED = frozenset(
    {
        "mode", "permission-mode", "atis-latch", "file-history-snapshot", "last-prompt",
        "cost-state",
        "agent-name", "tools-used", "api-request", "api-request-shape",
        "api-request-blob", "progress", "pr-link", "agent-setting", "agent-color", "tag",
        "task-state",
        "attribution-snapshot", "worktree-state", "content-replacement", "file-history-delta",
    }
)  # fmt: skip
QUEUE = "queue-operation"
TITLES = ("custom-title", "ai-title", "summary")


class Inner(msgspec.Struct, gc=False):
    """A part of a tool's result. Image data is not decoded."""

    type: str = ""
    text: str | None = None


class Output(msgspec.Struct):
    """What a tool returned."""

    content: str | list[Inner] | None = None


class Block(msgspec.Struct):
    """A part of a message. What a tool was given and returned is decoded when it is asked for: the
    first reading needs neither.
    """

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = NULL
    tool_use_id: str | None = None
    content: msgspec.Raw = NULL
    is_error: bool | None = None


class Usage(msgspec.Struct, gc=False):
    """The tokens of a model call; the three kinds of input are separate."""

    input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    output_tokens: int | None = 0


class Message(msgspec.Struct):
    """The message of a row."""

    id: str | None = None
    role: str | None = None
    model: str | None = None
    content: str | list[Block] | None = None
    usage: Usage | None = None


class Preserved(msgspec.Struct, rename="camel"):
    """The rows that a compaction kept."""

    anchor_uuid: str | None = None
    uuids: list[str] = []
    all_uuids: list[str] = []


class Segment(msgspec.Struct, rename="camel"):
    """The rows that a compaction kept, as a range."""

    head_uuid: str | None = None
    anchor_uuid: str | None = None
    tail_uuid: str | None = None


class CompactMetadata(msgspec.Struct, rename="camel"):
    """Of `compact_boundary`."""

    trigger: str | None = None
    pre_tokens: int | None = None
    post_tokens: int | None = None
    preserved_segment: Segment | None = None
    preserved_messages: Preserved | None = None


class MicrocompactMetadata(msgspec.Struct, rename="camel"):
    """Of `microcompact_boundary`."""

    trigger: str | None = None
    pre_tokens: int | None = None
    tokens_saved: int | None = None
    compacted_tool_ids: list[str] = []


class Origin(msgspec.Struct):
    """The author of a message: `human`, or a part of the program."""

    kind: str | None = None


class Attached(msgspec.Struct):
    """An attachment. A `queued_command` is a prompt that was typed while the model worked: it is
    sent to the model, and no other row has it.
    """

    type: str = ""
    prompt: str | list[Block] | None = None
    origin: Origin | None = None


class ForkedFrom(msgspec.Struct, rename="camel"):
    """The origin of a copied row."""

    session_id: str | None = None


class Row(msgspec.Struct, rename="camel"):
    """One line."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    is_sidechain: bool | None = False
    is_meta: bool | None = False
    is_compact_summary: bool | None = False
    timestamp: str | None = None
    session_id: str | None = None
    first_session: str | None = msgspec.field(default=None, name="session_id")
    cwd: str | None = None
    version: str | None = None
    git_branch: str | None = None
    message: Message | None = None
    attachment: Attached | None = None
    is_api_error_message: bool | None = False
    compact_metadata: CompactMetadata | None = None
    microcompact_metadata: MicrocompactMetadata | None = None
    summarize_metadata: msgspec.Raw = NULL
    source_tool_assistant_uuid: msgspec.Raw = msgspec.field(
        default=NULL, name="sourceToolAssistantUUID"
    )
    forked_from: ForkedFrom | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    title: str | None = None
    summary: str | None = None
    operation: str | None = None
    content: msgspec.Raw = NULL


_decode = msgspec.json.Decoder(Row).decode
_decode_output = msgspec.json.Decoder(str | list[Inner] | None).decode
_decode_any = msgspec.json.Decoder().decode


class BadLine(Exception):
    """Raised for a line that is not a row."""


def row_of(line: bytes) -> Row:
    """Decodes a line.

    :raises BadLine: when it is not a JSON object, or has a form that no version writes.
    """
    try:
        return _decode(line)
    except DAMAGE:
        found = decode_object(line)
    if found is None:
        raise BadLine
    if (row := salvaged(found, Row)) is None:
        raise BadLine
    return row


def input_of(block: Block) -> Any:
    """Returns what a tool was given; None where it is damaged."""
    try:
        return _decode_any(block.input)
    except DAMAGE:
        return decode_value(block.input)


def output_of(block: Block) -> str:
    """Returns the text that a tool returned; "" where it has another form."""
    found: str | list[Inner] | None
    try:
        found = _decode_output(block.content)
    except DAMAGE:
        mended = salvaged({"content": decode_value(block.content)}, Output)
        found = mended.content if mended is not None else None
    if isinstance(found, list):
        return "".join(inner.text or "" for inner in found)
    return found or ""


def title_of(row: Row) -> str | None:
    """Returns the title in a row of one of the kinds that have one."""
    return row.custom_title or row.ai_title or row.title or row.summary


def named_in(meta: CompactMetadata) -> set[str]:
    """Returns the uuids of the rows that a boundary lists as kept."""
    preserved = meta.preserved_messages
    return {*preserved.uuids, *preserved.all_uuids} if preserved is not None else set()
