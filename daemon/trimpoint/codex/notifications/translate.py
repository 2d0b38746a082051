"""Translates notifications of Codex into facts of a thread. Pure: bytes in, events out.

Deltas yield no facts: they are forwarded and not journaled (docs/spec/journal.md). Items are recorded
when they are completed, raw items as the model saw them.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from trimpoint.core.context.active_context import is_preamble
from trimpoint.core.model import events as ev
from trimpoint.core.model.lenient import as_dict
from trimpoint.core.model.reviews import ENTERED
from trimpoint.core.model.shell_commands import as_typed, in_one_line

Facts = tuple[ev.AnyEvent, ...]

PROVIDER_OVERFLOW_CODE = "context_length_exceeded"


class _Wire(msgspec.Struct, frozen=True, rename="camel"):
    """Only the members that are read; whatever else a release adds is skipped."""


class _TurnError(_Wire, frozen=True, rename="camel"):
    message: str = ""
    codex_error_info: str | dict[str, Any] | None = None


class _Turn(_Wire, frozen=True, rename="camel"):
    id: str
    status: str = "inProgress"
    error: _TurnError | None = None


class _TurnParams(_Wire, frozen=True, rename="camel"):
    turn: _Turn


class _ItemParams(_Wire, frozen=True, rename="camel"):
    turn_id: str
    item: msgspec.Raw


class _TokenCount(_Wire, frozen=True, rename="camel"):
    total_tokens: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0


class _TokenUsage(_Wire, frozen=True, rename="camel"):
    total: _TokenCount = _TokenCount()
    last: _TokenCount = _TokenCount()
    model_context_window: int | None = None


class _UsageParams(_Wire, frozen=True, rename="camel"):
    turn_id: str
    token_usage: _TokenUsage


class _NameParams(_Wire, frozen=True, rename="camel"):
    thread_name: str | None = None


class _SettingsParams(_Wire, frozen=True, rename="camel"):
    thread_settings: msgspec.Raw


def translate(method: str, params: bytes, generation: int, settings: bytes) -> Facts:
    """The facts in one notification of the provider thread that serves `generation`.

    `settings` is what the thread's settings were before (`trimpoint.operations.provider.settings`).

    :raises msgspec.MsgspecError: when the notification lacks what it must have; the caller logs and relays it all the same.
    """
    reader = _READERS.get(method)
    return reader(params, generation, settings) if reader is not None else ()


def _turn_started(params: bytes, generation: int, settings: bytes) -> Facts:
    return (ev.TurnStarted(msgspec.json.decode(params, type=_TurnParams).turn.id, generation),)


def _turn_completed(params: bytes, generation: int, settings: bytes) -> Facts:
    turn = msgspec.json.decode(params, type=_TurnParams).turn
    if turn.error is None:
        return (ev.TurnCompleted(turn.id, turn.status),)
    kind = error_kind(turn.error.codex_error_info, turn.error.message)
    return (ev.TurnCompleted(turn.id, turn.status, turn.error.message, error_kind=kind),)


def _item_completed(params: bytes, generation: int, settings: bytes) -> Facts:
    decoded = msgspec.json.decode(params, type=_ItemParams)
    entry = entry_of(decoded.turn_id, bytes(decoded.item))
    # Nothing else says that a review has begun.
    return (ev.TurnStarted(decoded.turn_id, generation), entry) if entry.role == ENTERED else (entry,)


def _raw_item(params: bytes, generation: int, settings: bytes) -> Facts:
    decoded = msgspec.json.decode(params, type=_ItemParams)
    item = bytes(decoded.item)
    return () if is_preamble(msgspec.json.decode(item)) else (ev.ContextItemsRecorded(decoded.turn_id, (item,)),)


def _usage(params: bytes, generation: int, settings: bytes) -> Facts:
    decoded = msgspec.json.decode(params, type=_UsageParams)
    usage = decoded.token_usage
    last, total = usage.last, usage.total.total_tokens
    return (
        ev.UsageReported(
            decoded.turn_id, last.total_tokens, total, usage.model_context_window,
            last.input_tokens, last.cached_input_tokens, last.output_tokens, last.reasoning_output_tokens,
        ),
    )  # fmt: skip


def _name(params: bytes, generation: int, settings: bytes) -> Facts:
    return (ev.ThreadRenamed(msgspec.json.decode(params, type=_NameParams).thread_name),)


def _settings(params: bytes, generation: int, settings: bytes) -> Facts:
    current = msgspec.json.decode(params, type=_SettingsParams).thread_settings
    known = msgspec.json.decode(settings, type=dict[str, msgspec.Raw])
    known.pop("unconfirmed", None)  # Codex has reported them now (`operations/provider/settings.py`)
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


def error_kind(info: Any, message: str) -> str:
    """The one word for Codex's `codexErrorInfo`, which is a word or an object with one member; "" when there is none.

    `message` is Codex's own. An overflow that the provider answers with HTTP 400 is `other` to some versions, with the provider's
    answer for a message (measured: 0.163); it is called what it is.
    """
    kind = info if isinstance(info, str) else next(iter(as_dict(info)), "")
    return ev.CONTEXT_WINDOW_EXCEEDED if kind == "other" and PROVIDER_OVERFLOW_CODE in message else kind


def entry_of(turn_id: str, raw_item: bytes) -> ev.EntryRecorded:
    """A completed item as a ledger entry: prompts and answers are messages, everything else is an activity."""
    item: dict[str, Any] = msgspec.json.decode(raw_item)
    kind = str(item.get("type", "unknown"))
    item_id = str(item.get("id", ""))
    if kind == "userMessage":
        text = "\n".join(_input_text(part) for part in item.get("content") or ())
        return ev.EntryRecorded(turn_id, item_id, "message", "user", text, b"" if _is_plain(item) else raw_item)
    if kind == "agentMessage":
        return ev.EntryRecorded(turn_id, item_id, "message", "assistant", str(item.get("text", "")))
    return ev.EntryRecorded(turn_id, item_id, "activity", kind, activity_title(kind, item), raw_item)


def _input_text(part: dict[str, Any]) -> str:
    kind = part.get("type")
    if kind == "text":
        return str(part.get("text", ""))
    return f"[{kind}: {part.get('name') or part.get('path') or part.get('url') or ''}]"


def _is_plain(item: dict[str, Any]) -> bool:
    """Whether a prompt is one piece of text, so that its text is all of it."""
    content = item.get("content") or ()
    return all(part.get("type") == "text" and not part.get("text_elements") for part in content) and len(content) < 2


def activity_title(kind: str, item: dict[str, Any]) -> str:
    """One line that says what an activity was."""
    titler = _TITLES.get(kind)
    title = titler(item) if titler is not None else kind
    if kind == "commandExecution":
        return str(title)[:200] or kind
    return " ".join(str(title).split())[:200] or kind


def _file_change_title(item: dict[str, Any]) -> str:
    paths = [str(change.get("path", "?")) for change in item.get("changes") or ()]
    return ", ".join(paths) or "no files"


_TITLES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "commandExecution": lambda item: in_one_line(as_typed(item)),
    "fileChange": _file_change_title,
    "mcpToolCall": lambda item: f"{item.get('server')}/{item.get('tool')}",
    "dynamicToolCall": lambda item: item.get("tool", ""),
    "reasoning": lambda item: " ".join(str(part) for part in item.get("summary") or ()) or "thinking",
    "webSearch": lambda item: item.get("query", ""),
    "plan": lambda item: item.get("text", ""),
    "contextCompaction": lambda item: "Codex compacted the context by itself",
}
