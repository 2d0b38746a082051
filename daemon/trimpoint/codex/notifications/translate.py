"""Translates notifications of Codex into facts about a thread. Pure functions.

Deltas yield no facts: they are forwarded and not journaled (docs/spec/journal.md). Items are
recorded when they are completed, and raw items as the model saw them.

Always true: a fact requires only its essential members, above all its ids. Other members of
unexpected form are left out, so that for example a turn ends whatever form its error has.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.codex.notifications.settings_reports import (
    when_turn_ends,
    when_turn_starts,
    with_report,
)
from trimpoint.core.context.active_context import is_preamble
from trimpoint.core.model import events as ev
from trimpoint.core.model.reviews import ENTERED
from trimpoint.core.model.shell_commands import as_typed, in_one_line

Facts = tuple[ev.AnyEvent, ...]

PROVIDER_OVERFLOW_CODE = "context_length_exceeded"
MAX_COUNT = 2**63 - 1
"""The largest count that a record of the journal can hold."""


class Ending(NamedTuple):
    """The end of a turn; `status` is completed, interrupted or failed."""

    status: str
    error: str | None = None
    error_kind: str = ""


def translate(message: CodexMessage, generation: int, settings: bytes) -> Facts:
    """Returns the facts in one notification about the provider thread of `generation`.

    :param settings: the thread's settings before the notification
        (`trimpoint.operations.provider.settings`).
    :raises msgspec.MsgspecError: when the notification lacks an essential member; the caller logs
        that, and forwards the notification all the same.
    """
    reader = _READERS.get(message.method)
    return reader(message, generation, settings) if reader is not None else ()


def _turn_started(message: CodexMessage, generation: int, settings: bytes) -> Facts:
    started = ev.TurnStarted(_text(message.object("turn"), "id"), generation)
    return (started, *_changed(when_turn_starts(settings)))


def _turn_completed(message: CodexMessage, generation: int, settings: bytes) -> Facts:
    turn = message.object("turn")
    ending = ending_of(turn)
    completed = ev.TurnCompleted(
        _text(turn, "id"), ending.status, ending.error, error_kind=ending.error_kind
    )
    return (completed, *_changed(when_turn_ends(settings)))


def _changed(settings: bytes | None) -> Facts:
    return () if settings is None else (ev.SettingsChanged(settings),)


def _item_completed(message: CodexMessage, generation: int, settings: bytes) -> Facts:
    turn_id, item, text = _item_of(message)
    entry = entry_of(turn_id, item, text)
    # No other notification reports the start of a review.
    return (ev.TurnStarted(turn_id, generation), entry) if entry.role == ENTERED else (entry,)


def _raw_item(message: CodexMessage, generation: int, settings: bytes) -> Facts:
    turn_id, item, text = _item_of(message)
    return () if is_preamble(item) else (ev.ContextItemsRecorded(turn_id, (text,)),)


def _usage(message: CodexMessage, generation: int, settings: bytes) -> Facts:
    turn_id, usage = message.member("turnId"), message.object("tokenUsage")
    last, total = as_dict(usage.get("last")), as_dict(usage.get("total"))
    used, window = last.get("totalTokens"), usage.get("modelContextWindow")
    if not _is_count(used):
        raise msgspec.ValidationError("the token count is not a number")
    return (
        ev.UsageReported(
            turn_id if isinstance(turn_id, str) else "",
            used,
            _count(total, "totalTokens"),
            window if _is_count(window) else None,
            _count(last, "inputTokens"),
            _count(last, "cachedInputTokens"),
            _count(last, "outputTokens"),
            _count(last, "reasoningOutputTokens"),
        ),
    )


def _item_of(message: CodexMessage) -> tuple[str, dict[str, Any], bytes]:
    """Returns the turn's id, the item, and the item's JSON text."""
    item, text = message.member("item"), message.raw("item")
    if not isinstance(item, dict) or text is None:
        raise msgspec.ValidationError("the item is not an object")
    turn_id = message.member("turnId")
    if not isinstance(turn_id, str):
        raise msgspec.ValidationError("the turn's id is not a string")
    return turn_id, as_dict(item), bytes(text)


def _text(members: dict[str, Any], name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str):
        raise msgspec.ValidationError(f"`{name}` is not a string")
    return value


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT


def _count(counts: dict[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if _is_count(value) else 0


def _name(message: CodexMessage, generation: int, settings: bytes) -> Facts:
    name = message.member("threadName")
    if name is not None and not isinstance(name, str):
        raise msgspec.ValidationError("the thread's name is not a string")
    return (ev.ThreadRenamed(name),)


def _settings(message: CodexMessage, generation: int, settings: bytes) -> Facts:
    current = message.raw("threadSettings")
    if current is None or not isinstance(message.member("threadSettings"), dict):
        raise msgspec.ValidationError("the thread's settings are not an object")
    return (ev.SettingsChanged(with_report(settings, current)),)


_READERS: dict[str, Callable[[CodexMessage, int, bytes], Facts]] = {
    "turn/started": _turn_started,
    "turn/completed": _turn_completed,
    "item/completed": _item_completed,
    "rawResponseItem/completed": _raw_item,
    "thread/tokenUsage/updated": _usage,
    "thread/name/updated": _name,
    "thread/settings/updated": _settings,
}
RECORDED = frozenset(_READERS)
ENDINGS = frozenset({"completed", "interrupted", "failed"})


def ending_of(turn: dict[str, Any]) -> Ending:
    """Returns how a turn in Codex's display form ended, as far as that can be read. A turn with an
    unknown status has failed.
    """
    status, error = turn.get("status"), turn.get("error")
    message, kind = _error_of(error)
    if isinstance(status, str) and status in ENDINGS:
        return Ending(status, message, kind)
    if error is not None:
        return Ending("failed", message, kind)
    if status is None:
        return Ending("completed")
    word = msgspec.json.encode(status).decode()
    return Ending("failed", f"Codex ended the turn with a status that is not known: {word}.")


def _error_of(error: Any) -> tuple[str | None, str]:
    """Returns the message and kind of a turn's error. An error that is not an object becomes the
    message itself.
    """
    if error is None or isinstance(error, str):
        return error, ""
    if not isinstance(error, dict):
        return msgspec.json.encode(error).decode(), ""
    described = as_dict(error)
    message = described.get("message")
    message = message if isinstance(message, str) else ""
    return message, error_kind(described.get("codexErrorInfo"), message)


def error_kind(info: Any, message: str) -> str:
    """Returns Codex's `codexErrorInfo`, a word or an object with one member, as one word; "" if
    there is none.

    Some versions report an overflow that the provider answered with HTTP 400 as `other`, with the
    provider's answer as `message` (measured: 0.163); it is returned as an overflow.
    """
    kind = info if isinstance(info, str) else next(iter(as_dict(info)), "")
    return (
        ev.CONTEXT_WINDOW_EXCEEDED
        if kind == "other" and PROVIDER_OVERFLOW_CODE in message
        else kind
    )


def entry_of(turn_id: str, item: dict[str, Any], raw_item: bytes) -> ev.EntryRecorded:
    """Returns a completed item as a ledger entry: prompts and answers are messages, all other items
    are activities.

    :param raw_item: the JSON text of the item.
    """
    kind = str(item.get("type", "unknown"))
    item_id = str(item.get("id", ""))
    if kind == "userMessage":
        text = "\n".join(_input_text(as_dict(part)) for part in as_list(item.get("content")))
        client_id, detail = item.get("clientId"), b"" if _is_plain(item) else raw_item
        name = client_id if isinstance(client_id, str) else ""
        return ev.EntryRecorded(turn_id, item_id, "message", "user", text, detail, client_id=name)
    if kind == "agentMessage":
        return ev.EntryRecorded(turn_id, item_id, "message", "assistant", str(item.get("text", "")))
    return ev.EntryRecorded(
        turn_id, item_id, "activity", kind, activity_title(kind, item), raw_item
    )


def _input_text(part: dict[str, Any]) -> str:
    kind = part.get("type")
    if kind == "text":
        return str(part.get("text", ""))
    url = str(part.get("url") or "")
    # The data of an image can have megabytes, and the detail of the entry has it.
    shown = url[: url.find(",")] if url.startswith("data:") and "," in url else url
    return f"[{kind}: {part.get('name') or part.get('path') or shown}]"


def _is_plain(item: dict[str, Any]) -> bool:
    """Returns whether a prompt is a single text without further elements, so that nothing but the
    text has to be kept.
    """
    content = [as_dict(part) for part in as_list(item.get("content"))]
    return (
        all(part.get("type") == "text" and not part.get("text_elements") for part in content)
        and len(content) < 2
    )


def activity_title(kind: str, item: dict[str, Any]) -> str:
    """Returns the title of an activity, one line of at most 200 characters."""
    titler = _TITLES.get(kind)
    title = titler(item) if titler is not None else kind
    if kind == "commandExecution":
        return str(title)[:200] or kind
    return " ".join(str(title).split())[:200] or kind


def _file_change_title(item: dict[str, Any]) -> str:
    paths = [str(as_dict(change).get("path", "?")) for change in as_list(item.get("changes"))]
    return ", ".join(paths) or "no files"


_TITLES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "commandExecution": lambda item: in_one_line(as_typed(item)),
    "fileChange": _file_change_title,
    "mcpToolCall": lambda item: f"{item.get('server')}/{item.get('tool')}",
    "dynamicToolCall": lambda item: item.get("tool", ""),
    "reasoning": lambda item: " ".join(map(str, as_list(item.get("summary")))) or "thinking",
    "webSearch": lambda item: item.get("query", ""),
    "plan": lambda item: item.get("text", ""),
    # Live, it may be the compaction that a person asked for.
    "contextCompaction": lambda item: "Codex compacted the context",
}
