"""Translates notifications of Codex into facts of a thread. Pure: bytes in, events out.

Deltas yield no facts: they are forwarded and not journaled (docs/spec/journal.md). Items are
recorded when they are completed, raw items as the model saw them.

The law: only what a fact is about must be as expected, above all its id. A detail of a shape that
is not known is left out, and takes no fact along: a turn that has ended has ended, whatever its
error looks like.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

import msgspec

from trimpoint.core.context.active_context import is_preamble
from trimpoint.core.model import events as ev
from trimpoint.core.model.lenient import as_dict, as_list
from trimpoint.core.model.reviews import ENTERED
from trimpoint.core.model.shell_commands import as_typed, in_one_line

Facts = tuple[ev.AnyEvent, ...]

PROVIDER_OVERFLOW_CODE = "context_length_exceeded"


class _Wire(msgspec.Struct, frozen=True, rename="camel"):
    """Only the members that are read; whatever else a release adds is skipped."""


class _Turn(_Wire, frozen=True, rename="camel"):
    id: str


class _TurnParams(_Wire, frozen=True, rename="camel"):
    turn: _Turn


class _EndedParams(_Wire, frozen=True, rename="camel"):
    turn: dict[str, Any]


class _ItemParams(_Wire, frozen=True, rename="camel"):
    turn_id: str
    item: msgspec.Raw


class _TokenUsage(_Wire, frozen=True, rename="camel"):
    last: dict[str, Any]
    total: Any = None
    model_context_window: Any = None


class _UsageParams(_Wire, frozen=True, rename="camel"):
    token_usage: _TokenUsage
    turn_id: Any = None


class _NameParams(_Wire, frozen=True, rename="camel"):
    thread_name: str | None = None


class _SettingsParams(_Wire, frozen=True, rename="camel"):
    thread_settings: dict[str, msgspec.Raw]


class Ending(NamedTuple):
    """How a turn ended; `status` is completed, interrupted or failed."""

    status: str
    error: str | None = None
    error_kind: str = ""


def translate(method: str, params: bytes, generation: int, settings: bytes) -> Facts:
    """The facts in one notification of the provider thread that serves `generation`.

    `settings` is what the thread's settings were before (`trimpoint.operations.provider.settings`).

    :raises msgspec.MsgspecError: when the notification lacks what it must have; the caller logs and
        relays it all the same.
    """
    reader = _READERS.get(method)
    return reader(params, generation, settings) if reader is not None else ()


def _turn_started(params: bytes, generation: int, settings: bytes) -> Facts:
    return (ev.TurnStarted(msgspec.json.decode(params, type=_TurnParams).turn.id, generation),)


def _turn_completed(params: bytes, generation: int, settings: bytes) -> Facts:
    turn_id = msgspec.json.decode(params, type=_TurnParams).turn.id
    ending = ending_of(msgspec.json.decode(params, type=_EndedParams).turn)
    return (ev.TurnCompleted(turn_id, ending.status, ending.error, error_kind=ending.error_kind),)


def _item_completed(params: bytes, generation: int, settings: bytes) -> Facts:
    decoded = msgspec.json.decode(params, type=_ItemParams)
    entry = entry_of(decoded.turn_id, bytes(decoded.item))
    # Nothing else says that a review has begun.
    return (
        (ev.TurnStarted(decoded.turn_id, generation), entry) if entry.role == ENTERED else (entry,)
    )


def _raw_item(params: bytes, generation: int, settings: bytes) -> Facts:
    decoded = msgspec.json.decode(params, type=_ItemParams)
    item = bytes(decoded.item)
    return (
        ()
        if is_preamble(msgspec.json.decode(item, type=dict[str, Any]))
        else (ev.ContextItemsRecorded(decoded.turn_id, (item,)),)
    )


def _usage(params: bytes, generation: int, settings: bytes) -> Facts:
    decoded = msgspec.json.decode(params, type=_UsageParams)
    turn_id, usage = decoded.turn_id, decoded.token_usage
    used, last, total = usage.last.get("totalTokens"), usage.last, as_dict(usage.total)
    if not _is_count(used):
        raise msgspec.ValidationError("the tokens that were used are no number")
    window = usage.model_context_window
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


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _count(counts: dict[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if _is_count(value) else 0


def _name(params: bytes, generation: int, settings: bytes) -> Facts:
    return (ev.ThreadRenamed(msgspec.json.decode(params, type=_NameParams).thread_name),)


def _settings(params: bytes, generation: int, settings: bytes) -> Facts:
    current = msgspec.json.decode(params, type=_SettingsParams).thread_settings
    known = msgspec.json.decode(settings, type=dict[str, msgspec.Raw])
    known.pop(
        "unconfirmed", None
    )  # Codex has reported them now (`operations/provider/settings.py`)
    return (ev.SettingsChanged(msgspec.json.encode({**known, "current": current})),)


_READERS: dict[str, Callable[[bytes, int, bytes], Facts]] = {
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
    """Returns how a turn in Codex's display form ended, as far as that can be read; `inProgress` is
    no way to end.
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
    """The message and the kind of a turn's error; of one that is no object, itself is the
    message.
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
    """Returns Codex's `codexErrorInfo` as one word; it is a word or an object with one member. ""
    without one.

    `message` is Codex's own. An overflow that the provider answers with HTTP 400 is `other` to some
    versions, with the provider's answer for a message (measured: 0.163); it is called what it is.
    """
    kind = info if isinstance(info, str) else next(iter(as_dict(info)), "")
    return (
        ev.CONTEXT_WINDOW_EXCEEDED
        if kind == "other" and PROVIDER_OVERFLOW_CODE in message
        else kind
    )


def entry_of(turn_id: str, raw_item: bytes) -> ev.EntryRecorded:
    """A completed item as a ledger entry: prompts and answers are messages, everything else is an
    activity.
    """
    item = msgspec.json.decode(raw_item, type=dict[str, Any])
    kind = str(item.get("type", "unknown"))
    item_id = str(item.get("id", ""))
    if kind == "userMessage":
        text = "\n".join(_input_text(as_dict(part)) for part in as_list(item.get("content")))
        return ev.EntryRecorded(
            turn_id, item_id, "message", "user", text, b"" if _is_plain(item) else raw_item
        )
    if kind == "agentMessage":
        return ev.EntryRecorded(turn_id, item_id, "message", "assistant", str(item.get("text", "")))
    return ev.EntryRecorded(
        turn_id, item_id, "activity", kind, activity_title(kind, item), raw_item
    )


def _input_text(part: dict[str, Any]) -> str:
    kind = part.get("type")
    if kind == "text":
        return str(part.get("text", ""))
    return f"[{kind}: {part.get('name') or part.get('path') or part.get('url') or ''}]"


def _is_plain(item: dict[str, Any]) -> bool:
    """Returns whether a prompt is one piece of text, so that its text is all of it."""
    content = [as_dict(part) for part in as_list(item.get("content"))]
    return (
        all(part.get("type") == "text" and not part.get("text_elements") for part in content)
        and len(content) < 2
    )


def activity_title(kind: str, item: dict[str, Any]) -> str:
    """One line that says what an activity was."""
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
    "contextCompaction": lambda item: "Codex compacted the context by itself",
}
