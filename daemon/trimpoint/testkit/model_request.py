"""A request of Codex to the model, with helpers for tests.

Always true: `input` is exactly what the model receives. It is the only proof of what a trim kept or
pruned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import msgspec

RequestKind: TypeAlias = Literal["turn", "inline_compaction", "remote_compaction"]

#: How the user message begins that asks a custom provider's model for a summary.
INLINE_COMPACTION_PREFIX = "You are performing a CONTEXT CHECKPOINT COMPACTION"

_TEXT_ITEM_TYPES = frozenset({"message", "function_call_output", "custom_tool_call_output"})


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One POST to `/v1/responses`. `headers` have lower-case names; `body` is the decoded JSON."""

    body: dict[str, Any]
    headers: Mapping[str, str]

    @property
    def input(self) -> list[dict[str, Any]]:
        return cast("list[dict[str, Any]]", self.body.get("input", []))

    @property
    def kind(self) -> RequestKind:
        """Returns whether the request belongs to a turn, or which kind of compaction it is.

        Codex marks compactions (`request_kind`, measured: 0.163 and 0.171), also those with a
        configured `compact_prompt`; those of older versions are recognized by their prompt.
        """
        last = self.input[-1] if self.input else {}
        if last.get("type") == "compaction_trigger":
            return "remote_compaction"
        if self.turn_metadata.get("request_kind") == "compaction" or _asks_for_summary(last):
            return "inline_compaction"
        return "turn"

    @property
    def thread_id(self) -> str | None:
        """Returns the id of the provider thread that the request belongs to; None if Codex did not
        send it.
        """
        thread_id = self._client_metadata.get("thread_id")
        return thread_id if isinstance(thread_id, str) else None

    @property
    def turn_metadata(self) -> dict[str, Any]:
        """Returns Codex's metadata about the request (`request_kind`, `turn_id`, …); empty if it
        sent none.
        """
        encoded = self._client_metadata.get("x-codex-turn-metadata")
        return _decoded_object(encoded) if isinstance(encoded, str) else {}

    @property
    def _client_metadata(self) -> dict[str, Any]:
        metadata = self.body.get("client_metadata")
        return cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {}

    def texts(self) -> list[str]:
        """Returns every text of messages (all roles) and tool outputs, in input order."""
        items = [item for item in self.input if item.get("type") in _TEXT_ITEM_TYPES]
        return [text for item in items for text in _item_texts(item)]

    def mentions(self, fragment: str) -> bool:
        """Returns whether `fragment` occurs anywhere in the input: texts, call arguments, encrypted
        blobs, ids.
        """
        return any(fragment in string for string in _strings(self.input))


def _asks_for_summary(item: Mapping[str, Any]) -> bool:
    if item.get("role") != "user":
        return False
    return any(text.startswith(INLINE_COMPACTION_PREFIX) for text in _item_texts(item))


def _item_texts(item: Mapping[str, Any]) -> Iterator[str]:
    content = item.get("output") if "output" in item else item.get("content")
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in cast("list[dict[str, Any]]", content):
            if isinstance(text := part.get("text"), str):
                yield text


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for member in cast("dict[str, object]", value).values():
                yield from _strings(member)
        case list():
            for member in cast("list[object]", value):
                yield from _strings(member)
        case _:
            pass


def _decoded_object(encoded: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(encoded, type=dict[str, Any])
    except msgspec.MsgspecError:
        return {}
