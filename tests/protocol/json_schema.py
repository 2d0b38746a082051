"""As much of JSON Schema as our documents use, to hold real messages against them."""

from collections.abc import Iterator
from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "object": (dict,), "array": (list,),
    "null": (type(None),),
}  # fmt: skip
# What says something about a schema and nothing about a value.
REMARKS = {
    "$schema",
    "$defs",
    "title",
    "description",
    "default",
    "discriminator",
    "results",
    "reasons",
    "document",
    "format",
    "type",
}


def problems(value: Any, schema: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    """Why `value` is not what `schema` says; nothing when it is.

    :raises KeyError: the schema uses what this validator does not know.
    """
    # Other rules are about values of the right type only.
    if "type" in schema and (wrong := list(_type(value, schema["type"]))):
        yield from wrong
        return
    for keyword, said in schema.items():
        if keyword not in REMARKS:
            yield from (
                f"{keyword}: {problem}" for problem in RULES[keyword](value, said, schema, document)
            )


def references(schema: Any) -> Iterator[str]:
    """Every `$ref` in a schema."""
    if isinstance(schema, dict):
        yield from (schema["$ref"],) if "$ref" in schema else ()
        for member in schema.values():
            yield from references(member)
    elif isinstance(schema, list):
        for member in schema:
            yield from references(member)


def _unless(condition: bool, problem: str) -> Iterator[str]:
    yield from () if condition else (problem,)


def _type(value: Any, said: str | list[str]) -> Iterator[str]:
    allowed = tuple(
        kind for name in ([said] if isinstance(said, str) else said) for kind in TYPES[name]
    )
    yield from _unless(
        isinstance(value, allowed) and (not isinstance(value, bool) or bool in allowed),
        f"{value!r} is no {said}",
    )


def _properties(value: Any, said: dict[str, Any], schema: Any, document: Any) -> Iterator[str]:
    for name in said.keys() & value.keys():
        yield from (f"{name}: {problem}" for problem in problems(value[name], said[name], document))


def _additional(value: Any, said: Any, schema: Any, document: Any) -> Iterator[str]:
    unknown = value.keys() - schema.get("properties", {}).keys()
    yield from _unless(said is not False or not unknown, f"unknown {sorted(unknown)}")


def _one_of(value: Any, said: list[Any], schema: Any, document: Any) -> Iterator[str]:
    fitting = [variant for variant in said if not list(problems(value, variant, document))]
    yield from _unless(len(fitting) == 1, f"{len(fitting)} variants fit")


def _any_of(value: Any, said: list[Any], schema: Any, document: Any) -> Iterator[str]:
    yield from _unless(
        any(not list(problems(value, variant, document)) for variant in said),
        f"nothing fits {value!r}",
    )


def _items(value: Any, said: Any, schema: Any, document: Any) -> Iterator[str]:
    for member in value:
        yield from problems(member, said, document)


RULES: dict[str, Any] = {
    "$ref": lambda value, said, schema, document: problems(
        value, document["$defs"][said.removeprefix("#/$defs/")], document
    ),
    "properties": _properties,
    "required": lambda value, said, schema, document: (
        f"{name} is missing" for name in said if name not in value
    ),
    "additionalProperties": _additional,
    "oneOf": _one_of,
    "anyOf": _any_of,
    "items": _items,
    "enum": lambda value, said, schema, document: _unless(
        value in said, f"{value!r} is none of {said}"
    ),
    "const": lambda value, said, schema, document: _unless(
        value == said, f"{value!r} is not {said!r}"
    ),
    "minimum": lambda value, said, schema, document: _unless(
        value >= said, f"{value} is too small"
    ),
    "maximum": lambda value, said, schema, document: _unless(
        value <= said, f"{value} is too large"
    ),
    "minLength": lambda value, said, schema, document: _unless(len(value) >= said, "too short"),
    "maxLength": lambda value, said, schema, document: _unless(len(value) <= said, "too long"),
}
