"""The types of the events that clients receive, derived from the journal's events by the rules of
`core/views/view.py`.

They are not declared a second time, so the documentation of events (`trimpoint schema`,
docs/protocol.md) cannot differ from what is sent.
"""

import re
from typing import Any, get_args

import msgspec
from trimpoint_protocol.timestamps import Timestamp

from trimpoint.core.model.events import AnyEvent, StretchSummarized
from trimpoint.core.views.view import is_time, public_fields, wire_name


def payload_types() -> dict[str, type[msgspec.Struct]]:
    """Returns the payload type of each event type, in the order in which the events are declared.
    All members are always present.
    """
    return {str(event.__struct_config__.tag): _payload_type(event) for event in get_args(AnyEvent)}


def _payload_type(event: type[AnyEvent]) -> type[msgspec.Struct]:
    types = {field.name: field.type for field in msgspec.structs.fields(event)}
    members = [(wire_name(name), _wire_type(name, types[name])) for name in public_fields(event)]
    if event is StretchSummarized:
        members.append(("turnsBefore", int | None))
    return msgspec.defstruct(
        event.__name__,
        members,
        namespace={"__doc__": _wire_description(event)},
        frozen=True,
        kw_only=True,
    )


def _wire_type(field: str, of_journal: Any) -> Any:
    if is_time(field):
        return Timestamp
    # JSON of Codex, which is passed on unchanged.
    return Any if of_journal is bytes else of_journal


def _wire_description(event: type[AnyEvent]) -> str:
    """Returns the event's docstring with fields and values named as on the wire."""
    names = {f"`{name}`": f"`{wire_name(name)}`" for name in event.__struct_fields__}
    names |= {"None": "null", "True": "true", "False": "false"}
    return re.sub(
        r"`\w+`|\b(?:None|True|False)\b",
        lambda found: names.get(found[0], found[0]),
        event.__doc__ or "",
    )
