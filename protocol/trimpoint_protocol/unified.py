"""Sessions of all agents in one form: the records of docs/session-logs.md. Names are in snake_case,
as seen in files.

As NDJSON: one `session`, then `message`, `boundary`, `clear`, `rewind` and `usage` records as they
are known, one `end`. A boundary may stand behind messages that come after it, because what it says
is known later; `after_message_index` says where it belongs. As one document: `Document`.
"""

from typing import Any, Literal

import msgspec

__all__ = [
    "FORMAT_VERSION",
    "Agent",
    "Attachment",
    "Boundary",
    "BoundaryRecord",
    "Clear",
    "ClearKind",
    "ClearRecord",
    "Compaction",
    "Document",
    "End",
    "EndRecord",
    "Evidence",
    "Form",
    "Lineage",
    "Message",
    "MessageRecord",
    "Record",
    "Rewind",
    "RewindRecord",
    "Session",
    "SessionRecord",
    "SessionUsage",
    "SourceRef",
    "ToolCall",
    "ToolResult",
    "ToolResultClear",
    "ToolResultClearRecord",
    "Trigger",
    "Usage",
    "UsageRecord",
]

Agent = Literal["codex", "claude", "gemini", "trimpoint"]
Trigger = Literal["manual", "auto", "manual_partial"]
ClearKind = Literal["clear", "new", "clear_or_new", "rewind_all"]
FORMAT_VERSION = 1


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """Shared convention: snake_case members, all of them always there."""


class SourceRef(Form, frozen=True, kw_only=True):
    """Where something stands: a file by its name, and a line counted from 1."""

    file: str
    line: int


class Lineage(Form, frozen=True, kw_only=True):
    """What the session came from, by session id. `segment_of`: it goes on in another file of this
    one after a rewind.
    """

    forked_from: str | None = None
    cleared_from: str | None = None
    parent: str | None = None
    segment_of: str | None = None


class Evidence(Form, frozen=True, kw_only=True):
    """A fact that a conclusion rests on; `kind` names the rule, `detail` is for people."""

    kind: str
    detail: str


class Attachment(Form, frozen=True, kw_only=True):
    """A file beside the session that says something of it, such as a session-memory file. Never
    taken for a summary.
    """

    kind: str
    path: str
    bytes: int


class Session(Form, frozen=True, kw_only=True):
    """The session itself. `title` was given to it; `first_prompt` is the beginning of what was said
    first.
    """

    id: str
    agent: Agent
    title: str | None
    first_prompt: str | None
    cwd: str | None
    created_at: str | None
    updated_at: str | None
    model: str | None
    agent_version: str | None
    git_branch: str | None
    files: list[str]
    lineage: Lineage
    attachments: list[Attachment] = []


