"""Translates the items of a turn to tool calls: while they run, when they have ended, and in the
history.
"""

import re
from typing import Any

from trimpoint_protocol.hidden_characters import visible
from trimpoint_protocol.lenient import Json, as_dict, as_dicts, as_text

from trimpoint.acp.translate.diffs import ReadFile, diffs_of, kind_of, locations_of, moved_to
from trimpoint.acp.translate.outputs import raw_output, shown_as_text
from trimpoint.acp.wire.content import (
    Content,
    Image,
    Location,
    ToolCall,
    ToolContent,
    ToolKind,
    ToolStatus,
    text_content,
)

COMMAND, FILE_CHANGE = "commandExecution", "fileChange"
RAW_JSON_CHARS = 64 * 1024
_SHELL = re.compile(r"(?:/\S*/)?(?:bash|zsh|sh) -l?c (.*)", re.DOTALL)
_STATUS: dict[str, ToolStatus] = {
    "inProgress": "in_progress",
    "completed": "completed",
    "failed": "failed",
    "declined": "failed",
}


def tool_call_of(item: Json, read_file: ReadFile, *, waits: bool = False) -> ToolCall | None:
    """Returns an item as a complete tool call; None for a message, or an item that editors do not
    show.

    :param waits: the command waits for an approval and does not run yet.
    """
    match item.get("type"):
        case "commandExecution":
            return _command(item, waits=waits)
        case "fileChange":
            return _file_change(item, read_file)
        case "mcpToolCall":
            return _mcp_tool_call(item)
        case "dynamicToolCall":
            return _dynamic_tool_call(item)
        case "webSearch":
            return _web_search(item)
        case "imageView":
            return _image_view(item)
        case "imageGeneration":
            return _image_generation(item)
        case "collabAgentToolCall":
            return _sub_agent(item)
        case "enteredReviewMode":
            return _call(item, "think", "Review", status="in_progress")
        case _:
            return None


def command_title(command: str) -> str:
    """Returns a command without the shell that Codex wraps around it."""
    inner = _SHELL.fullmatch(command.strip())
    if inner is None:
        return command
    text = inner[1]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        quote, text = text[0], text[1:-1]
        text = text.replace("'\\''", "'") if quote == "'" else text
    return text


def status_of(item: Json) -> ToolStatus:
    """Returns the status of an item; an item without a status is completed."""
    return _STATUS.get(as_text(item.get("status")), "completed")


def _call(item: Json, kind: ToolKind, title: str, **members: Any) -> ToolCall:
    members.setdefault("status", status_of(item))
    shown = visible(title) or "…"
    return ToolCall(tool_call_id=as_text(item.get("id")), title=shown, kind=kind, **members)


def _command(item: Json, *, waits: bool) -> ToolCall:
    output = item.get("aggregatedOutput")
    status: ToolStatus = "pending" if waits else status_of(item)
    raw: Json | None = None
    if status in ("completed", "failed"):
        raw = {"exitCode": item.get("exitCode"), "output": raw_output(as_text(output))}
        if item.get("status") == "declined":
            raw["declined"] = True
    kind, locations = _looked_at(item)
    return _call(
        item,
        kind,
        command_title(as_text(item.get("command"))),
        status=status,
        content=shown_as_text(as_text(output)) or None,
        locations=locations or None,
        raw_input={"command": item.get("command"), "cwd": item.get("cwd")},
        raw_output=raw,
    )


def _looked_at(item: Json) -> tuple[ToolKind, list[Location]]:
    """Returns the kind of a command, if all its actions are of one kind, and the files that it
    reads.
    """
    actions = as_dicts(item.get("commandActions"))
    kinds = {action.get("type") for action in actions}
    if kinds == {"read"}:
        base = as_text(item.get("cwd"))
        return "read", [Location(path=_absolute(base, as_text(one.get("path")))) for one in actions]
    if kinds and kinds <= {"search", "listFiles"}:
        return "search", []
    return "execute", []


def _absolute(base: str, path: str) -> str:
    return path if path.startswith("/") or not base else f"{base.rstrip('/')}/{path}"


