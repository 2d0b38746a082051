"""Translates Codex's notifications about one turn to updates."""

from collections.abc import Callable
from typing import Any

import msgspec
from trimpoint_protocol.lenient import Json, as_dict, as_dicts, as_list, as_text

from trimpoint.acp.translate.diffs import ReadFile
from trimpoint.acp.translate.items import COMMAND, tool_call_of
from trimpoint.acp.translate.outputs import Output
from trimpoint.acp.wire.capabilities import Capabilities
from trimpoint.acp.wire.content import Text, ToolCall
from trimpoint.acp.wire.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Compaction,
    Plan,
    PlanEntry,
    PlanStatus,
    ToolCallChanged,
    ToolCallStarted,
    Update,
)

_STEP_STATUS: dict[str, PlanStatus] = {"inProgress": "in_progress", "completed": "completed"}


class TurnTranslator:
    """The translator of one turn. `closed` ends it."""

    def __init__(self, capabilities: Capabilities, read_file: ReadFile) -> None:
        self._capabilities = capabilities
        self._read_file = read_file
        self._streamed: set[str] = set()
        self._open: dict[str, ToolCall] = {}
        self._outputs: dict[str, Output] = {}
        self._compactions: set[str] = set()
        self._readers: dict[str, Callable[[Json], list[Update]]] = {
            "item/started": self._started,
            "item/completed": self._completed,
            "item/agentMessage/delta": self._message_delta,
            "item/plan/delta": self._message_delta,
            "item/reasoning/summaryTextDelta": self._thought_delta,
            "item/reasoning/textDelta": self._thought_delta,
            "item/reasoning/summaryPartAdded": self._thought_part,
            "item/commandExecution/outputDelta": self._output,
            "item/fileChange/patchUpdated": self._patch,
            "item/mcpToolCall/progress": self._mcp_progress,
            "turn/plan/updated": self._plan,
            "item/autoApprovalReview/started": self._review_started,
            "item/autoApprovalReview/completed": self._review_completed,
        }

    @property
    def has_pending_output(self) -> bool:
        """Returns whether commands have printed something that `flush_outputs` has not shown
        yet.
        """
        return any(output.is_pending for output in self._outputs.values())

    def read(self, method: str, params: Json) -> list[Update]:
        """Returns the updates for a notification of the turn; none for an unknown one."""
        reader = self._readers.get(method)
        return reader(params) if reader is not None else []

    def flush_outputs(self) -> list[Update]:
        """Returns the updates that show what commands have printed since the last call."""
        pending = [
            (call_id, output) for call_id, output in self._outputs.items() if output.is_pending
        ]
        return [
            ToolCallChanged(tool_call_id=call_id, **output.progress())
            for call_id, output in pending
        ]

    def tool_call(self, item_id: str) -> ToolCall | None:
        """Returns the complete open tool call of an item, or None; used for a question about it."""
        return self._open.get(item_id)

    def waiting(self, item_id: str) -> list[Update]:
        """Returns the update that marks a tool call as waiting for the person."""
        return self._with_status(item_id, "pending")

    def going_on(self, item_id: str) -> list[Update]:
        """Returns the update that marks a tool call as running again."""
        return self._with_status(item_id, "in_progress")

    def closed(self) -> list[Update]:
        """Returns the updates that end all open tool calls, for example after an interrupt."""
        updates = self.flush_outputs()
        for call_id, output in self._outputs.items():
            updates += [
                ToolCallChanged(tool_call_id=call_id, **one)
                for one in output.final(None, None)
                if "meta" in one
            ]
        updates += [
            ToolCallChanged(tool_call_id=call_id, status="failed") for call_id in self._open
        ]
        if self._capabilities.compaction:
            updates += [
                Compaction(compaction_id=one, status="cancelled")
                for one in sorted(self._compactions)
            ]
        self._open, self._outputs, self._compactions = {}, {}, set()
        return updates

    def _with_status(self, item_id: str, status: Any) -> list[Update]:
        call = self._open.get(item_id)
        if call is None or call.status == status:
            return []
        self._open[item_id] = msgspec.structs.replace(call, status=status)
        return [ToolCallChanged(tool_call_id=item_id, status=status)]

    def _started(self, params: Json) -> list[Update]:
        item = as_dict(params.get("item"))
        if item.get("type") == "contextCompaction":
            return self._compacting(as_text(item.get("id")), "in_progress")
        waits = item.get("type") == COMMAND and item.get("processId") is None
        call = tool_call_of(item, self._read_file, waits=waits)
        return [] if call is None else self._open_call(item, call)

    def _open_call(self, item: Json, call: ToolCall) -> list[Update]:
        if item.get("type") == COMMAND:
            in_terminal = self._capabilities.terminal_output
            output = Output(call.tool_call_id, as_text(item.get("cwd")), in_terminal=in_terminal)
            self._outputs[call.tool_call_id] = output
            call = msgspec.structs.replace(call, **output.opened())
        self._open[call.tool_call_id] = msgspec.structs.replace(call, meta=None)
        return [_as(ToolCallStarted, call)]

    def _completed(self, params: Json) -> list[Update]:
        item = as_dict(params.get("item"))
        item_id = as_text(item.get("id"))
        match item.get("type"):
            case "agentMessage" | "plan":
                return self._whole_message(item, item_id)
            case "exitedReviewMode":
                return [
                    *self._end_reviews(),
                    *self._whole_message({"text": item.get("review")}, item_id),
                ]
            case "reasoning":
                return self._whole_thought(item, item_id)
            case "contextCompaction":
                return self._compacting(item_id, "completed")
            case _:
                return self._completed_call(item, item_id)

    def _completed_call(self, item: Json, item_id: str) -> list[Update]:
        before = self._open.pop(item_id, None)
        # A change that is made cannot be read from the file anymore; its diffs were made before.
        call = tool_call_of(item, self._read_file if before is None else lambda path: None)
        if call is None:
            return []
        if before is None:
            return [_as(ToolCallStarted, call)]
        output = self._outputs.pop(item_id, None)
        if output is not None:
            return self._ended_command(item, call, output)
        if item.get("type") == "fileChange" and before.content:
            call = msgspec.structs.replace(call, content=None, locations=None)
        return [_as(ToolCallChanged, _changed(before, call))]

    def _ended_command(self, item: Json, call: ToolCall, output: Output) -> list[Update]:
        whole = item.get("aggregatedOutput")
        exit_code = item.get("exitCode")
        parts = output.final(
            whole if isinstance(whole, str) else None,
            exit_code if isinstance(exit_code, int) else None,
        )
        *shown, last = parts
        updates: list[Update] = [
            ToolCallChanged(tool_call_id=call.tool_call_id, **one) for one in shown
        ]
        ended = ToolCall(
            tool_call_id=call.tool_call_id, status=call.status, raw_output=call.raw_output, **last
        )
        return [*updates, _as(ToolCallChanged, ended)]

    def _message_delta(self, params: Json) -> list[Update]:
        item_id = as_text(params.get("itemId"))
        self._streamed.add(item_id)
        return _chunk(AgentMessageChunk, item_id, as_text(params.get("delta")))

    def _whole_message(self, item: Json, item_id: str) -> list[Update]:
        if item_id in self._streamed:
            return []
        return _chunk(AgentMessageChunk, item_id, as_text(item.get("text")))

    def _thought_delta(self, params: Json) -> list[Update]:
        item_id = as_text(params.get("itemId"))
        self._streamed.add(item_id)
        return _chunk(AgentThoughtChunk, item_id, as_text(params.get("delta")))

    def _thought_part(self, params: Json) -> list[Update]:
        item_id = as_text(params.get("itemId"))
        return _chunk(AgentThoughtChunk, item_id, "\n\n") if item_id in self._streamed else []

    def _whole_thought(self, item: Json, item_id: str) -> list[Update]:
        return (
            []
            if item_id in self._streamed
            else _chunk(AgentThoughtChunk, item_id, thought_in(item))
        )

    def _output(self, params: Json) -> list[Update]:
        item_id = as_text(params.get("itemId"))
        output = self._outputs.get(item_id)
        if output is None:
            return []
        output.add(as_text(params.get("delta")))
        return self.going_on(item_id)

    def _patch(self, params: Json) -> list[Update]:
        item_id = as_text(params.get("itemId"))
        before = self._open.get(item_id)
        item = {
            "type": "fileChange",
            "id": item_id,
            "changes": params.get("changes"),
            "status": "inProgress",
        }
        call = tool_call_of(item, self._read_file)
        if before is None or call is None:
            return []
        changed = msgspec.structs.replace(call, status=before.status)
        self._open[item_id] = changed
        return [_as(ToolCallChanged, changed)]

    def _mcp_progress(self, params: Json) -> list[Update]:
        item_id = as_text(params.get("itemId"))
        message = as_text(params.get("message"))
        call = self._open.get(item_id)
        return (
            []
            if call is None or not message
            else [ToolCallChanged(tool_call_id=item_id, title=f"{call.name}: {message}")]
        )

    def _plan(self, params: Json) -> list[Update]:
        steps = as_dicts(params.get("plan"))
        entries = [
            PlanEntry(
                content=as_text(step.get("step")),
                priority="medium",
                status=_STEP_STATUS.get(as_text(step.get("status")), "pending"),
            )
            for step in steps
        ]
        return [Plan(entries=entries)]

    def _review_started(self, params: Json) -> list[Update]:
        call = ToolCall(
            tool_call_id=as_text(params.get("reviewId")),
            title="Automatic review",
            kind="think",
            status="in_progress",
        )
        self._open[call.tool_call_id] = call
        return [_as(ToolCallStarted, call)]

    def _review_completed(self, params: Json) -> list[Update]:
        review_id = as_text(params.get("reviewId"))
        if self._open.pop(review_id, None) is None:
            return []
        verdict = as_text(as_dict(params.get("review")).get("status"))
        title = f"Automatic review: {verdict}" if verdict else None
        return [ToolCallChanged(tool_call_id=review_id, title=title, status="completed")]

    def _end_reviews(self) -> list[Update]:
        ended = [
            call_id
            for call_id, call in self._open.items()
            if call.kind == "think" and call.title == "Review"
        ]
        for call_id in ended:
            del self._open[call_id]
        return [ToolCallChanged(tool_call_id=call_id, status="completed") for call_id in ended]

    def _compacting(self, compaction_id: str, status: Any) -> list[Update]:
        if status == "in_progress":
            self._compactions.add(compaction_id)
        else:
            self._compactions.discard(compaction_id)
        return compaction_updates(
            self._capabilities, compaction_id, status, "Codex summarizes the conversation …"
        )


