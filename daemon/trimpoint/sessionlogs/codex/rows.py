"""The rows of a rollout, as far as they are read, and how one line becomes a row. Pure.

What is not declared here is skipped without being decoded: image data, world states, instructions.
"""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from trimpoint.sessionlogs.text.lenient import convert_or_none, decode_object, salvaged

S = TypeVar("S", bound=msgspec.Struct)

# The beginning of a line as Codex writes it. Lines that begin in another way are decoded to find
# their kind.
HEAD = re.compile(
    rb'\{"timestamp":"([^"\\]*)",(?:"ordinal":\d+,)?"type":"(\w+)",'
    rb'"payload":\{(?:"type":"(\w+)"(?:,"id":"([^"\\]*)"(?:,"role":"(\w+)")?)?)?'
)
# Kinds of rows that say nothing that is read; those of the second line are events.
SKIPPED = frozenset(
    {
        "world_state", "thread_settings_applied", "retained_context", "inter_agent_communication",
        "inter_agent_communication_metadata", "security_risk_score", "realtime_item",
        "ghost_snapshot",
    }
)  # fmt: skip
EVENTS = frozenset(
    {
        "task_started",
        "task_complete",
        "turn_started",
        "turn_complete",
        "turn_aborted",
        "token_count",
        "thread_rolled_back",
    }
)
ROWS = frozenset(
    {
        "session_meta",
        "response_item",
        "compacted",
        "turn_context",
        "token_usage_record",
        "event_msg",
    }
)


NULL = msgspec.Raw(b"null")


class Row(msgspec.Struct):
    """One line. Of the first age, a line is the item itself, so what is in `payload` later stands
    beside `type`.
    """

    type: str = ""
    timestamp: str | None = None
    ordinal: int | None = None
    payload: msgspec.Raw = msgspec.Raw(b"{}")
    metadata: "ItemMetadata | None" = None


class ItemMetadata(msgspec.Struct):
    """Codex's notes beside an item."""

    compaction_output: bool | None = None


class Part(msgspec.Struct):
    """A part of a message's content. Image data is not read."""

    type: str = ""
    text: str | None = None


class Passthrough(msgspec.Struct):
    """The authors of a message's parts."""

    content_item_kinds: list[str] | None = None
    turn_id: str | None = None


class Item(msgspec.Struct):
    """A response item of any type."""

    type: str = "message"
    id: str | None = None
    role: str | None = None
    content: list[Part] | str | None = None
    summary: list[Part] | str | None = None
    name: str | None = None
    arguments: Any = None
    call_id: str | None = None
    output: Any = None
    input: Any = None
    action: Any = None
    status: Any = None
    phase: str | None = None
    encrypted_content: msgspec.Raw = NULL
    internal_chat_message_metadata_passthrough: Passthrough | None = None