def _file_change(item: Json, read_file: ReadFile) -> ToolCall:
    changes = as_dicts(item.get("changes"))
    content: list[ToolContent] = [
        diff for change in changes for diff in diffs_of(change, read_file)
    ]
    locations = [location for change in changes for location in locations_of(change)]
    kinds = {kind_of(change) for change in changes}
    kind: ToolKind = "delete" if kinds == {"delete"} else "edit"
    return _call(
        item, kind, change_title(changes), content=content or None, locations=locations or None
    )


def change_title(changes: list[Json]) -> str:
    """Returns a title for file changes, such as `Edit 2 files: a.py, b.py`."""
    names = [as_text(change.get("path")).rpartition("/")[2] for change in changes]
    if len(changes) != 1:
        return f"Edit {len(changes)} files: {', '.join(names)}" if changes else "Edit files"
    target = moved_to(changes[0])
    if target is not None:
        return f"Move {names[0]} to {target}"
    return {"add": "Write", "delete": "Delete"}.get(kind_of(changes[0]), "Edit") + f" {names[0]}"


def _mcp_tool_call(item: Json) -> ToolCall:
    name = f"{as_text(item.get('server'))}/{as_text(item.get('tool'))}"
    result, error = as_dict(item.get("result")), as_dict(item.get("error"))
    content = [one for block in as_dicts(result.get("content")) if (one := _block(block))]
    if error:
        content = [text_content(as_text(error.get("message")))]
    raw = error or (
        {"structuredContent": structured}
        if (structured := result.get("structuredContent"))
        else None
    )
    arguments = _bounded(item.get("arguments"))
    return _call(
        item,
        "other",
        name,
        name=name,
        content=content or None,
        raw_input=arguments,
        raw_output=_bounded(raw),
    )


def _dynamic_tool_call(item: Json) -> ToolCall:
    name = "/".join(filter(None, (as_text(item.get("namespace")), as_text(item.get("tool")))))
    content = [one for block in as_dicts(item.get("contentItems")) if (one := _block(block))]
    return _call(
        item,
        "other",
        name,
        name=name,
        content=content or None,
        raw_input=_bounded(item.get("arguments")),
    )


def _block(block: Json) -> ToolContent | None:
    """Returns a content block of a tool's result; None for an unknown kind."""
    match block.get("type"):
        case "text" | "inputText":
            return text_content(as_text(block.get("text")))
        case "image":
            mime_type = as_text(block.get("mimeType")) or "image/png"
            return Content(content=Image(data=as_text(block.get("data")), mime_type=mime_type))
        case "resource":
            return text_content(as_text(as_dict(block.get("resource")).get("text")))
        case _:
            return None


def _web_search(item: Json) -> ToolCall:
    action = as_dict(item.get("action"))
    url = as_text(action.get("url"))
    if action.get("type") in ("openPage", "findInPage") and url:
        return _call(item, "fetch", url)
    query = as_text(action.get("query")) or as_text(item.get("query"))
    return _call(item, "search", f"Search the web: {query}" if query else "Search the web")


def _image_view(item: Json) -> ToolCall:
    path = as_text(item.get("path"))
    return _call(
        item, "read", f"Look at {path.rpartition('/')[2]}", locations=[Location(path=path)]
    )


def _image_generation(item: Json) -> ToolCall:
    image = as_text(item.get("result"))
    content: list[ToolContent] = (
        [Content(content=Image(data=image, mime_type="image/png"))] if image else []
    )
    title = as_text(item.get("revisedPrompt")) or "Make an image"
    return _call(
        item,
        "other",
        title,
        status="failed" if item.get("failure") else status_of(item),
        content=content or None,
    )


def _sub_agent(item: Json) -> ToolCall:
    prompt = as_text(item.get("prompt"))
    content = [text_content(prompt)] if prompt else None
    return _call(item, "other", f"Sub-agent: {as_text(item.get('tool'))}", content=content)


def _bounded(value: Any) -> Any:
    """Returns a JSON value unchanged, or the beginning of its text if it is very large."""
    text = str(value)
    return value if len(text) <= RAW_JSON_CHARS else text[:RAW_JSON_CHARS]
