"""The rows of a rollout, and how a line is decoded. Pure.

Members that are not declared here are skipped without decoding: image data, world states,
instructions.
"""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from trimpoint.sessionlogs.text.lenient import convert_or_none, decode_object, salvaged

S = TypeVar("S", bound=msgspec.Struct)

# The beginning of a line as Codex writes it. Lines that begin in another way are decoded to find
# their kind.
match_head = re.compile(
    rb'\{"timestamp":"([^"]*+)",(?:"ordinal":\d++,)?+"type":"([^"]++)",'
    rb'"payload":\{(?:"type":"(\w++)"(?:,"id":"([^"]*+)"(?:,"role":"([^"]++)")?+)?+)?+'
).match
# Kinds of rows that say nothing that is read; those of the second line are events.
SKIPPED = frozenset(
    {
        b"world_state", b"thread_settings_applied", b"retained_context",
        b"inter_agent_communication", b"inter_agent_communication_metadata",
        b"security_risk_score", b"realtime_item", b"ghost_snapshot",
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
    """One line. In the first format a line is the item itself, so the members of `payload` are
    beside `type`.
    """

    type: str = ""
    timestamp: str | None = None
    ordinal: int | None = None
    payload: msgspec.Raw = msgspec.Raw(b"{}")
    metadata: "ItemMetadata | None" = None


class ItemMetadata(msgspec.Struct):
    """Codex's metadata of an item."""

    compaction_output: bool | None = None


class Part(msgspec.Struct):
    """A part of a message's content. Image data is not read."""

    type: str = ""
    text: str | None = None


class Passthrough(msgspec.Struct):
    """The authors of the parts of a message."""

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
    """Token counts of Codex."""

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
    model_context_window: int | None = None


class Event(msgspec.Struct):
    """An event; only some kinds are read."""

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
    """The file that a file continues, and the position in it."""

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
    source: Any = None
    forked_from_id: str | None = None
    forked_from_ordinal_exclusive: int | None = None
    history_base: HistoryBase | None = None
    git: Git | None = None
    model: str | None = None


class HistoryEntry(msgspec.Struct):
    """An entry of a replacement in some versions: the item itself, or a reference to one."""

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


_EVENTS = frozenset(kind.encode() for kind in EVENTS)


class ItemRow(msgspec.Struct):
    """A row with a response item, decoded in one step."""

    payload: Item
    timestamp: str | None = None
    ordinal: int | None = None
    metadata: ItemMetadata | None = None


class EventRow(msgspec.Struct):
    """A row with an event, decoded in one step."""

    payload: Event
    timestamp: str | None = None
    ordinal: int | None = None


class ContextRow(msgspec.Struct):
    """A row with the context of a turn, decoded in one step."""

    payload: TurnContext
    timestamp: str | None = None
    ordinal: int | None = None


class UsageRow(msgspec.Struct):
    """A row with the usage of a call, decoded in one step."""

    payload: UsageOfCall
    timestamp: str | None = None
    ordinal: int | None = None


class BadLine(Exception):
    """Raised for a line that is not a row."""


_decode_row = msgspec.json.Decoder(Row).decode


def can_be_skipped(kind: bytes, payload_kind: bytes | None) -> bool:
    """Returns whether rows of this kind can be skipped without decoding."""
    if kind == b"event_msg":
        return payload_kind is not None and payload_kind not in _EVENTS
    return kind in SKIPPED


def row_of(line: bytes) -> Row:
    """Decodes a line.

    :raises BadLine: when it is not a JSON object.
    """
    try:
        return _decode_row(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return mended_row(line)


def mended_row(line: bytes) -> Row:
    """Decodes a line with damage inside its strings.

    :raises BadLine: when it is not a JSON object.
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
    """Returns the thread that started this one, if it is a sub-agent's; otherwise None."""
    match source:
        case {"subagent": {"thread_spawn": {"parent_thread_id": str(parent)}}}:
            return parent
        case _:
            return None


def nickname_of(source: Any) -> str | None:
    """Returns the name of the sub-agent that ran this thread, or None. In some versions no prompt
    says what its task is (measured: 0.145).
    """
    match source:
        case {"subagent": {"thread_spawn": {"agent_nickname": str(nickname)}}}:
            return nickname
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
    """Decodes a frequent row other than an item in one step; None for any other row."""
    decode = _DECODE_BESIDE.get(kind)
    try:
        return decode(line) if decode is not None else None
    except BROKEN:
        return None


def is_only_counted(head: re.Match[bytes], line: bytes) -> bool:
    """Returns whether the first reading only needs the position of an item: of items that are not
    messages, and of answers that are not summaries.
    """
    kind = head[3]
    if kind is None or b"\\" in head[0]:
        return False
    if kind != b"message":
        return True
    return head[5] == b"assistant" and _COMPACTION_OUTPUT not in line


def _decoder(kind: type[S]) -> Callable[[msgspec.Raw], S]:
    """Returns a function that decodes a payload and leaves out members of another type."""
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
