"""Determines the kind of a segment from its tool calls and Codex's entries for them, and renders a
one-line preview.
"""

import re
from enum import StrEnum
from typing import Any

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list, as_text

from trimpoint.core.context.groups import ItemGroup

PREVIEW_CHARS = 120


class SegmentKind(StrEnum):
    """The kind of a segment, from the least to the most needed; messages and the summary come
    last.
    """

    CONTEXT_TOOL = "contextTool"  # get_messages, discard_messages
    HISTORY = "history"  # search_history, read_history
    TITLE = "title"
    FILE_READ = "fileRead"
    COMMAND = "command"
    CHECK = "check"
    TOOL_CALL = "toolCall"
    PLAN = "plan"
    FILE_CHANGE = "fileChange"
    MESSAGE = "message"
    SUMMARY = "summary"


_RANKS = {kind: rank for rank, kind in enumerate(SegmentKind)}
CONTEXT_TOOLS = frozenset({"get_messages", "discard_messages"})
HISTORY_TOOLS = frozenset({"search_history", "read_history"})
_SHELLS = frozenset(
    {
        "exec_command",
        "shell",
        "shell_command",
        "local_shell",
        "local_shell_call",
        "write_stdin",
        "unified_exec",
    }
)
_READING = frozenset({"read", "listFiles", "search"})
# Commands that test or check something, whose output is read once.
_CHECK = re.compile(
    r"""\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|ruff|flake8
    |mypy|pyright|eslint|tsc|clippy)\b
    |\b(?:npm|pnpm|yarn|cargo|go|make|mvn|gradle|dotnet|bazel|mix|swift)
    \s+(?:run\s+)?(?:test|check|lint|vet|verify)\b
    |\b(?:python[\d.]*|node|ruby|perl|php|deno|bun)\s+(?:-[ce]\b|-\s*<<|eval\b)""",
    re.VERBOSE,
)
_PATCH = "*** Begin Patch"
_SHELL_WRAP = re.compile(r"\S*/(?:ba|z|)sh -l?c (['\"])(.*)\1", re.DOTALL)


def kind_of(group: ItemGroup) -> SegmentKind:
    """Returns the kind of a group; for several calls, the most needed kind."""
    of_entries = [
        kind
        for entry in group.entries
        if (kind := _entry_kind(entry.role, entry.detail)) is not None
    ]
    of_calls = [
        _call_kind(call) for call in group.calls if not of_entries or is_change_or_plan(call)
    ]
    found = [*of_entries, *of_calls]
    return max(found, key=_RANKS.__getitem__) if found else SegmentKind.MESSAGE


def preview(text: str) -> str:
    """Returns `text` in one line, cut to `PREVIEW_CHARS` characters."""
    line = " ".join(text[: PREVIEW_CHARS * 8].split())
    return line if len(line) <= PREVIEW_CHARS else line[: PREVIEW_CHARS - 1] + "…"


def preview_of(group: ItemGroup) -> str:
    """Returns a one-line preview of the group: its tools with their arguments, or its text."""
    activities = [
        entry.text
        for entry in group.entries
        if entry.kind == "activity" and entry.role != "reasoning"
    ]
    calls = [_unwrapped(title) for title in activities] or [
        _call_text(call) for call in group.calls
    ]
    return preview("; ".join(calls) if calls else group.text)


def _entry_kind(role: str, detail: bytes) -> SegmentKind | None:
    match role:
        case "fileChange":
            return SegmentKind.FILE_CHANGE
        case "plan":
            return SegmentKind.PLAN
        case "commandExecution":
            return _command_kind(msgspec.json.decode(detail))
        case _:
            return None


def _command_kind(item: dict[str, Any]) -> SegmentKind:
    actions = [
        as_text(as_dict(action).get("type")) for action in as_list(item.get("commandActions"))
    ]
    if actions and _READING.issuperset(actions):
        return SegmentKind.FILE_READ
    return SegmentKind.CHECK if _CHECK.search(str(item.get("command", ""))) else SegmentKind.COMMAND


def is_change_or_plan(call: dict[str, Any]) -> bool:
    """Returns whether the call of a tool, as a raw item has it, changes files or makes a plan."""
    return _call_kind(call) in (SegmentKind.FILE_CHANGE, SegmentKind.PLAN)


def _call_kind(call: dict[str, Any]) -> SegmentKind:
    name = str(call.get("name") or call.get("type", ""))
    if name == "apply_patch" or _PATCH in _arguments(call):
        return SegmentKind.FILE_CHANGE
    if name == "update_plan":
        return SegmentKind.PLAN
    if name in CONTEXT_TOOLS:
        return SegmentKind.CONTEXT_TOOL
    if name in HISTORY_TOOLS:
        return SegmentKind.HISTORY
    if "title" in name:
        return SegmentKind.TITLE
    if name in _SHELLS:
        return SegmentKind.CHECK if _CHECK.search(_arguments(call)) else SegmentKind.COMMAND
    return SegmentKind.TOOL_CALL


def _call_text(call: dict[str, Any]) -> str:
    return f"{call.get('name') or call.get('type')} {_arguments(call)}".rstrip()


def _arguments(call: dict[str, Any]) -> str:
    given = call.get("arguments", call.get("input", call.get("action", "")))
    return given if isinstance(given, str) else msgspec.json.encode(given).decode()


def _unwrapped(title: str) -> str:
    """Returns a command without the shell that Codex wraps around it."""
    wrapped = _SHELL_WRAP.fullmatch(title)
    return wrapped.group(2) if wrapped else title
