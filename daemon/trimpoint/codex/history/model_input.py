"""Derives the model's next input from a conversation's rollout, as Codex does. Pure functions.

The first item holds Codex's own instructions, which Codex keeps in the first line of the file, and
sends as an item or beside the items (measured: 0.163). Then follow the items that the newest
compaction put in place of the context, and all items since.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.core.context.active_context import is_preamble


class _Line(msgspec.Struct, frozen=True):
    type: str
    payload: msgspec.Raw = msgspec.Raw(b"null")


_decode_line = msgspec.json.Decoder(_Line).decode


def model_input(lines: Iterable[bytes]) -> list[bytes]:
    """Returns the model's input items in order, Codex's own items included."""
    instructions = b""
    items: list[bytes] = []
    for line in lines:
        try:
            record = _decode_line(line)
        except msgspec.MsgspecError:
            continue  # an unknown or damaged record; the others are still valid
        match record.type:
            case "session_meta":
                instructions = _instructions(record.payload) or instructions
            case "response_item":
                items.append(bytes(record.payload))
            case "compacted":
                history = as_list(as_dict(msgspec.json.decode(record.payload)).get(_REPLACED))
                items = [msgspec.json.encode(item) for item in history] or items
            case _:
                pass
    return [instructions, *items] if instructions else items


def own_items(lines: Iterable[bytes]) -> list[bytes]:
    """Returns the input items that Codex did not write itself: the conversation's own."""
    return [item for item in model_input(lines) if not is_preamble(msgspec.json.decode(item))]


def is_sealed(item: bytes) -> bool:
    """Returns whether the item is a summary that only the provider can read."""
    return _SEALED in str(as_dict(msgspec.json.decode(item)).get("type"))


def model_of_last_turn(lines: Iterable[bytes]) -> str | None:
    """Returns the model that the newest turn of the conversation ran with, or None."""
    model: str | None = None
    has_begun = False
    for line in lines:
        has_begun |= b'"task_started"' in line
        if has_begun and b'"turn_context"' in line:
            model = _model(line) or model
    return model


def _model(line: bytes) -> str | None:
    try:
        record = _decode_line(line)
    except msgspec.MsgspecError:
        return None
    if record.type != "turn_context":
        return None
    model = as_dict(msgspec.json.decode(record.payload)).get("model")
    return model if isinstance(model, str) else None


def own_beginning(items: Iterable[bytes]) -> list[bytes]:
    """Returns the items at the beginning that Codex wrote itself, the preamble."""
    beginning: list[bytes] = []
    for item in items:
        if not is_preamble(msgspec.json.decode(item)):
            break
        beginning.append(item)
    return beginning


_REPLACED = "replacement_history"
# Codex calls it `compaction`, `compaction_summary` or `context_compaction`, by version.
_SEALED = "compaction"


def _instructions(payload: msgspec.Raw) -> bytes:
    meta: dict[str, Any] = as_dict(msgspec.json.decode(payload))
    text = as_dict(meta.get("base_instructions")).get("text")
    if not text:
        return b""
    content = [{"type": "input_text", "text": str(text)}]
    return msgspec.json.encode({"type": "message", "role": "developer", "content": content})
