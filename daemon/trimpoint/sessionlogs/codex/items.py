"""Converts response items to messages of the unified form. Pure."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from trimpoint_protocol import unified as u
from trimpoint_protocol.lenient import as_list

from trimpoint.sessionlogs.codex.rows import NULL, Item, Part
from trimpoint.sessionlogs.content import Content
from trimpoint.sessionlogs.records import Records

SUMMARY_PREFACE = "Another language model started to solve this problem"
OWN_SUMMARY = "<conversation-summary"
NOTICES = ("<turn_aborted>", "<subagent_notification>", "<user_shell_command>")
PREAMBLES = (
    "<environment_context>", "<user_instructions>", "# AGENTS.md instructions",
    "<permissions instructions>",
    "<skills_instructions>", "<collaboration_mode>", "<skill>", "<INSTRUCTIONS>",
    "<recommended_plugins>", "<app-context>",
)  # fmt: skip
IMAGE = "input_image"
CUSTOM_CALL = "custom_tool_call"
_IMAGE_BEGINS = re.compile(r"<image(?: [^>]*)?>")
_decode = msgspec.json.Decoder().decode


def text_of(content: list[Part] | str | None) -> str:
    """Returns the text of a content, without the tags that Codex writes around images."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if len(content) == 1:
        return content[0].text or ""
    around = _around_images(content) if _has_image(content) else ()
    return "".join(part.text or "" for at, part in enumerate(content) if at not in around)


def _around_images(content: list[Part]) -> set[int]:
    """Returns the positions of the tags around images; a compaction drops them."""
    places: set[int] = set()
    for at, part in enumerate(content):
        if part.type != IMAGE:
            continue
        if at and _IMAGE_BEGINS.fullmatch(content[at - 1].text or ""):
            places.add(at - 1)
        if at + 1 < len(content) and content[at + 1].text == "</image>":
            places.add(at + 1)
    return places


def kind_of_message(item: Item) -> str:
    """Returns the kind of a message: prompt | answer | preamble | summary | notice."""
    if item.role == "assistant":
        return "answer"
    if item.role != "user":
        return "preamble"
    labels = item.internal_chat_message_metadata_passthrough
    kinds = labels.content_item_kinds if labels is not None and labels.content_item_kinds else []
    if "compaction.summary" in kinds:
        return "summary"
    if kinds and any(kind.startswith("user.") for kind in kinds):
        return "prompt"
    text = text_of(item.content).lstrip()
    if text.startswith((SUMMARY_PREFACE, OWN_SUMMARY)):
        return "summary"
    if text.startswith(NOTICES):
        return "notice"
    if text.startswith(PREAMBLES) or any(kind != "unknown" for kind in kinds):
        return "preamble"
    return "prompt"


def damaged_content(item_id: bytes | None) -> Content:
    """Returns what stands for an item that cannot be read."""
    return Content(
        id=item_id.decode("utf-8", "replace") if item_id is not None else None,
        role="assistant",
        kind="other",
        text="",
        omitted=["damaged content"],
    )


def content_of(item: Item, records: Records) -> Content:
    """Converts an item."""
    kind = item.type
    if kind == "message":
        return Content(
            id=item.id,
            role=item.role or "user",
            kind=kind_of_message(item),
            text=text_of(item.content),
            phase=item.phase,
            omitted=["image"] if _has_image(item.content) else [],
        )
    if kind == "reasoning":
        return Content(
            id=item.id,
            role="assistant",
            kind="reasoning",
            text=_reasoning(item),
            omitted=["encrypted_content"] if item.encrypted_content != NULL else [],
        )
    if kind.endswith("_output"):
        result = u.ToolResult(
            call_id=item.call_id,
            output=_output(item.output),
            call_message_index=records.call_index(item.call_id),
        )
        return Content(id=item.id, role="tool", kind="tool_result", text="", tool_results=[result])
    if kind.endswith("_call"):
        call = u.ToolCall(
            id=item.call_id or item.id,
            name=item.name or kind.removesuffix("_call"),
            arguments=_arguments(item),
        )
        return Content(id=item.id, role="assistant", kind="tool_call", text="", tool_calls=[call])
    return _content_of_rare(item)


def _content_of_rare(item: Item) -> Content:
    match item.type:
        case "compaction" | "compaction_summary" | "context_compaction":
            sealed = ["encrypted_content"]
            return Content(id=item.id, role="assistant", kind="summary", text="", omitted=sealed)
        case "additional_tools" | "configuration_update":
            return Content(id=item.id, role="developer", kind="preamble", text="")
        case _:
            text = text_of(item.content)
            return Content(id=item.id, role=item.role or "assistant", kind="other", text=text)


def _has_image(content: list[Part] | str | None) -> bool:
    return isinstance(content, list) and any(part.type == IMAGE for part in content)


def _reasoning(item: Item) -> str:
    return "\n\n".join(text for text in (text_of(item.summary), text_of(item.content)) if text)


def _arguments(item: Item) -> Any:
    """Returns the arguments of a call, decoded if they are the text of an object. The input of a
    custom tool is text, whatever it looks like.
    """
    if item.type == CUSTOM_CALL and isinstance(item.input, str):
        return item.input
    found = item.arguments
    if found is None:
        found = item.input if item.input is not None else item.action
    if isinstance(found, str) and found.startswith("{"):
        try:
            return _decode(found)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return found
    return found


def _output(output: Any) -> str:
    match output:
        case None:
            return ""
        case str():
            return output
        case list():
            return "".join(_texts(as_list(output)))
        case {"content": str(content)}:
            return content
        case {"content": list()}:
            return "".join(_texts(as_list(output["content"])))
        case _:
            return msgspec.json.encode(output).decode()


def _texts(parts: Iterable[Any]) -> Iterable[str]:
    for part in parts:
        match part:
            case {"text": str(text)}:
                yield text
            case str():
                yield part
            case _:
                continue
