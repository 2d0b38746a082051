"""Exports a thread's events for other programs, one JSON object each, in the form that clients
receive. Pure.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from trimpoint.core.model.events import AnyEvent, Record
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.view import envelopes, wire_name


def exported(
    state: ThreadState, record: Record, *, private: bool = False
) -> Iterator[dict[str, Any]]:
    """Yields the events of `record` as JSON objects, in order. `state` must be the state directly
    after the record.

    With `private`, the objects also have the fields that clients never receive, such as raw items.
    """
    for event, envelope in zip(record.events, envelopes(state, record), strict=True):
        document: dict[str, Any] = {"threadId": state.id, **msgspec.to_builtins(envelope)}
        if private:
            document["payload"] |= {
                wire_name(field): _plain(getattr(event, field)) for field in _hidden(event)
            }
        yield document


def _hidden(event: AnyEvent) -> list[str]:
    return [field for field in event.__struct_fields__ if field in event.private]


def _plain(value: Any) -> Any:
    match value:
        case bytes():
            return msgspec.json.decode(value) if value else None
        case tuple():
            return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value