class Tokens(msgspec.Struct):
    """Tokens as Codex counts them."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0


class TokenInfo(msgspec.Struct):
    """Of `token_count`."""

    total_token_usage: Tokens = msgspec.field(default_factory=Tokens)
    last_token_usage: Tokens = msgspec.field(default_factory=Tokens)


class Event(msgspec.Struct):
    """The events that are read."""

    type: str = ""
    turn_id: str | None = None
    turn_attribution: msgspec.Raw = NULL
    info: TokenInfo | None = None
    num_turns: int = 0


class UsageOfCall(msgspec.Struct):
    """`token_usage_record`: one for each answer of the model."""

    response_id: str | None = None
    usage: Tokens = msgspec.field(default_factory=Tokens)


class TurnContext(msgspec.Struct):
    """`turn_context`."""

    model: str | None = None
    cwd: str | None = None


class HistoryBase(msgspec.Struct):
    """The file that a file goes on from, and up to where."""

    thread_id: str
    end_ordinal_exclusive: int


class Git(msgspec.Struct):
    """The state of the work tree."""

    branch: str | None = None


class Meta(msgspec.Struct):
    """`session_meta`."""

    id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    cli_version: str | None = None
    originator: str | None = None
    source: Any = None
    history_mode: str | None = None
    forked_from_id: str | None = None
    forked_from_ordinal_exclusive: int | None = None
    history_base: HistoryBase | None = None
    git: Git | None = None
    model: str | None = None


class HistoryEntry(msgspec.Struct):
    """A replacement as some versions wrote it: the item itself, or a reference to one."""

    type: str = ""
    item: Item | None = None
    item_id: str | None = None


class Compacted(msgspec.Struct):
    """`compacted`."""

    message: str | None = None
    replacement_history: list[Item] | None = None
    replacement_history_entries: list[HistoryEntry] | None = None
    window_id: Any = None
    compaction_response_id: str | None = None


_SKIPPED = frozenset(kind.encode() for kind in SKIPPED)
_EVENTS = frozenset(kind.encode() for kind in EVENTS)


class ItemRow(msgspec.Struct):
    """A row with a response item, decoded in one go."""

    payload: Item
    timestamp: str | None = None
    ordinal: int | None = None
    metadata: ItemMetadata | None = None


class EventRow(msgspec.Struct):
    """A row with an event, decoded in one go."""

    payload: Event
    timestamp: str | None = None
    ordinal: int | None = None


class ContextRow(msgspec.Struct):
    """A row with the context of a turn, decoded in one go."""

    payload: TurnContext
    timestamp: str | None = None
    ordinal: int | None = None


class UsageRow(msgspec.Struct):
    """A row with what a call used, decoded in one go."""

    payload: UsageOfCall
    timestamp: str | None = None
    ordinal: int | None = None


class BadLine(Exception):
    """The line is no row."""


_decode_row = msgspec.json.Decoder(Row).decode


def says_nothing(kind: bytes, payload_kind: bytes | None) -> bool:
    """Returns whether rows of this kind can be skipped without decoding."""
    if kind == b"event_msg":
        return payload_kind is not None and payload_kind not in _EVENTS
    return kind in _SKIPPED


def row_of(line: bytes) -> Row:
    """Decodes a line.

    :raises BadLine: it is no JSON object.
    """
    try:
        return _decode_row(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return mended_row(line)


def mended_row(line: bytes) -> Row:
    """Decodes a line that is damaged within its strings.

    :raises BadLine: it is no JSON object.
    """
    found = decode_object(line)
    if found is None:
        raise BadLine
    metadata, ordinal = found.get("metadata"), found.get("ordinal")
    return Row(
        type=str(found.get("type", "")),
        timestamp=found["timestamp"] if isinstance(found.get("timestamp"), str) else None,
        ordinal=ordinal if isinstance(ordinal, int) else None,
        payload=msgspec.Raw(msgspec.json.encode(found.get("payload", {}))),
        metadata=convert_or_none(metadata, ItemMetadata) if isinstance(metadata, dict) else None,
    )


def parent_of(source: Any) -> str | None:
    """Returns the thread that spawned this one, if it is a sub-agent's."""
    match source:
        case {"subagent": {"thread_spawn": {"parent_thread_id": str(parent)}}}:
            return parent
        case _:
            return None


# What decoding raises for a row of a shape that no version writes.
BROKEN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
decode_item_row = msgspec.json.Decoder(ItemRow).decode
_DECODE_BESIDE: dict[bytes, Callable[[bytes], EventRow | ContextRow | UsageRow]] = {
    b"event_msg": msgspec.json.Decoder(EventRow).decode,
    b"turn_context": msgspec.json.Decoder(ContextRow).decode,
    b"token_usage_record": msgspec.json.Decoder(UsageRow).decode,
}
# Stands in the row of an answer that is a summary.
_COMPACTION_OUTPUT = b'"compaction_output"'


def row_beside(line: bytes, kind: bytes) -> EventRow | ContextRow | UsageRow | None:
    """Decodes what each turn has beside items in one go; None if that is not to be done."""
    decode = _DECODE_BESIDE.get(kind)
    try:
        return decode(line) if decode is not None else None
    except BROKEN:
        return None


def is_only_counted(head: re.Match[bytes], line: bytes) -> bool:
    """Returns whether nothing that an item says is needed while a log is read for the first time:
    of what is no message, and of an answer that is no summary.
    """
    if head[3] != b"message":
        return True
    return head[5] == b"assistant" and _COMPACTION_OUTPUT not in line


def _decoder(kind: type[S]) -> Callable[[msgspec.Raw], S]:
    """Returns a function that decodes a payload, without those members that are something else."""
    decode = msgspec.json.Decoder(kind).decode

    def decoded(payload: msgspec.Raw) -> S:
        try:
            return decode(payload)
        except msgspec.ValidationError:
            found = salvaged(msgspec.json.decode(payload), kind)
            if found is None:
                raise
            return found

    return decoded


decode_item = _decoder(Item)
decode_event = _decoder(Event)
decode_usage = _decoder(UsageOfCall)
decode_context = _decoder(TurnContext)
decode_meta = _decoder(Meta)
