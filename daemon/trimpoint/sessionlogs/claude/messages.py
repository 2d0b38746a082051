"""Converts rows of Claude Code to messages of the unified form. Pure."""

import re
from typing import NamedTuple

import msgspec
from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.claude.rows import (
    NULL,
    Block,
    Message,
    Row,
    Usage,
    input_of,
    output_of,
)
from trimpoint.sessionlogs.content import Content
from trimpoint.sessionlogs.records import Records

SYNTHETIC_MODEL = "<synthetic>"
COMMANDS = ("<command-name>", "<command-message>")
NOTICES = (
    "<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>",
    "<task-notification>",
    "<bash-input>", "<bash-stdout>", "<system-reminder>", "[Request interrupted by user",
)  # fmt: skip


def text_of(message: Message | None) -> str:
    """Returns all text of a message."""
    content = message.content if message is not None else None
    if isinstance(content, str) or content is None:
        return content or ""
    if len(content) == 1:  # most rows have one block
        return (content[0].text or "") if content[0].type == "text" else ""
    return "".join(block.text or "" for block in content if block.type == "text")


def blocks_of(message: Message | None) -> list[Block]:
    """Returns the content blocks of a message; empty if its content is a text."""
    content = message.content if message is not None else None
    return content if isinstance(content, list) else []


def queued_in(row: Row) -> Message | None:
    """Returns the prompt that was typed while the model worked, if the row has one, or None."""
    attached = row.attachment
    if attached is None or attached.type != "queued_command" or not attached.prompt:
        return None
    return Message(role="user", content=attached.prompt)


def answers_tool(row: Row) -> bool:
    """Returns whether a row of the user is a tool's result."""
    return row.source_tool_assistant_uuid != NULL or any(
        block.type == "tool_result" for block in blocks_of(row.message)
    )


def kind_of(row: Row) -> str:
    """Returns the kind of a row: prompt, answer, tool_result, summary, command, notice …"""
    if row.is_api_error_message:
        return "other"
    if row.type == "assistant":
        blocks = blocks_of(row.message)
        return "reasoning" if blocks and all("thinking" in one.type for one in blocks) else "answer"
    if row.is_compact_summary:
        return "summary"
    if answers_tool(row):
        return "tool_result"
    text = text_of(row.message).lstrip()
    if text.startswith(COMMANDS):
        return "command"
    if row.is_meta or text.startswith(NOTICES) or not _from_a_person(row):
        return "notice"
    return "prompt"


def _from_a_person(row: Row) -> bool:
    origin = row.attachment.origin if row.attachment is not None else None
    return origin is None or origin.kind in (None, "human")


def usage_of(usage: Usage | None) -> u.Usage | None:
    """Returns the tokens of a model call; cached ones are part of the input."""
    if usage is None:
        return None
    created, cached = usage.cache_creation_input_tokens or 0, usage.cache_read_input_tokens or 0
    given = (usage.input_tokens or 0) + created + cached
    output = usage.output_tokens or 0
    return u.Usage(
        input_tokens=given,
        cached_input_tokens=cached,
        cache_creation_input_tokens=created,
        output_tokens=output,
        total_tokens=given + output,
    )


def content_of(row: Row, kind: str, records: Records) -> Content:
    """Converts a row of that kind; for the first reading, which makes no messages, only what it
    looks at.
    """
    message = row.message
    model = message.model if message is not None else None
    sidechain = bool(row.is_sidechain)
    if not records.wanted:
        text = text_of(message) if kind == "prompt" else ""
        return Content(
            id=row.uuid, role=row.type, kind=kind, text=text, model=model, sidechain=sidechain
        )
    text = text_of(message)
    found = _parts(blocks_of(message), records)
    answer = message if row.type == "assistant" else None
    return Content(
        id=row.uuid,
        role="tool" if kind == "tool_result" else row.type,
        kind="tool_call" if kind == "answer" and found.calls and not text else kind,
        text=text,
        tool_calls=found.calls,
        tool_results=found.results,
        thoughts="\n\n".join(found.thoughts) or None,
        usage=usage_of(answer.usage) if answer is not None else None,
        model=model,
        sidechain=sidechain,
        omitted=sorted(set(found.omitted)),
    )


