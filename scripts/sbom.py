"""Writes down what a release is made of, as CycloneDX: the packages that trimpoint needs, with the
versions of `constraints-dev.txt`, and the JavaScript in the page and the VS Code extension.

Markers are those of the Python that runs this; the document says which.
"""

import base64
import json
import platform
import tomllib
import uuid
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
BUNDLED = (ROOT / "web", ROOT / "editors" / "vscode")
# A name of our own for `uuid5`; it means nothing.
SPACE = uuid.UUID("5f3d7a52-7d3e-5c0b-9a51-0a2c7f6d1e90")


def document(version: str, made_at: int) -> str:
    """Returns the document; the same locks, version and time make the same text."""
    components, needed = python_components()
    components += [part for folder in BUNDLED for part in npm_components(folder)]
    unique = {part["bom-ref"]: part for part in components}
    reference = f"pkg:pypi/trimpoint@{version}"
    content = {
        "metadata": {
            "timestamp": datetime.fromtimestamp(made_at, UTC).isoformat(),
            "component": {
                "type": "application",
                "bom-ref": reference,
                "name": "trimpoint",
                "version": version,
                "licenses": [{"license": {"id": "MIT"}}],
                "purl": reference,
            },
            "properties": [{"name": "trimpoint:resolved-for", "value": _resolved_for()}],
        },
        "components": sorted(unique.values(), key=lambda part: part["bom-ref"]),
        "dependencies": [
            {"ref": ref, "dependsOn": sorted(on)}
            for ref, on in sorted(({reference: needed.pop("")} | needed).items())
        ],
    }
    serial = uuid.uuid5(SPACE, json.dumps(content, sort_keys=True))
    head = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
    }
    return json.dumps(head | content, indent=1) + "\n"


def python_components() -> tuple[list[dict[str, Any]], dict[str, set[str]]]:
    """Returns the packages, and which needs which; the key of trimpoint itself is empty.

    :raises KeyError: when a version is not locked.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    locked = versions(ROOT / "constraints-dev.txt")
    extras = project["optional-dependencies"]
    asked = deque((Requirement(text), "", "required") for text in project["dependencies"])
    asked += [(Requirement(text), "", "optional") for name in extras for text in extras[name]]
    found: dict[str, dict[str, Any]] = {}
    needs: dict[str, set[str]] = {"": set()}
    while asked:
        requirement, by, scope = asked.popleft()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        name = canonicalize_name(requirement.name)
        reference = f"pkg:pypi/{name}@{locked[name]}"
        needs.setdefault(by, set()).add(reference)
        if name in found:
            continue
        found[name] = {
            "type": "library",
            "bom-ref": reference,
            "name": name,
            "version": locked[name],
            "scope": scope,
            "purl": reference,
        }
        asked += [(need, reference, scope) for need in _requirements(name, requirement.extras)]
    return list(found.values()), needs


def versions(constraints: Path) -> dict[str, str]:
    """Returns the locked versions, by canonical name."""
    lines = constraints.read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(";")[0].split("==") for line in lines if "==" in line)
    return {canonicalize_name(name.strip()): version.strip() for name, version in pairs}


def npm_components(folder: Path) -> Iterator[dict[str, Any]]:
    """Yields the packages of a lock file that are bundled; tools are not."""
    lock = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))
    tools = lock["packages"][""].get("devDependencies", {})
    for place, package in lock["packages"].items():
        name = place.rpartition("node_modules/")[2]
        if not place or package.get("dev") or name in tools:
            continue
        reference = f"pkg:npm/{name.replace('@', '%40')}@{package['version']}"
        kind, _, digest = package["integrity"].partition("-")
        part: dict[str, Any] = {
            "type": "library",
            "bom-ref": reference,
            "name": name,
            "version": package["version"],
            "scope": "required",
            "hashes": [
                {"alg": kind.replace("sha", "SHA-"), "content": base64.b64decode(digest).hex()}
            ],
            "purl": reference,
        }
        if "license" in package:
            part["licenses"] = [{"expression": package["license"]}]
        yield part


def _requirements(name: str, extras: set[str]) -> Iterator[Requirement]:
    """Yields what an installed package needs here. One that is not installed, such as that of an
    extra for one system, is a component without its own needs.
    """
    try:
        lines = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return
    for line in lines:
        requirement = Requirement(line)
        wanted = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        )
        if wanted:
            requirement.marker = None
            yield requirement


def _resolved_for() -> str:
    return f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
