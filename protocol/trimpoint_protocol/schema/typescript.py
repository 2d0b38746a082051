"""The shapes on the wire as TypeScript, made from the same registry as the JSON Schema.

Clients in JavaScript can check their code against it; the web UI does.
"""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from trimpoint_protocol.schema.json_schema import methods, notifications

__all__ = [
    "comment",
    "declarations",
    "type_of",
]

_HEAD = "// Made by scripts/generate-docs from protocol/trimpoint_protocol. Do not edit.\n"
_WORDS = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean"}


def declarations() -> str:
    """Returns the shapes of our methods and notifications, as the text of a `.d.ts` file."""
    shapes: dict[str, Any] = {**methods()["$defs"], **notifications()["$defs"]}
    return "\n".join([_HEAD, *(_declaration(name, shapes[name]) for name in sorted(shapes))])


def _declaration(name: str, shape: Mapping[str, Any]) -> str:
    about = "".join(comment(str(shape.get("description", ""))))
    return f"{about}export type {name} = {type_of(shape)};\n"


def comment(text: str) -> Iterator[str]:
    """Yields a description as the lines of a comment; nothing for an empty one."""
    if text:
        yield "/**\n"
        yield from (f" * {line}".rstrip() + "\n" for line in inspect.cleandoc(text).splitlines())
        yield " */\n"


def type_of(shape: Mapping[str, Any]) -> str:
    """Returns a JSON Schema as a type."""
    if "$ref" in shape:
        return str(shape["$ref"]).rpartition("/")[2]
    if "enum" in shape:
        return " | ".join(_literal(value) for value in shape["enum"])
    if "anyOf" in shape:
        return " | ".join(type_of(one) for one in shape["anyOf"])
    return _plain_type(shape)


def _plain_type(shape: Mapping[str, Any]) -> str:
    match shape.get("type"):
        case "array":
            inner = type_of(shape.get("items", {}))
            return f"({inner})[]" if " " in inner else f"{inner}[]"
        case "object":
            return _object(shape)
        case "null":
            return "null"
        case str(kind):
            return _WORDS[kind]
        case _:
            return "any"


def _object(shape: Mapping[str, Any]) -> str:
    if "properties" not in shape:
        inner: Mapping[str, Any] | bool = shape.get("additionalProperties", True)
        return f"Record<string, {'any' if isinstance(inner, bool) else type_of(inner)}>"
    required = shape.get("required", ())
    members = [
        f"    {name}{'' if name in required else '?'}: {type_of(one)};\n"
        for name, one in shape["properties"].items()
    ]
    return f"{{\n{''.join(members)}}}" if members else "Record<string, never>"


def _literal(value: Any) -> str:
    return "null" if value is None else f'"{value}"'