class _Parts(NamedTuple):
    """The blocks of a message that are no text."""

    calls: list[u.ToolCall]
    results: list[u.ToolResult]
    thoughts: list[str]
    omitted: list[str]


def _parts(blocks: list[Block], records: Records) -> _Parts:
    found = _Parts([], [], [], [])
    for block in blocks:
        match block.type:
            case "tool_use" | "server_tool_use":
                name, given = block.name or "tool", input_of(block)
                found.calls.append(u.ToolCall(id=block.id, name=name, arguments=given))
            case "tool_result":
                found.results.append(_result(block, records))
            case "thinking" if block.thinking:
                found.thoughts.append(block.thinking)
            case "image" | "document":
                found.omitted.append(block.type)
            case _:
                pass
    return found


def _result(block: Block, records: Records) -> u.ToolResult:
    return u.ToolResult(
        call_id=block.tool_use_id,
        output=output_of(block),
        is_error=block.is_error,
        call_message_index=records.call_index(block.tool_use_id),
    )


def merged(record: u.MessageRecord, more: Content) -> u.MessageRecord:
    """Returns a message with another row of the same answer added. Claude Code writes a row for
    each content block.
    """
    thoughts = [text for text in (record.thoughts, more.thoughts) if text]
    text = record.text + more.text
    calls = [*record.tool_calls, *more.tool_calls]
    kind = "answer" if text else "tool_call" if calls else record.kind
    return msgspec.structs.replace(
        record,
        text=text,
        kind=kind,
        thoughts="\n\n".join(thoughts) or None,
        tool_calls=calls,
        usage=_larger(record.usage, more.usage),
        omitted=sorted({*record.omitted, *more.omitted}),
    )


def _larger(one: u.Usage | None, other: u.Usage | None) -> u.Usage | None:
    """Returns the usage with more output: the first rows of an answer have that up to there."""
    if one is None or other is None:
        return one or other
    return one if one.output_tokens > other.output_tokens else other


def begins(row: Row, kind: str) -> bool:
    """Returns whether a row of that kind can be the first one after a rewind: a person's, not a
    tool's.
    """
    return row.type == "user" and row.attachment is None and kind in ("prompt", "notice", "command")


OPENING = "This session is being continued from a previous conversation"
_HEADING = re.compile(r"\bSummary:\s+")
HEADING_WITHIN = 600
CLOSINGS = (
    "\n\nIf you need specific details from before compaction",
    "\n\nRecent messages are preserved verbatim",
    "\nContinue the conversation from where",
    "\nContinue with the last task",
    "\nPlease continue the conversation from where",
)


def summary_in(text: str) -> str:
    """Returns the summary alone; a text of another form is returned unchanged."""
    if not text.startswith(OPENING):
        return text
    heading = _HEADING.search(text, 0, HEADING_WITHIN)
    start = heading.end() if heading is not None else text.find("\n") + 1
    ends = [at for closing in CLOSINGS if (at := text.rfind(closing)) >= start]
    return text[start : min(ends, default=len(text))].strip("\n")


class AnswerUsage:
    """Adds the usage of each answer once, in the first reading.

    The first rows of an answer have the output up to there, so the largest one counts.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self._counted: dict[str, int] = {}

    def count(self, row: Row, answer_id: str | None, *, copied: bool) -> None:
        """Reads a row of the answer `answer_id`, or of one without an id. One that was `copied`
        from another session does not count.
        """
        used = row.message.usage if row.message is not None else None
        if used is None or self._records.wanted or copied:
            return
        key = answer_id or row.uuid or ""
        usage = usage_of(used)
        if usage is None or not usage.total_tokens:
            return
        counted = self._counted.get(key)
        if counted is None:
            self._records.usage.add(usage)
        elif usage.output_tokens > counted:
            self._records.usage.add_output(usage.output_tokens - counted)
        self._counted[key] = max(counted or 0, usage.output_tokens)