class Usage(Form, frozen=True, kw_only=True):
    """Tokens. `input_tokens` are all of the input; cached ones are part of it."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0


class ToolCall(Form, frozen=True, kw_only=True):
    """A call of a tool. `arguments` is the object where it is one, else the text."""

    id: str | None
    name: str
    arguments: Any


class ToolResult(Form, frozen=True, kw_only=True):
    """What a tool answered. `call_message_index` is of the message with the call, null where that
    is not in the log.
    """

    call_id: str | None
    output: str
    is_error: bool | None = None
    call_message_index: int | None = None


class Message(Form, frozen=True, kw_only=True):
    """One message, in the order of the log; replaced and taken back ones are there too.

    `role`: user | assistant | developer | system | tool. `kind`: prompt | answer | reasoning |
    tool_call | tool_result | summary | preamble | command | notice | other. `active`: in what the
    model sees next. `branch`: 0, or the number of the rewind that took it back. `synthetic`: no row
    of its own stands in the log. `compacted_at`: when a boundary took it out, null for what is
    active. `inherited`: copied or referred to from the session that this one was forked from.
    `omitted` names what was left out while reading, such as image data.
    """

    index: int
    id: str | None
    role: str
    kind: str
    text: str
    timestamp: str | None
    active: bool
    branch: int
    synthetic: bool
    compacted_at: str | None
    source_ref: SourceRef
    tool_calls: list[ToolCall] = []
    tool_results: list[ToolResult] = []
    thoughts: str | None = None
    usage: Usage | None = None
    model: str | None = None
    phase: str | None = None
    sidechain: bool = False
    inherited: bool = False
    omitted: list[str] = []


class Boundary(Form, frozen=True, kw_only=True):
    """Where a compaction replaced messages by a summary.

    `after_message_index`: the last message before it in the log, -1 for none. `summary` is null
    where it was encrypted (`summary_encrypted`) or is not in the log. `pre_tokens` and
    `post_tokens` are as reported; null where nothing reported them. `post_tokens_estimated`: the
    agent itself estimated it. `trigger_source` and `phase` say how the trigger is known and when in
    a turn it was. `summary_message_index` is null where the summary has no row of its own.
    """

    after_message_index: int
    uuid: str
    trigger: Trigger | None
    pre_tokens: int | None
    summary: str | None
    replaced_message_indices: list[int]
    post_tokens: int | None = None
    trigger_source: str | None = None
    phase: str | None = None
    kept_message_indices: list[int] = []
    summary_message_index: int | None = None
    summary_encrypted: bool = False
    source_ref: SourceRef | None = None
    timestamp: str | None = None
    post_tokens_estimated: bool = False
    inherited: bool = False
    undone: bool = False


class Clear(Form, frozen=True, kw_only=True):
    """Where a person began anew with an empty context. `confidence` is 0 to 1, `evidence` what it
    rests on.
    """

    after_message_index: int
    timestamp: str | None
    kind: ClearKind
    from_session: str | None
    to_session: str | None
    confidence: float
    evidence: list[Evidence]


class Rewind(Form, frozen=True, kw_only=True):
    """Where messages were taken back. `after_message_index`: the last message of the log before
    that; `to_message_index`: the last one that stayed, -1 for none. `branch` is the number that the
    dropped messages carry.
    """

    after_message_index: int
    to_message_index: int
    timestamp: str | None
    dropped_message_indices: list[int]
    branch: int
    source_ref: SourceRef | None = None


class ToolResultClear(Form, frozen=True, kw_only=True):
    """Where results of tools were taken out of the context and the calls stayed. No boundary."""

    after_message_index: int
    timestamp: str | None
    trigger: str | None
    pre_tokens: int | None
    tokens_saved: int | None
    call_ids: list[str]


class End(Form, frozen=True, kw_only=True):
    """Counts. `digest` is the SHA-256 of the records before this one, as they stand in NDJSON.
    `unparsed` counts damaged lines, `unknown` rows by kind that the reader does not know; both were
    passed over. `duplicates` counts rows that were there before.
    """

    messages: int
    active_messages: int
    turns: int
    boundaries: int
    clears: int
    rewinds: int
    lines: int
    unparsed: int
    duplicates: int
    pending: bool
    unknown: dict[str, int]
    notes: list[str]
    digest: str


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="session"):
    """The first record; `version` is that of this form."""

    session: Session
    version: int = FORMAT_VERSION


class MessageRecord(Message, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """A `Message`."""


class BoundaryRecord(Boundary, frozen=True, kw_only=True, tag_field="type", tag="boundary"):
    """A `Boundary`."""


class ClearRecord(Clear, frozen=True, kw_only=True, tag_field="type", tag="clear"):
    """A `Clear`."""


class RewindRecord(Rewind, frozen=True, kw_only=True, tag_field="type", tag="rewind"):
    """A `Rewind`."""


class ToolResultClearRecord(
    ToolResultClear, frozen=True, kw_only=True, tag_field="type", tag="tool_result_clear"
):
    """A `ToolResultClear`."""


class SessionUsage(Usage, frozen=True, kw_only=True):
    """What the session's own model calls used, without what a fork copied from its origin."""

    calls: int = 0


class UsageRecord(SessionUsage, frozen=True, kw_only=True, tag_field="type", tag="usage"):
    """A `SessionUsage`."""


class EndRecord(End, frozen=True, kw_only=True, tag_field="type", tag="end"):
    """An `End`."""


Record = (
    SessionRecord
    | MessageRecord
    | BoundaryRecord
    | ClearRecord
    | RewindRecord
    | ToolResultClearRecord
    | UsageRecord
    | EndRecord
)


class Compaction(Form, frozen=True, kw_only=True):
    """The boundaries, in the order of the log."""

    boundaries: list[Boundary]


class Document(Form, frozen=True, kw_only=True):
    """A session as one JSON document."""

    type: Literal["session"]
    session: Session
    messages: list[Message]
    compaction: Compaction
    context_clears: list[Clear]
    rewinds: list[Rewind]
    tool_result_clears: list[ToolResultClear]
    lineage: Lineage
    usage: SessionUsage
    end: End
