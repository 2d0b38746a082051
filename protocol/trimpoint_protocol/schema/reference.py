"""Generates the reference page, docs/protocol.md, from the documents of `schema.documents`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from trimpoint_protocol.schema.json_schema import Schema

__all__ = [
    "COMMANDS",
    "ERRORS",
    "EVENTS",
    "METHODS",
    "OPENING",
    "RECORDS",
    "SHAPES",
    "SHAPES_OF_RECORDS",
    "page",
]

OPENING = """\
# Protocol reference

<!-- Made by scripts/generate-docs from protocol/trimpoint_protocol and
     daemon/trimpoint/core/model/events. Do not edit. -->

trimpoint answers the methods of the Codex app-server as Codex does. This page has what it adds:
methods, notifications, commands, events and errors of its own. `trimpoint schema --out DIR` writes
the same as JSON Schema.

A client shakes hands first, with `initialize` and `initialized`, as with Codex. Every thread is
known by one id, whichever Codex thread serves it. A *time* is a string, RFC 3339 in UTC with
milliseconds: `2026-01-31T09:05:00.250Z`. New members may be added to whatever trimpoint sends; a
member that it does not know in what it is sent is an error.
"""
METHODS = (
    "Requests that trimpoint answers itself. Parameters may be left out where none is required."
)
SHAPES = (
    "What the tables above refer to. Every member is always there unless the table says otherwise."
)
COMMANDS = """\
The sender chooses the `commandId`; the same command sent again under the same id is not carried out
again, but answered with what it was answered before. `createdAt` is the sender's own clock, and is
kept as it is."""
EVENTS = """\
Events are what happened to a thread, in order, and are never taken back. `orchestration/dispatch`
answers with those that a command caused, and `orchestration/subscribeThread` brings all of a thread
as notifications `orchestration/event`. Each comes in an [EventEnvelope](#eventenvelope), whose
`payload` depends on its `type`. Every member of a payload is always there."""
ERRORS = """\
An error of trimpoint's own is `{code, message, data}`: `message` is a sentence for a person, `data`
is an [ErrorData](#errordata). Go by `data.reason`; some codes are those that Codex uses.
*Retryable* means that the same request can succeed later, without a change. Errors of Codex are
passed on as Codex wrote them, without a `reason`."""

RECORDS = (
    "Names are in snake_case, and every member is always there. "
    "[Sessions of all agents](session-logs.md) says where each is found."
)

# Records whose shape is not named as they are.
SHAPES_OF_RECORDS = {"session": "SessionRecord", "usage": "SessionUsage"}


def page(documents: Mapping[str, Schema]) -> str:
    """Returns the whole page."""
    sections = (
        _methods(documents["methods.json"]),
        _notifications(documents["notifications.json"]),
        _commands(documents["commands.json"]),
        _events(documents["events.json"]),
        _shapes(documents),
        _errors(documents["errors.json"]),
        _records(documents["records.json"]),
    )
    return OPENING + "".join(f"\n{block}\n" for section in sections for block in section)


def _methods(document: Schema) -> Iterator[str]:
    yield f"## Methods\n\n{METHODS}"
    yield _list(document["oneOf"])
    for variant in document["oneOf"]:
        name = variant["title"]
        yield f"### `{name}`\n\n{variant['description']}"
        yield _described("Parameters", variant["properties"]["params"], document, optional=True)
        yield _described("Result", document["results"][name], document)


def _notifications(document: Schema) -> Iterator[str]:
    yield (
        "## Notifications\n\n"
        "What a client is sent without asking, beside the notifications of Codex."
    )
    for variant in document["oneOf"]:
        yield f"### `{variant['title']}`\n\n{variant['description']}"
        yield _described("Parameters", variant["properties"]["params"], document)


def _commands(document: Schema) -> Iterator[str]:
    yield f"## Commands\n\n{document['description']}\n{COMMANDS}"
    for kind, reference in document["discriminator"]["mapping"].items():
        definition = document["$defs"][_name(reference)]
        yield f"### `{kind}`\n\n{definition['description']}"
        yield _table({**definition, "properties": _without(definition, "type")}, optional=True)


def _events(document: Schema) -> Iterator[str]:
    yield f"## Events\n\n{EVENTS}"
    for variant in document["oneOf"]:
        yield f"### `{variant['title']}`\n\n{variant['description']}"
        yield _table(_definition(variant["properties"]["payload"], document))


def _shapes(documents: Mapping[str, Schema]) -> Iterator[str]:
    yield f"## Shapes\n\n{SHAPES}"
    every = {
        name: shape
        for file, document in documents.items()
        if file != "records.json"  # they have a section of their own
        for name, shape in document.get("$defs", {}).items()
    }
    own_section = {
        _name(reference)
        for reference in documents["commands.json"]["discriminator"]["mapping"].values()
    }
    for name in sorted(_referred_to(every) - own_section - {"Reason"}):
        yield f"### {name}\n\n{every[name]['description']}"
        yield _table(every[name], optional=name == "ErrorData")


def _errors(document: Schema) -> Iterator[str]:
    yield f"## Errors\n\n{ERRORS}"
    rows = (
        f"| `{reason}` | {kind['code']} | {'yes' if kind['retryable'] else 'no'} |"
        for reason, kind in document["reasons"].items()
    )
    yield "\n".join(("| Reason | Code | Retryable |", "| --- | --- | --- |", *rows))


def _records(document: Schema) -> Iterator[str]:
    """Yields the section of each record: its members and its `type`."""
    yield f"## Session records\n\n{document['description']} {RECORDS}"
    definitions: dict[str, Schema] = document["$defs"]
    shapes = {
        kind: SHAPES_OF_RECORDS.get(kind) or _name(reference).removesuffix("Record")
        for kind, reference in document["discriminator"]["mapping"].items()
    }
    rows = (f"| `{kind}` | [{name}](#{_anchor(name)}) |" for kind, name in shapes.items())
    yield "\n".join(("| Record | Shape |", "| --- | --- |", *rows))
    for name in sorted(definitions):
        if name in shapes.values() or not name.endswith("Record"):
            definition = definitions[name]
            yield f"### {name}\n\n{definition['description']}"
            yield _table({**definition, "properties": _without(definition, "type")})


def _list(variants: list[Schema]) -> str:
    rows = (
        f"| [`{one['title']}`](#{_anchor(one['title'])}) | {one['description']} |"
        for one in variants
    )
    return "\n".join(("| Method | |", "| --- | --- |", *rows))


def _described(what: str, reference: Schema, document: Schema, *, optional: bool = False) -> str:
    definition = _definition(reference, document)
    if not definition["properties"]:
        return f"**{what}**: none." if optional else f"**{what}**: `{{}}`."
    return f"**{what}**: {definition['description']}\n\n{_table(definition, optional=optional)}"


def _table(definition: Schema, *, optional: bool = False) -> str:
    """Members with their types; `optional`: some may be left out."""
    members: dict[str, Schema] = definition["properties"]
    if not members:
        return "No members."
    if not optional:
        rows = [f"| `{name}` | {_type(member)} |" for name, member in members.items()]
        return "\n".join(("| Member | Type |", "| --- | --- |", *rows))
    required = definition.get("required", ())
    rows = [
        f"| `{name}` | {_type(member)} | {_need(name in required, member)} |"
        for name, member in members.items()
    ]
    return "\n".join(("| Member | Type | Required |", "| --- | --- | --- |", *rows))


def _need(is_required: bool, member: Schema) -> str:
    if is_required:
        return "yes"
    default = member.get("default")
    return "no" if default is None or default == "" else f"no, {_literal(default)}"


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        name = _name(schema["$ref"])
        return "a [reason](#errors)" if name == "Reason" else f"[{name}](#{_anchor(name)})"
    if any(_name(one.get("$ref", "")) == "TrimContext" for one in schema.get("anyOf", ())):
        return "a [command](#commands)"
    if "anyOf" in schema:
        # The order of msgspec's variants depends on its version.
        variants = sorted(schema["anyOf"], key=lambda one: one.get("type") == "null")
        return " or ".join(_type(variant) for variant in variants)
    if "enum" in schema:
        return " or ".join(_literal(value) for value in schema["enum"])
    kind = schema.get("type", "any JSON")
    if kind == "array":
        return f"list of {_type(schema['items']).replace(' or ', ', ')}"
    return "time" if schema.get("format") == "date-time" else kind + _limits(schema)


def _limits(schema: Schema) -> str:
    """Returns the range of a number or the length of a text as words; empty if unlimited."""
    least = schema.get("minimum", schema.get("minLength"))
    most = schema.get("maximum", schema.get("maxLength"))
    of = " characters" if "maxLength" in schema else ""
    if least is None:
        return ""
    return f" (at least {least})" if most is None else f" ({least} to {most:,}{of})"


def _referred_to(definitions: Mapping[str, Schema]) -> set[str]:
    """Returns the names that members of the definitions refer to, and those that the page itself
    does.
    """
    members = msgspec.json.encode(
        [definition.get("properties") for definition in definitions.values()]
    )
    return {
        *re.findall(r'"\$ref":"#/\$defs/(\w+)"', members.decode()),
        "EventEnvelope",
        "ErrorData",
    }


def _definition(reference: Schema, document: Schema) -> Schema:
    definition: Schema = document["$defs"][_name(reference["$ref"])]
    return definition


def _without(definition: Schema, member: str) -> Schema:
    return {name: schema for name, schema in definition["properties"].items() if name != member}


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _anchor(heading: str) -> str:
    return heading.lower().replace("/", "").replace(".", "")


def _literal(value: Any) -> str:
    return f'`"{value}"`' if isinstance(value, str) else f"`{str(value).lower()}`"
