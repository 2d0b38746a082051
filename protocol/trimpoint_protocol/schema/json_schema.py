"""Generates JSON Schemas (2020-12) from the registry: methods, notifications, commands, events,
errors, records of sessions.

Each document describes one kind of message and contains in its `$defs` everything that it refers
to. The documents depend only on the registry. The daemon passes the payloads of events, because it
defines them.
"""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from trimpoint_protocol.commands import AnyClientCommand
from trimpoint_protocol.errors import ERROR_KINDS, ErrorData
from trimpoint_protocol.methods import METHODS, NOTIFICATIONS
from trimpoint_protocol.readmodel import EventEnvelope
from trimpoint_protocol.unified import Document, Record

__all__ = [
    "DIALECT",
    "REFERENCE",
    "Payloads",
    "Schema",
    "commands",
    "components",
    "documents",
    "encode",
    "errors",
    "events",
    "methods",
    "notifications",
    "prose",
    "records",
]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
REFERENCE = "#/$defs/{name}"
Schema = dict[str, Any]
Payloads = Mapping[str, type[msgspec.Struct]]


def documents(payloads: Payloads) -> dict[str, Schema]:
    """Returns all documents by file name, the index last.

    :param payloads: the type of the payload for each event type.
    """
    kinds = {
        "methods.json": methods(),
        "notifications.json": notifications(),
        "commands.json": commands(),
        "events.json": events(payloads),
        "errors.json": errors(),
        "records.json": records(),
    }
    return {**kinds, "index.json": _index(kinds)}


def encode(document: Schema) -> bytes:
    """Returns a document as formatted JSON."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def methods() -> Schema:
    """Returns the schema of a request of trimpoint's methods; `results` has the type of each
    result.
    """
    types = [kind for method in METHODS.values() for kind in (method.params, method.result)]
    definitions = _definitions(types)
    variants = [
        _message(
            method.name, method.params, method.description, definitions[method.params.__name__]
        )
        for method in METHODS.values()
    ]
    results = {method.name: _reference(method.result) for method in METHODS.values()}
    about = "A request for a method of trimpoint's own; the result of each method is in `results`."
    identified = {
        "properties": {"id": {"type": ["string", "integer"]}},
        "required": ["id", "method"],
    }
    return _document(
        "Requests",
        about,
        {"type": "object", **identified, "oneOf": variants, "results": results},
        definitions,
    )


def notifications() -> Schema:
    """Returns the schema of trimpoint's notifications."""
    definitions = _definitions([kind.params for kind in NOTIFICATIONS.values()])
    variants = [
        _message(kind.name, kind.params, kind.description, definitions[kind.params.__name__])
        for kind in NOTIFICATIONS.values()
    ]
    about = "A notification that trimpoint sends beside those of Codex."
    return _document(
        "Notifications",
        about,
        {"type": "object", "required": ["method"], "oneOf": variants},
        definitions,
    )


def commands() -> Schema:
    """Returns the schema of the commands of `orchestration/dispatch`."""
    (union,), definitions = components([AnyClientCommand])
    about = "A command for `orchestration/dispatch`, told apart by its `type`."
    return _document(
        "Commands",
        about,
        {"oneOf": union["anyOf"], "discriminator": union["discriminator"]},
        definitions,
    )


def events(payloads: Payloads) -> Schema:
    """Returns the schema of `orchestration/event`, with the payload of each event type."""
    definitions = _definitions([*payloads.values(), EventEnvelope])
    envelope = definitions.pop(EventEnvelope.__name__)
    members = {
        name: member
        for name, member in envelope["properties"].items()
        if name not in ("type", "payload")
    }
    variants = [
        {
            "title": kind,
            "description": definitions[payload.__name__]["description"],
            "properties": {"type": {"const": kind}, "payload": _reference(payload)},
        }
        for kind, payload in payloads.items()
    ]
    shape = {
        "type": "object",
        "properties": members,
        "required": envelope["required"],
        "oneOf": variants,
    }
    return _document("Events", envelope["description"], shape, definitions)


