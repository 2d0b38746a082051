"""Renders the full text of an entry for search and reading: messages, commands with their output,
tool calls with their results.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list
from trimpoint_protocol.shapes.history_kinds import HistoryKind

from trimpoint.core.context.segment_kinds import CONTEXT_TOOLS, HISTORY_TOOLS
from trimpoint.core.model.shell_commands import as_typed

_KINDS: dict[str, HistoryKind] = {
    "commandExecution": "command",
    "fileChange": "fileChange",
    "mcpToolCall": "toolCall",
    "dynamicToolCall": "toolCall",
    "webSearch": "toolCall",
    "reasoning": "reasoning",
    "plan": "plan",
}


def history_kind(kind: str, role: str) -> HistoryKind:
    """Returns the kind of an entry as `history/search` names it."""
    if kind == "message":
        return "user" if role == "user" else "assistant"
    return _KINDS.get(role, "other")


def is_own_tool_call(role: str, text: str) -> bool:
    """Returns whether an entry is a call of a tool that the daemon itself answers. A search leaves
    such calls out, because they contain the results of earlier searches.
    """
    return role == "dynamicToolCall" and text in CONTEXT_TOOLS | HISTORY_TOOLS


def entry_text(kind: str, role: str, text: str, detail: bytes) -> str:
    """Returns the full text of an entry, or `text` if its `detail` has no more."""
    if kind == "message" or not detail:
        return text
    try:
        item = as_dict(msgspec.json.decode(detail))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return text
    reader = _READERS.get(role)
    whole = "\n".join(filter(None, reader(item))) if reader is not None else ""
    return whole or text


def _command(item: dict[str, Any]) -> Iterable[str]:
    yield as_typed(item)
    yield _string(item.get("aggregatedOutput"))


def _file_change(item: dict[str, Any]) -> Iterable[str]:
    for change in map(as_dict, as_list(item.get("changes"))):
        yield _string(change.get("path"))
        yield _string(change.get("diff"))


def _tool(item: dict[str, Any]) -> Iterable[str]:
    yield "/".join(filter(None, (_string(item.get("server")), _string(item.get("tool")))))
    if item.get("arguments") is not None:
        yield msgspec.json.encode(item["arguments"]).decode()
    answered = as_list(item.get("contentItems")) or as_list(
        as_dict(item.get("result")).get("content")
    )
    for part in map(as_dict, answered):
        yield _string(part.get("text"))
    yield _string(as_dict(item.get("error")).get("message"))


def _reasoning(item: dict[str, Any]) -> Iterable[str]:
    yield from map(_string, as_list(item.get("summary")))
    yield from map(_string, as_list(item.get("content")))


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


_READERS: dict[str, Callable[[dict[str, Any]], Iterable[str]]] = {
    "commandExecution": _command,
    "fileChange": _file_change,
    "mcpToolCall": _tool,
    "dynamicToolCall": _tool,
    "webSearch": lambda item: (_string(item.get("query")),),
    "reasoning": _reasoning,
    "plan": lambda item: (_string(item.get("text")),),
}
