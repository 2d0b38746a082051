"""The kinds of `session/update`, distinguished by the member `sessionUpdate`."""

from typing import Any, Literal

import msgspec

from trimpoint.acp.wire.answers import ConfigOption
from trimpoint.acp.wire.content import AcpStruct, ContentBlock, ToolCall

PlanStatus = Literal["pending", "in_progress", "completed"]
CompactionStatus = Literal["in_progress", "completed", "failed", "cancelled"]


class UserMessageChunk(
    AcpStruct, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="user_message_chunk"
):
    """A part of a prompt; the parts of one message have the same id."""

    content: ContentBlock
    message_id: str | None = None


class AgentMessageChunk(
    AcpStruct, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="agent_message_chunk"
):
    """A part of an answer."""

    content: ContentBlock
    message_id: str | None = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class AgentThoughtChunk(
    AcpStruct, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="agent_thought_chunk"
):
    """A part of the agent's reasoning."""

    content: ContentBlock
    message_id: str | None = None


class ToolCallStarted(
    ToolCall, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call"
):
    """A new tool call."""


class ToolCallChanged(
    ToolCall, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call_update"
):
    """A change of a known tool call."""


class PlanEntry(AcpStruct, frozen=True, kw_only=True):
    """A step of a plan. Codex has no priorities."""

    content: str
    status: PlanStatus
    priority: Literal["medium"]


class Plan(AcpStruct, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="plan"):
    """The whole plan, which replaces the previous one."""

    entries: list[PlanEntry]


class CommandInput(AcpStruct, frozen=True, kw_only=True):
    """The hint for a command's argument."""

    hint: str


class AvailableCommand(AcpStruct, frozen=True, kw_only=True):
    """A slash command; `name` has no slash."""

    name: str
    description: str
    input: CommandInput | None = None


class AvailableCommands(
    AcpStruct, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="available_commands_update"
):
    """All slash commands."""

    available_commands: list[AvailableCommand]


class CurrentMode(
    AcpStruct, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="current_mode_update"
):
    """The mode after a change."""

    current_mode_id: str


class ConfigOptions(
    AcpStruct, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="config_option_update"
):
    """All options with their values, after one of them has changed."""

    config_options: list[ConfigOption]


class SessionInfo(
    AcpStruct, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="session_info_update"
):
    """The title of the session."""

    title: str


class Usage(AcpStruct, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="usage_update"):
    """How full the context is: `used` of `size` tokens."""

    used: int
    size: int
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class Notice(AcpStruct, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="notice"):
    """A message for the person that is not part of the conversation."""

    severity: Literal["info", "warning", "error"]
    title: str
    description: str | None = None


class Compaction(
    AcpStruct, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="compaction_update"
):
    """A trim of the context; an update with the same id replaces the earlier one."""

    compaction_id: str
    status: CompactionStatus
    summary: list[ContentBlock] | None = None
    error: str | None = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


Update = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStarted
    | ToolCallChanged
    | Plan
    | AvailableCommands
    | CurrentMode
    | ConfigOptions
    | SessionInfo
    | Usage
    | Notice
    | Compaction
)


class SessionUpdate(AcpStruct, frozen=True, kw_only=True):
    """The parameters of `session/update`."""

    session_id: str
    update: Update
