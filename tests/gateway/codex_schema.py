"""Codex's protocol as the binary describes it: its messages, and every member that they can
have.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from trimpoint_protocol.lenient import as_dict

from tests.deadlines import SCENARIO_S

LIST_ENTRY, MAP_ENTRY = "[]", "{}"
VARIANTS = ("anyOf", "oneOf", "allOf")
# What a schema may say about a value without saying what it is.
REMARKS = frozenset({"description", "default", "title"})
_SAMPLES: dict[str, Any] = {
    "string": "text",
    "integer": 1,
    "boolean": True,
    "array": [],
    "null": None,
}


class Place(NamedTuple):
    """A member of a message. `path` leads to it, and `owner` is the definition that has it.

    `kinds` are the forms in which it can hold text or free JSON: string, any, and lists and maps of
    these: [string], {any} …
    """

    owner: str
    name: str
    path: tuple[str, ...]
    kinds: frozenset[str]
    description: str

    def message(self, value: Any) -> Any:
        """Returns the smallest message that has `value` in this member."""
        for step in reversed(self.path):
            value = [value] if step == LIST_ENTRY else {"key" if step == MAP_ENTRY else step: value}
        return value


class CodexSchema:
    """Reads the bundle that `generate-json-schema` writes."""

    def __init__(self, bundle: bytes) -> None:
        self._older: dict[str, Any] = msgspec.json.decode(bundle)["definitions"]
        self._newer: dict[str, Any] = self._older["v2"]

    @classmethod
    def of(cls, codex: str, folder: Path) -> "CodexSchema":
        """Returns the schema of a Codex binary."""
        command = [
            codex,
            "app-server",
            "generate-json-schema",
            "--experimental",
            "--out",
            str(folder),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=SCENARIO_S)
        return cls((folder / "codex_app_server_protocol.schemas.json").read_bytes())

    def messages(self, union: str) -> dict[str, Any]:
        """Returns the schema of the parameters of each method of a union: ClientRequest,
        ServerNotification or ServerRequest.
        """
        variants = [variant["properties"] for variant in self._older[union]["oneOf"]]
        return {str(one["method"]["enum"][0]): one.get("params", {}) for one in variants}

    def members(self, schema: Any) -> dict[str, Any]:
        """Returns the schema of each member that an object with this schema can have."""
        if "$ref" in schema:
            return self.members(self._definition(schema))
        found = dict(schema.get("properties", {}))
        for variant in [variant for kind in VARIANTS for variant in schema.get(kind, ())]:
            found |= self.members(variant)
        return found

    def answers(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the schemas of responses by name: those that Codex sends, and those that clients
        send.
        """
        every = {
            name: schema
            for name, schema in {**self._older, **self._newer}.items()
            if name.endswith("Response")
        }
        asked = {
            _name(params).replace("Params", "Response")
            for params in self.messages("ServerRequest").values()
        }
        theirs = {name: schema for name, schema in every.items() if name in asked}
        return {
            name: schema
            for name, schema in every.items()
            if name not in asked | {"JSONRPCResponse"}
        }, theirs

    def answers_to_questions(self) -> dict[str, Any]:
        """Method of a question → schema of its answer."""
        _, theirs = self.answers()
        questions = self.messages("ServerRequest").items()
        names = {
            method: _name(params).replace("Params", "Response") for method, params in questions
        }
        return {method: theirs[name] for method, name in names.items() if name in theirs}

    def samples(self, schema: Any) -> list[Any]:
        """The smallest values that a schema allows, one for each word and each variant."""
        if "$ref" in schema:
            return self.samples(self._definition(schema))
        variants = [variant for kind in VARIANTS for variant in schema.get(kind, ())]
        if variants:
            return [sample for variant in variants for sample in self.samples(variant)]
        if "enum" in schema:
            return list(schema["enum"])
        if "object" in schema.get("type", ()):
            return self._sample_objects(schema)
        kinds = schema.get("type", "null")
        return [_SAMPLES[kinds if isinstance(kinds, str) else kinds[0]]]

    def _sample_objects(self, schema: Any) -> list[Any]:
        """The object with what it must have, and with each variant of each of its members."""
        members = schema.get("properties", {})
        tried = {name: self.samples(member) for name, member in members.items()}
        needed = {name: tried[name][0] for name in schema.get("required", ())}
        return [needed] + [
            needed | {name: sample} for name, samples in tried.items() for sample in samples
        ]

    def places(self, schema: Any, owner: str, barriers: frozenset[str]) -> Iterator[Place]:
        """Yields every member that a message can have, each by a shortest path, and by one without
        members called `barriers` if there is one.
        """
        seen: set[tuple[str, bool]] = set()
        waiting: list[tuple[Any, str, tuple[str, ...]]] = [(schema, owner, ())]
        while waiting:
            free, owner, path = waiting.pop(0)
            current = as_dict(free)
            if not current:
                continue
            if (
                "$ref" in current
                and (key := (_name(current), bool(set(path) & barriers))) not in seen
            ):
                seen.add(key)
                waiting.append((self._definition(current), _name(current), path))
            for name, member in current.get("properties", {}).items():
                description = as_dict(member).get("description", "")
                yield Place(owner, name, (*path, name), frozenset(self._kinds(member)), description)
                waiting.append((member, owner, (*path, name)))
            waiting += [
                (variant, owner, path) for kind in VARIANTS for variant in current.get(kind, ())
            ]
            waiting += [(current.get("items"), owner, (*path, LIST_ENTRY))]
            waiting += [(current.get("additionalProperties"), owner, (*path, MAP_ENTRY))]

    def _definition(self, reference: Any) -> Any:
        return self._newer.get(_name(reference)) or self._older[_name(reference)]

    def _kinds(self, free: Any) -> Iterator[str]:
        schema = as_dict(free)
        if free is True or (isinstance(free, dict) and not schema.keys() - REMARKS):
            yield "any"
        elif "$ref" in schema:
            yield from self._kinds(self._definition(schema))
        for variant in [variant for kind in VARIANTS for variant in schema.get(kind, ())]:
            yield from self._kinds(variant)
        types = schema.get("type", ())
        if "string" in types and "enum" not in schema:
            yield "string"
        if "array" in types:
            yield from (f"[{kind}]" for kind in self._kinds(schema.get("items", True)))
        if (
            "object" in types
            and "properties" not in schema
            and schema.get("additionalProperties") is not False
        ):
            yield from (
                f"{{{kind}}}" for kind in self._kinds(schema.get("additionalProperties", True))
            )


def _name(schema: Any) -> str:
    """Returns the name of the definition that a reference names. For optional parameters, that of
    the parameters when they are given.
    """
    reference = schema.get("$ref") or next(
        (one["$ref"] for one in schema.get("anyOf", ()) if "$ref" in one), ""
    )
    return str(reference).rsplit("/", 1)[-1]
