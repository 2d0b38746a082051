"""Generates the OpenAPI document from the table of operations and the registry's types."""

from typing import Any

import msgspec
from trimpoint_protocol.schema import components

from trimpoint import __version__
from trimpoint.http.exchange import EVENT_STREAM, JSON, TEXT
from trimpoint.http.problems import PROBLEM_JSON, Problem
from trimpoint.http.rest.operations import OPERATIONS, Operation

_REFERENCE = "#/components/schemas/{name}"


def document() -> dict[str, Any]:
    """Returns the document; it only depends on the operations."""
    bodies = [operation.body for operation in OPERATIONS.values() if operation.body is not None]
    results = [
        operation.result for operation in OPERATIONS.values() if operation.result is not None
    ]
    shapes = [*bodies, *results, Problem]
    schemas, definitions = components(shapes, _REFERENCE)
    found = {id(shape): schema for shape, schema in zip(shapes, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS.values():
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(
            operation, found
        )
    return {
        "openapi": "3.1.0",
        "info": {"title": "trimpoint", "version": __version__, "description": "See docs/http.md."},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(definitions.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def encoded() -> bytes:
    """Returns the document as formatted JSON."""
    return msgspec.json.format(msgspec.json.encode(document()), indent=2) + b"\n"


def _described(operation: Operation, schemas: dict[int, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {"operationId": operation.id, "summary": operation.summary}
    if parameters := [*_path_parameters(operation), *_query_parameters(operation)]:
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = {"content": {JSON: {"schema": schemas[id(operation.body)]}}}
    content: dict[str, Any] = {}
    if operation.result is not None:
        content[JSON] = {"schema": schemas[id(operation.result)]}
    if operation.streams:
        content[EVENT_STREAM] = {}
    answer = {"description": "Done.", "content": content or {TEXT: {}}}
    problems = {
        "description": "Refused.",
        "content": {PROBLEM_JSON: {"schema": schemas[id(Problem)]}},
    }
    return {**described, "responses": {"200": answer, "default": problems}}


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    names = [segment[1:-1] for segment in operation.segments if segment.startswith("{")]
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in names
    ]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    _, definitions = components([operation.query])
    members = definitions[operation.query.__name__]["properties"]
    return [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in members.items()
    ]