def compaction_updates(
    capabilities: Capabilities, compaction_id: str, status: Any, text: str
) -> list[Update]:
    """Returns the updates that show a compaction: as an entity if the editor supports it, otherwise
    as a line of text when it starts.
    """
    if capabilities.compaction:
        return [Compaction(compaction_id=compaction_id, status=status)]
    return _chunk(AgentThoughtChunk, compaction_id, text) if status == "in_progress" else []


def thought_in(item: Json) -> str:
    """Returns the text of a reasoning item: its summary, or else its content."""
    parts = as_list(item.get("summary")) or as_list(item.get("content"))
    return "\n\n".join(part for part in parts if isinstance(part, str))


def _chunk(kind: Callable[..., Update], message_id: str, text: str) -> list[Update]:
    return [kind(content=Text(text=text), message_id=message_id)] if text else []


def _changed(before: ToolCall, after: ToolCall) -> ToolCall:
    """Returns `after` with only those members that differ from `before`."""
    same = [
        name
        for name in ToolCall.__struct_fields__
        if name != "tool_call_id" and getattr(after, name) == getattr(before, name)
    ]
    return msgspec.structs.replace(after, **dict.fromkeys(same))


def _as(kind: Callable[..., Update], call: ToolCall) -> Update:
    return kind(**{name: getattr(call, name) for name in ToolCall.__struct_fields__})
