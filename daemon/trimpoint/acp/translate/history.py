"""Translates a whole thread for `session/load`: all messages and activities, and the trim
points.
"""

from collections.abc import Iterator

from trimpoint_protocol.lenient import Json, as_dict, as_dicts, as_text

from trimpoint.acp.translate.diffs import no_file
from trimpoint.acp.translate.items import tool_call_of
from trimpoint.acp.translate.turns import thought_in
from trimpoint.acp.wire.capabilities import Capabilities
from trimpoint.acp.wire.content import ContentBlock, Image, ResourceLink, Text, ToolCall
from trimpoint.acp.wire.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Compaction,
    ToolCallStarted,
    Update,
    UserMessageChunk,
)

NEW_THREAD = "A new thread begins here; the agent knows nothing of what is above."


def replayed(entries: list[Json], capabilities: Capabilities) -> Iterator[Update]:
    """Yields the updates for entries of `timeline/read`, the oldest first."""
    summary: tuple[str, str] | None = None
    for entry in entries:
        match entry.get("kind"):
            case "message":
                yield from _message(entry)
            case "activity":
                yield from _activity(entry)
            case "contextSummaryBanner":
                summary = as_text(entry.get("trimPointId")), as_text(entry.get("summary"))
            case "contextTrimPointDivider":
                trim_point_id = as_text(entry.get("trimPointId"))
                text = summary[1] if summary is not None and summary[0] == trim_point_id else None
                yield from divider(capabilities, trim_point_id, _label(entry), text)
                summary = None
            case _:
                pass


def divider(
    capabilities: Capabilities, trim_point_id: str, label: str, summary: str | None
) -> Iterator[Update]:
    """Yields a trim point: as a compaction if the editor supports them, otherwise as a line of
    text.
    """
    if capabilities.compaction:
        shown: list[ContentBlock] | None = [Text(text=summary)] if summary else None
        meta = {"trimpoint": {"label": label}}
        yield Compaction(compaction_id=trim_point_id, status="completed", summary=shown, meta=meta)
        return
    said = f"── {label} ──"
    text = f"{said}\n\n{summary}" if summary else said
    yield AgentThoughtChunk(content=Text(text=text), message_id=trim_point_id)


def _label(entry: Json) -> str:
    count = entry.get("hiddenMessageCount")
    count = count if isinstance(count, int) else 0
    if entry.get("trimKind") == "discard":
        masked = entry.get("maskedCount")
        if not isinstance(masked, int) or not masked:
            return f"{count} {_plural(count, 'item')} left the agent's context"
        taken = f"{count} {_plural(count, 'item')} and " if count else ""
        outputs = f"the output of {masked} {_plural(masked, 'item')}"
        return f"{taken}{outputs} left the agent's context"
    verb = "is" if count == 1 else "are"
    return f"{count} earlier {_plural(count, 'message')} {verb} no longer in the agent's context"


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _message(entry: Json) -> Iterator[Update]:
    entry_id, text = as_text(entry.get("id")), as_text(entry.get("text"))
    if entry.get("role") == "user":
        for block in user_blocks(as_dict(entry.get("detail")), text):
            yield UserMessageChunk(content=block, message_id=entry_id)
    elif text:
        yield AgentMessageChunk(content=Text(text=text), message_id=entry_id)


def user_blocks(item: Json, text: str) -> list[ContentBlock]:
    """Returns a prompt with its images; only `text` if the item has no content."""
    blocks = [
        one for part in as_dicts(item.get("content")) if (one := _user_block(part)) is not None
    ]
    return blocks or ([Text(text=text)] if text else [])


def _user_block(part: Json) -> ContentBlock | None:
    match part.get("type"):
        case "text":
            return Text(text=as_text(part.get("text"))) if part.get("text") else None
        case "image":
            return _image(as_text(part.get("url")))
        case "localImage":
            path = as_text(part.get("path"))
            return ResourceLink(name=path.rpartition("/")[2], uri=f"file://{path}")
        case _:
            return None


def _image(url: str) -> ContentBlock | None:
    head, comma, data = url.partition(",")
    if head.startswith("data:") and comma:
        return Image(data=data, mime_type=head.removeprefix("data:").partition(";")[0])
    return ResourceLink(name=url.rpartition("/")[2] or "image", uri=url) if url else None


def _activity(entry: Json) -> Iterator[Update]:
    item = as_dict(entry.get("detail"))
    entry_id, title = as_text(entry.get("id")), as_text(entry.get("title"))
    match entry.get("activity"):
        case "reasoning":
            text = thought_in(item) or title
            if text:
                yield AgentThoughtChunk(content=Text(text=text), message_id=entry_id)
        case "plan" | "exitedReviewMode":
            text = as_text(item.get("text")) or as_text(item.get("review")) or title
            if text:
                yield AgentMessageChunk(content=Text(text=text), message_id=entry_id)
        case (
            "enteredReviewMode"
            | "hookPrompt"
            | "functionCallOutput"
            | "sleep"
            | "contextCompaction"
        ):
            return
        case activity:
            call = tool_call_of(item, no_file)
            if call is None:
                call = ToolCall(
                    tool_call_id=entry_id,
                    title=title or as_text(activity),
                    kind="other",
                    status="completed",
                )
            members = {name: getattr(call, name) for name in ToolCall.__struct_fields__}
            if members["status"] in ("pending", "in_progress"):
                members["status"] = "failed"
            yield ToolCallStarted(**members)
