"""Experimental parts of Codex's protocol are read from its own schema, and checked as Codex checks
them.
"""

from pathlib import Path
from typing import Any

import codex_cli_bin
import pytest
from trimpoint.codex.appserver.experimental import (
    ExperimentalApi,
    SchemaUnavailable,
    compare,
    experimental_api,
)
from trimpoint.codex.appserver.launch import LaunchProfile

STRING = {"type": "string"}


def schema(**methods: dict[str, Any]) -> dict[str, Any]:
    """Returns a schema in which method `m` has the parameters of definition `m`, given as its
    properties.
    """
    requests = [
        {"properties": {"method": {"enum": [name]}, "params": {"$ref": f"#/definitions/{name}"}}}
        for name in methods
    ]
    return {
        "oneOf": requests,
        "definitions": {name: {"properties": members} for name, members in methods.items()},
    }


def test_a_method_or_member_that_only_the_whole_schema_has_is_experimental() -> None:
    nullable = {"type": ["string", "null"]}
    either = {"anyOf": [{"$ref": "#/definitions/x"}, {"type": "null"}]}
    whole = schema(
        old={"a": STRING, "b": {"type": "boolean"}, "n": nullable, "e": either},
        new={"a": STRING},
        same={"a": STRING},
    )
    whole["definitions"]["new"]["required"] = ["a"]
    api = compare(schema(old={"a": STRING}, same={"a": STRING}), whole)
    assert api == ExperimentalApi(
        {"new": frozenset({"a"})}, {"old": {"b": False, "e": True, "n": True}}
    )


def test_a_request_without_parameters_is_compared_too() -> None:
    bare = {"properties": {"method": {"enum": ["bare"]}, "params": {"type": "null"}}}
    assert (
        compare({"oneOf": [], "definitions": {}}, {"oneOf": [bare], "definitions": {}}).used_by(
            "bare", {}
        )
        == "bare"
    )


API = ExperimentalApi(
    {"new": frozenset({"a"})},
    {
        "old": {"flag": False, "list": True, "text": True},
        "thread/list": {"projectId": True, "parent": True},
    },
)


@pytest.mark.parametrize(
    ("method", "params", "used"),
    [
        ("new", {"a": 1}, "new"),
        ("new", {"b": 1}, None),
        ("old", {}, None),
        ("old", {"other": 1}, None),
        ("old", {"text": "x", "list": []}, "old.list"),
        ("old", {"text": ""}, "old.text"),
        ("old", {"text": None}, None),
        ("old", {"flag": True}, "old.flag"),
        ("old", {"flag": False}, None),
        ("thread/list", {"projectId": None}, "thread/list.projectId"),
        ("thread/list", {"parent": None}, None),
        ("unknown", {"text": "x"}, None),
        ("unknown", {"approvalPolicy": {"granular": {}}}, "askForApproval.granular"),
        ("old", {"text": "x", "approvalPolicy": {"granular": {}}}, "askForApproval.granular"),
        ("old", {"approvalPolicy": "never"}, None),
    ],
)
def test_experimental_methods_and_members_count_as_use(
    method: str, params: dict[str, Any], used: str | None
) -> None:
    assert API.used_by(method, params) == used


@pytest.mark.codex
async def test_the_binary_is_asked_once_and_again_when_it_has_changed(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    binary = tmp_path / "codex"
    binary.write_text(
        f'#!/bin/sh\necho >> "{calls}"\nexec "{codex_cli_bin.bundled_codex_path()}" "$@"\n'
    )
    binary.chmod(0o755)
    first, again = [
        await experimental_api(LaunchProfile(binary, codex_home=tmp_path)) for _ in range(2)
    ]
    assert first is again
    assert calls.read_text() == "\n\n"
    assert first.used_by("thread/search", {"searchTerm": "x"}) == "thread/search"
    assert (
        first.used_by("thread/start", {"cwd": "/", "dynamicTools": []})
        == "thread/start.dynamicTools"
    )
    assert first.used_by("thread/start", {"cwd": "/", "ephemeral": True}) is None
    binary.write_text(binary.read_text() + "# changed\n")
    assert await experimental_api(LaunchProfile(binary, codex_home=tmp_path)) == first
    assert calls.read_text() == "\n" * 4


@pytest.mark.processes
@pytest.mark.parametrize(
    "script",
    [
        "exit 1",
        "true",
        'for last; do :; done; mkdir -p "$last"; echo {} > "$last/ClientRequest.json"',
    ],
)
async def test_a_binary_that_does_not_print_its_protocol_is_reported(
    tmp_path: Path, script: str
) -> None:
    binary = tmp_path / "codex"
    binary.write_text(f"#!/bin/sh\n{script}\n")
    binary.chmod(0o755)
    with pytest.raises(SchemaUnavailable) as caught:
        await experimental_api(LaunchProfile(binary))
    assert caught.value.reason


async def test_a_missing_binary_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SchemaUnavailable, match="FileNotFoundError"):
        await experimental_api(LaunchProfile(tmp_path / "codex"))