def errors() -> Schema:
    """Returns the schema of trimpoint's error object; `reasons` has the code and the retryability
    of each reason.
    """
    definitions = _definitions([ErrorData])
    reasons = {reason.value: kind._asdict() for reason, kind in ERROR_KINDS.items()}
    shape = {
        "type": "object",
        "properties": {
            "code": {"type": "integer"},
            "message": {"type": "string"},
            "data": _reference(ErrorData),
        },
        "required": ["code", "message", "data"],
        "reasons": reasons,
    }
    about = (
        "The `error` of a response that trimpoint refused. Errors of Codex are passed on as Codex "
        "wrote them."
    )
    return _document("Errors", about, shape, definitions)


def records() -> Schema:
    """Returns the schema of a record of a session in the unified form; `document` is a whole
    session.
    """
    (union, whole), definitions = components([Record, Document])
    about = (
        "A line of a session of any agent in the unified form, told apart by its `type`. The form "
        "`unified-json` has a whole session as one object, whose shape is in `document`."
    )
    variants = {"oneOf": union["anyOf"], "discriminator": union["discriminator"]}
    return _document("Session records", about, {**variants, "document": whole}, definitions)


def _document(title: str, about: str, shape: Schema, definitions: Mapping[str, Schema]) -> Schema:
    return {
        "$schema": DIALECT,
        "title": title,
        "description": about,
        **shape,
        "$defs": dict(sorted(definitions.items())),
    }


def _index(kinds: Mapping[str, Schema]) -> Schema:
    files = {
        file: {"title": document["title"], "description": document["description"]}
        for file, document in kinds.items()
    }
    return {
        "title": "The protocol of trimpoint, beside that of the Codex app-server",
        "files": files,
    }


def _message(name: str, params: type[Any], description: str, definition: Schema) -> Schema:
    """Returns the schema of a message. Its parameters are optional if none of their members is
    required.
    """
    required = ["method", "params"] if definition.get("required") else ["method"]
    members = {"method": {"const": name}, "params": _reference(params)}
    return {"title": name, "description": description, "properties": members, "required": required}


def _reference(kind: type[Any]) -> Schema:
    return {"$ref": REFERENCE.format(name=kind.__name__)}


def _definitions(types: Iterable[Any]) -> dict[str, Schema]:
    return components(types)[1]


def components(
    types: Iterable[Any], ref_template: str = REFERENCE
) -> tuple[tuple[Schema, ...], dict[str, Schema]]:
    """Returns the schema of each type, and the definitions that they refer to by name.

    The members of a union are sorted, so that they do not depend on the version of msgspec.
    """
    schemas, definitions = msgspec.json.schema_components(types, ref_template=ref_template)
    return tuple(map(_in_order, schemas)), {
        name: _with_prose(_in_order(definition)) for name, definition in definitions.items()
    }


def _in_order(node: Any) -> Any:
    if isinstance(node, dict):
        given = cast("Schema", node)
        ordered: Schema = {name: _in_order(value) for name, value in given.items()}
        if "anyOf" in ordered:
            ordered["anyOf"].sort(key=_place_in_union)
        if "mapping" in ordered.get("discriminator", ()):
            mapping = ordered["discriminator"]["mapping"]
            ordered["discriminator"]["mapping"] = dict(sorted(mapping.items()))
        return ordered
    if isinstance(node, list):
        return list(map(_in_order, cast("list[object]", node)))
    return node


def _place_in_union(member: Schema) -> tuple[bool, bytes]:
    return member.get("type") == "null", msgspec.json.encode(member, order="sorted")


def _with_prose(definition: Schema) -> Schema:
    about = definition.get("description")
    return definition if about is None else {**definition, "description": prose(about)}


def prose(docstring: str) -> str:
    """Returns a docstring as paragraphs of one line each, without the breaks and the indentation
    that it has in the code.
    """
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
