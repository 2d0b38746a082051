"""Checks the files of a release: their metadata and what they hold. `scripts/test-wheel` installs
and uses them.
"""

import email
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import release_files
from packaging.metadata import Metadata
from trove_classifiers import classifiers

# What the source archive has beside the files that git knows.
MADE = re.compile(r"web/built/|PKG-INFO$")
# A release has nothing of the machine that made it.
MACHINE = re.compile(rb"/(?:home|root|Users|tmp|work|private)/[\w.+-]+/[\w.+-]+")
# A path that stands in a file of the repository is an example.
SUFFIXES = frozenset({".json", ".md", ".txt", ".1"})


def problems(folder: Path, version: str, tracked: set[str]) -> Iterator[str]:
    """Yields what is wrong with the files, a line each. `tracked` are the files that git knows."""
    expected = set(names(version))
    there = {path.name for path in folder.iterdir()}
    yield from (f"{name} is missing" for name in sorted(expected - there))
    yield from (f"{name} does not belong to a release" for name in sorted(there - expected))
    if expected - there:
        return
    if (folder / release_files.SUMS).read_text(encoding="ascii") != release_files.sums(folder):
        yield f"{release_files.SUMS} is not that of the files"
    sdist = f"trimpoint-{version}.tar.gz"
    yield from _source_archive(folder / sdist, version, tracked)
    for name in (n for n in sorted(there) if n.endswith(".whl")):
        with zipfile.ZipFile(folder / name) as archive:
            inside = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
            yield from _metadata(name, archive.read(inside[0]), version)
    with zipfile.ZipFile(folder / f"trimpoint-{version}.vsix") as archive:
        manifest = json.loads(archive.read("extension/package.json"))
        if manifest["version"] != version:
            yield f"the extension is {manifest['version']}: set editors/vscode/package.json"
    bill = json.loads((folder / f"trimpoint-{version}.cdx.json").read_text(encoding="utf-8"))
    if bill["metadata"]["component"]["version"] != version or not bill["components"]:
        yield "the bill of materials is not of this version"
    yield from _of_this_machine(folder)


def names(version: str) -> Iterator[str]:
    """Yields the names of the files of a release."""
    yield from (f"trimpoint-{version}.tar.gz", f"trimpoint-{version}-py3-none-any.whl")
    yield f"trimpoint_protocol-{version}-py3-none-any.whl"
    yield from (f"trimpoint-{version}.nvim.tar.gz", f"trimpoint-{version}.vsix")
    yield from (f"trimpoint-{version}.cdx.json", "trimpoint.1", release_files.SUMS)
    yield from release_files.COMPLETIONS.values()


def notes(changelog: str, version: str) -> str | None:
    """Returns what the changelog says of a version, or None."""
    title = rf"^## {re.escape(version)}(?: \([^)]*\))?\n(.*?)(?=^## |\Z)"
    found = re.search(title, changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() + "\n" if found and found[1].strip() else None


def _source_archive(path: Path, version: str, tracked: set[str]) -> Iterator[str]:
    prefix = f"trimpoint-{version}/"
    with tarfile.open(path) as archive:
        members = [member for member in archive if not member.isdir()]
        information = archive.extractfile(f"{prefix}PKG-INFO")
        assert information is not None
        yield from _metadata(path.name, information.read(), version)
    for member in members:
        inside = member.name.removeprefix(prefix)
        if not MADE.match(inside) and inside not in tracked:
            yield f"{path.name} has {inside}, which git does not know"
        if member.uid or member.gid or member.uname or member.gname:
            yield f"{path.name} says who owned {inside}"


def _metadata(name: str, raw: bytes, version: str) -> Iterator[str]:
    try:
        found = Metadata.from_email(raw, validate=True)
    except ExceptionGroup as group:
        yield from (f"{name}: {error}" for error in group.exceptions)
        return
    if str(found.version) != version:
        yield f"{name} says that it is version {found.version}"
    if found.license_expression is None or not found.license_files:
        yield f"{name} has no licence"
    for classifier in found.classifiers or []:
        if classifier not in classifiers:
            yield f"{name}: the package index knows no “{classifier}”"
    if not (email.message_from_bytes(raw).get_payload() or "").strip():
        yield f"{name} has no description"


def _of_this_machine(folder: Path) -> Iterator[str]:
    """Yields what was made here and names a path of this machine."""
    for path in sorted(folder.iterdir()):
        if path.suffix in SUFFIXES:
            yield from _paths(path.name, path.read_bytes())
        if path.suffix == ".whl":
            with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
                for inside in archive.namelist():
                    if ".dist-info/" in inside and not inside.endswith("METADATA"):
                        yield from _paths(f"{path.name}: {inside}", archive.read(inside))


def _paths(name: str, content: bytes) -> Iterator[str]:
    for found in sorted(set(MACHINE.findall(content))):
        yield f"{name} names {found.decode()}"
