"""The unified form of sessions of all agents: the records of docs/session-logs.md. Names are in
snake_case, as in files.

As NDJSON: one `session`, then `message`, `boundary`, `clear`, `rewind` and `usage` records as soon
as they are known, one `end`. A boundary may come after messages that follow it in the log, because
its details are known later; `after_message_index` gives its place. As one JSON document:
`Document`.
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
    """The convention of the records: snake_case members, all of them always present."""


class SourceRef(Form, frozen=True, kw_only=True):
    """A place in a log: the name of the file, and a line counted from 1."""

    file: str
    line: int


class Lineage(Form, frozen=True, kw_only=True):
    """The session that this one came from, by id. `segment_of`: this file continues that session
    after a rewind.
    """

    forked_from: str | None = None
    cleared_from: str | None = None
    parent: str | None = None
    segment_of: str | None = None


class Evidence(Form, frozen=True, kw_only=True):
    """A fact that a conclusion is based on; `kind` names the rule, `detail` is for people."""

    kind: str
    detail: str


class Attachment(Form, frozen=True, kw_only=True):
    """A file beside the session that is about it, such as a session-memory file. It is never taken
    for a summary.
    """

    kind: str
    path: str
    bytes: int


class Session(Form, frozen=True, kw_only=True):
    """A session. `title` is the name that it was given; `first_prompt` is the beginning of its
    first prompt.
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
    """Tokens. `input_tokens` includes cached ones."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0


class ToolCall(Form, frozen=True, kw_only=True):
    """A call of a tool. `arguments` is the decoded object, or the text where it is not one."""

    id: str | None
    name: str
    arguments: Any


class ToolResult(Form, frozen=True, kw_only=True):
    """The result of a tool call. `call_message_index` is the message with the call, null where that
    is not in the log.
    """

    call_id: str | None
    output: str
    is_error: bool | None = None
    call_message_index: int | None = None


class Message(Form, frozen=True, kw_only=True):
    """One message, in the order of the log; messages that were replaced or taken back are included.

    `role`: user | assistant | developer | system | tool. `kind`: prompt | answer | reasoning |
    tool_call | tool_result | summary | preamble | command | notice | other. `active`: the model
    sees it next. `branch`: 0, or the number of the rewind that took it back. `synthetic`: it has no
    row of its own in the log. `compacted_at`: when a boundary took it out, null while it is active.
    `inherited`: copied or referred to from the session that this one was forked from. `omitted`
    names parts that were left out while reading, such as image data.
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
    """A compaction: a summary replaced messages.

    `after_message_index`: the last message before it in the log, -1 for none. `summary` is null
    where it was encrypted (`summary_encrypted`) or is not in the log. `pre_tokens` and
    `post_tokens` are the reported sizes of the context, null where nothing reported them.
    `post_tokens_estimated`: the agent itself estimated `post_tokens`. `trigger_source` and `phase`
    say how the trigger is known and when in a turn the compaction ran. `summary_message_index` is
    null where the summary has no row of its own.
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
    """A restart with an empty context. `confidence` is 0 to 1, and `evidence` lists what it is
    based on.
    """

    after_message_index: int
    timestamp: str | None
    kind: ClearKind
    from_session: str | None
    to_session: str | None
    confidence: float
    evidence: list[Evidence]


class Rewind(Form, frozen=True, kw_only=True):
    """Messages that were taken back. `after_message_index`: the last message of the log before the
    rewind; `to_message_index`: the last one that stayed, -1 for none. `branch` is the number that
    the dropped messages have.
    """

    after_message_index: int
    to_message_index: int
    timestamp: str | None
    dropped_message_indices: list[int]
    branch: int
    source_ref: SourceRef | None = None


class ToolResultClear(Form, frozen=True, kw_only=True):
    """Results of tools that were taken out of the context while the calls stayed. It is not a
    boundary.
    """

    after_message_index: int
    timestamp: str | None
    trigger: str | None
    pre_tokens: int | None
    tokens_saved: int | None
    call_ids: list[str]


class End(Form, frozen=True, kw_only=True):
    """The counts of a session. `digest` is the SHA-256 of the records before this one, as NDJSON.
    `unparsed` counts damaged lines, `unknown` rows by kind that the reader does not know; both were
    skipped. `duplicates` counts repeated rows.
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
    """The first record, the session; `version` is that of the unified form."""

    session: Session
    version: int = FORMAT_VERSION


class MessageRecord(Message, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """A record that is a `Message`."""


class BoundaryRecord(Boundary, frozen=True, kw_only=True, tag_field="type", tag="boundary"):
    """A record that is a `Boundary`."""


class ClearRecord(Clear, frozen=True, kw_only=True, tag_field="type", tag="clear"):
    """A record that is a `Clear`."""


class RewindRecord(Rewind, frozen=True, kw_only=True, tag_field="type", tag="rewind"):
    """A record that is a `Rewind`."""


class ToolResultClearRecord(
    ToolResultClear, frozen=True, kw_only=True, tag_field="type", tag="tool_result_clear"
):
    """A record that is a `ToolResultClear`."""


class SessionUsage(Usage, frozen=True, kw_only=True):
    """The tokens of the session's own model calls, without those that a fork copied from its
    origin.
    """

    calls: int = 0


class UsageRecord(SessionUsage, frozen=True, kw_only=True, tag_field="type", tag="usage"):
    """A record that is a `SessionUsage`."""


class EndRecord(End, frozen=True, kw_only=True, tag_field="type", tag="end"):
    """A record that is an `End`."""


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
    """The boundaries of a session, in the order of the log."""

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
