"""Encodes a reply as server-sent events of the Responses API.

Always true: the bytes of a stream are decided here alone; the server only decides when they are
sent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, assert_never

import msgspec

from trimpoint.testkit.replies import (
    Completed,
    CutOff,
    Failed,
    Item,
    Reply,
    Stalled,
    StreamEnding,
    Usage,
)

_ID_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs", "compaction": "cmp"}


def numbered(reply: Reply, numbers: Iterator[int]) -> Reply:
    """Returns `reply` with ids for the items that lack one; they are unique if `numbers` is."""
    return dataclasses.replace(
        reply, items=[_with_ids(item, next(numbers)) for item in reply.items]
    )


def opening(reply: Reply, response_id: str) -> Iterator[bytes]:
    """Yields the events up to the point where a stream can stall or break: the text of the last
    item is streamed, and the item is not complete.
    """
    yield _frame({"type": "response.created", "response": {"id": response_id}})
    last = len(reply.items) - 1
    for index, item in enumerate(reply.items):
        yield from _started(item, index, reply.delta_chars)
        if index < last:
            yield _finished(item, index)


def closing(reply: Reply, ending: StreamEnding, response_id: str) -> Iterator[bytes]:
    """Yields the events after `opening`; none for a stream that is cut off."""
    match ending:
        case Completed() | Stalled():
            if reply.items:
                yield _finished(reply.items[-1], len(reply.items) - 1)
            response = {"id": response_id, "usage": _usage(reply.usage)}
            yield _frame({"type": "response.completed", "response": response})
        case Failed(code, message):
            error = {"code": code, "message": message}
            response = {"id": response_id, "status": "failed", "error": error}
            yield _frame({"type": "response.failed", "response": response})
        case CutOff():
            return
        case _:
            assert_never(ending)


def _with_ids(item: Item, number: int) -> Item:
    ids: Item = {"id": f"{_ID_PREFIXES.get(item['type'], 'item')}_{number}"}
    if item["type"].endswith("_call"):
        ids["call_id"] = f"call_{number}"
    return ids | item


def _started(item: Item, index: int, delta_chars: int) -> Iterator[bytes]:
    yield _frame(
        {"type": "response.output_item.added", "output_index": index, "item": _empty(item)}
    )
    place = {"item_id": item["id"], "output_index": index}
    match item["type"]:
        case "message":
            for part, content in enumerate(item["content"]):
                at = {"content_index": part}
                yield from _deltas("response.output_text.delta", content, place, at, delta_chars)
        case "reasoning":
            for part, summary in enumerate(item["summary"]):
                at = {"summary_index": part}
                yield _frame(
                    {"type": "response.reasoning_summary_part.added", "part": summary} | place | at
                )
                yield from _deltas(
                    "response.reasoning_summary_text.delta", summary, place, at, delta_chars
                )
        case _:
            pass


def _deltas(
    kind: str,
    part: Mapping[str, str],
    place: Mapping[str, Any],
    at: Mapping[str, int],
    delta_chars: int,
) -> Iterator[bytes]:
    text = part["text"]
    for start in range(0, len(text), delta_chars):
        yield _frame({"type": kind, "delta": text[start : start + delta_chars], **place, **at})


def _empty(item: Item) -> Item:
    """Returns an item as it is announced, before its text is streamed."""
    match item["type"]:
        case "message":
            return item | {"content": []}
        case "reasoning":
            return item | {"summary": []}
        case _:
            return item


def _finished(item: Item, index: int) -> bytes:
    return _frame({"type": "response.output_item.done", "output_index": index, "item": item})


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_input_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


def _frame(event: Mapping[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), msgspec.json.encode(event))
