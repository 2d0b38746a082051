"""The shapes on the wire as TypeScript, made from the same registry as the JSON Schema.

Clients in JavaScript can check their code against it; the web UI does.
"""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from trimpoint_protocol.schema import methods, notifications

__all__ = [
    "declarations",
]

_HEAD = "// Made by scripts/generate-docs from protocol/trimpoint_protocol. Do not edit.\n"
_WORDS = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean"}


def declarations() -> str:
    """Returns the shapes of our methods and notifications, as the text of a `.d.ts` file."""
    shapes: dict[str, Any] = {**methods()["$defs"], **notifications()["$defs"]}
    return "\n".join([_HEAD, *(_declaration(name, shapes[name]) for name in sorted(shapes))])


def _declaration(name: str, shape: Mapping[str, Any]) -> str:
    about = "".join(_comment(str(shape.get("description", ""))))
    return f"{about}export type {name} = {_type(shape)};\n"


def _comment(text: str) -> Iterator[str]:
    if text:
        yield "/**\n"
        yield from (f" * {line}".rstrip() + "\n" for line in inspect.cleandoc(text).splitlines())
        yield " */\n"


def _type(shape: Mapping[str, Any]) -> str:
    if "$ref" in shape:
        return str(shape["$ref"]).rpartition("/")[2]
    if "enum" in shape:
        return " | ".join(_literal(value) for value in shape["enum"])
    if "anyOf" in shape:
        return " | ".join(_type(one) for one in shape["anyOf"])
    return _plain_type(shape)


def _plain_type(shape: Mapping[str, Any]) -> str:
    match shape.get("type"):
        case "array":
            inner = _type(shape.get("items", {}))
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
        return f"Record<string, {'any' if isinstance(inner, bool) else _type(inner)}>"
    required = shape.get("required", ())
    members = [
        f"    {name}{'' if name in required else '?'}: {_type(one)};\n"
        for name, one in shape["properties"].items()
    ]
    return f"{{\n{''.join(members)}}}" if members else "Record<string, never>"


def _literal(value: Any) -> str:
    return "null" if value is None else f'"{value}"'
