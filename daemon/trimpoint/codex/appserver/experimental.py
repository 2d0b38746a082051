"""Finds out which methods and parameters of a Codex binary are experimental, from the two protocol
schemas that the binary prints, with and without its experimental API (docs/spec/clients.md).

Codex's rules, measured on 0.133 to 0.171 with all methods and parameters: to a connection without
`capabilities.experimentalApi`, Codex refuses a method that only the experimental schema has, and a
parameter that only that schema has, unless the parameter is null or has its default. Codex decodes
a request first, so a request that lacks a required parameter is refused for that.
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import msgspec

from trimpoint.codex.appserver.launch import LaunchProfile, child_environment

SCHEMA_DEADLINE_S = 30.0
_REQUESTS = "ClientRequest.json"
# Parameters for which null differs from omission (measured: 0.153 to 0.171), which the schema does
# not tell.
_NULL_COUNTS = frozenset({("thread/list", "projectId")})
# A variant of a type that is in both schemas. Codex names it by the type, and checks it before any
# parameter (measured: 0.133 to 0.171).
_GRANULAR = "askForApproval.granular"

_Schema = dict[str, Any]


class SchemaUnavailable(Exception):
    """Raised when the binary did not print its schemas; `reason` is for the log."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ExperimentalApi(msgspec.Struct, frozen=True):
    """The experimental part of Codex's API.

    `methods` maps experimental methods to their required parameters. `members` maps other methods
    to their experimental parameters, each with whether it may be null.
    """

    methods: Mapping[str, frozenset[str]]
    members: Mapping[str, Mapping[str, bool]]

    def used_by(self, method: str, params: Mapping[str, Any]) -> str | None:
        """Returns the first experimental part that a request uses, with the name that Codex gives
        it in errors, or None if it uses none.
        """
        required = self.methods.get(method)
        if required is not None:
            return method if required <= params.keys() else None
        policy = params.get("approvalPolicy")
        if isinstance(policy, dict) and "granular" in policy:
            return _GRANULAR
        used = (
            name
            for name, nullable in self.members.get(method, {}).items()
            if _counts(method, name, params, nullable)
        )
        return next((f"{method}.{name}" for name in used), None)


_known: dict[tuple[str, int, int], ExperimentalApi] = {}


async def experimental_api(profile: LaunchProfile) -> ExperimentalApi:
    """Returns the experimental API of the profile's binary. It is read once for each binary file,
    which takes about 0.3 s.

    :raises SchemaUnavailable: when the binary does not print its schemas.
    """
    return await anyio.to_thread.run_sync(_of_binary, profile, abandon_on_cancel=True)


def compare(stable: _Schema, whole: _Schema) -> ExperimentalApi:
    """Returns the difference between two schemas of `ClientRequest`, one without and one with the
    experimental API.
    """
    known, methods = _params_by_method(stable), _params_by_method(whole)
    experimental = {
        name: frozenset(params.get("required", ()))
        for name, params in methods.items()
        if name not in known
    }
    added = {
        name: {member: _is_nullable(schema) for member, schema in _added(known[name], params)}
        for name, params in methods.items()
        if name in known
    }
    return ExperimentalApi(
        experimental, {name: members for name, members in added.items() if members}
    )


def _counts(method: str, name: str, params: Mapping[str, Any], nullable: bool) -> bool:
    if name not in params:
        return False
    value = params[name]
    if value is None:
        return (method, name) in _NULL_COUNTS
    return nullable or bool(value)


def _of_binary(profile: LaunchProfile) -> ExperimentalApi:
    try:
        facts = profile.codex.stat()
        key = (str(profile.codex), facts.st_mtime_ns, facts.st_size)
        if key not in _known:
            with TemporaryDirectory(prefix="trimpoint-") as folder:
                stable = _printed(profile, Path(folder) / "stable")
                _known[key] = compare(
                    stable, _printed(profile, Path(folder) / "whole", "--experimental")
                )
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError, KeyError) as error:
        raise SchemaUnavailable(f"{type(error).__name__}: {error}") from error
    return _known[key]


def _printed(profile: LaunchProfile, folder: Path, *flags: str) -> _Schema:
    command = [
        str(profile.codex),
        "app-server",
        "generate-json-schema",
        *flags,
        "--out",
        str(folder),
    ]
    environment = child_environment(profile, os.environ)
    quiet = subprocess.DEVNULL
    subprocess.run(
        command,
        env=environment,
        stdin=quiet,
        stdout=quiet,
        stderr=quiet,
        timeout=SCHEMA_DEADLINE_S,
        check=True,
    )
    return msgspec.json.decode((folder / _REQUESTS).read_bytes(), type=_Schema)


def _params_by_method(schema: _Schema) -> dict[str, _Schema]:
    definitions = schema["definitions"]
    found: dict[str, _Schema] = {}
    for request in schema["oneOf"]:
        params = request["properties"].get("params", {})
        reference = params.get("$ref", "").rpartition("/")[2]
        found[request["properties"]["method"]["enum"][0]] = (
            definitions[reference] if reference else params
        )
    return found


def _added(stable: _Schema, whole: _Schema) -> list[tuple[str, _Schema]]:
    before = stable.get("properties", {})
    return sorted(
        (name, schema) for name, schema in whole.get("properties", {}).items() if name not in before
    )


def _is_nullable(schema: _Schema) -> bool:
    kinds = schema.get("type", [])
    return "null" in kinds or any(
        option.get("type") == "null" for option in schema.get("anyOf", ())
    )
