"""`trimpoint doctor --report`: what was found, as a page that a person can send to strangers.

Always true: only what is declared here is said. Of everything else that a check has read there is a
count at most. Texts and hints of findings are left out, since names of files, servers, variables
and people are in them; a finding's `kind` holds nothing that was read.
"""

import errno
import platform
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, get_args

from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint import __version__
from trimpoint.doctor.findings import CheckResult
from trimpoint.service.units import Standing
from trimpoint.system import SYSTEM

_MARKS = {"ok": "ok", "warn": "**warning**", "fail": "**failure**"}
_VERSION = re.compile(r"\d{1,6}(?:\.\d{1,6}){1,3}")

_COUNTS = {
    "diskBytes": "bytes on the disk",
    "freeBytes": "bytes free",
    "hard": "open files at most",
    "readOnly": "not to be continued",
    "records": "records",
    "refs": "checkpoints",
    "stray": "of unknown threads",
    "threads": "threads",
    "torn": "torn",
    "whole": "whole",
}
_FLAGS = {
    "exists": ("not there", "there"),
    "linger": ("ends at logout", "stays after logout"),
    "listening": ("no process listens", "a process listens"),
}
_STANDINGS: tuple[str, ...] = get_args(Standing)
_LENGTHS = {
    "calledLikeSecrets": "variables called like secrets",
    "names": "variables for agents",
    "notEncrypted": "servers perhaps not encrypted",
    "restrictedBy": "kernel settings that restrict",
    "running": "Codex processes",
    "servers": "servers",
    "settings": "settings",
    "threads": "threads",
}
_WORDS: dict[str, Collection[str]] = {
    "content": ("full", "none", "titles"),
    "error": frozenset(errno.errorcode.values()),
    "kind": ("with ChatGPT", "with an API key"),
    "source": ("bundled", "config", "flag", "path"),
    "standing": _STANDINGS,
}

DECLARED = frozenset({*_COUNTS, *_FLAGS, *_LENGTHS, *_WORDS, "units", "version"})
"""The facts of which something may be said."""


def report(results: Sequence[CheckResult]) -> str:
    """Returns the page: the versions, and of each check what it found wrong, with its declared
    facts.
    """
    return "\n".join(_lines(results)) + "\n"


def _lines(results: Sequence[CheckResult]) -> Iterator[str]:
    yield from ("# trimpoint doctor --report", "")
    yield f"- trimpoint {__version__}"
    yield f"- Python {_version(platform.python_version())}, {platform.python_implementation()}"
    release = platform.mac_ver()[0] or platform.release()
    system = f"{platform.system()} {_version(release)} {platform.machine()}"
    yield f"- System: {system}, as {type(SYSTEM).__name__}"
    yield from ("", "| Check | | Problem | Facts |", "|---|---|---|---|")
    for check, finding in results:
        said = "; ".join(_said(finding.facts))
        yield f"| {check} | {_MARKS[finding.status]} | {finding.kind} | {said} |"


def _said(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yields what may be said of the facts of a finding."""
    for name, value in facts.items():
        match value:
            case bool():
                if name in _FLAGS:
                    yield _FLAGS[name][value]
            case int() if name in _COUNTS:
                yield f"{value} {_COUNTS[name]}"
            case str() if name == "version":
                yield f"version {_version(value)}"
            case str() if value in _WORDS.get(name, ()):
                yield value
            case list() if name in _LENGTHS:
                yield f"{len(as_list(value))} {_LENGTHS[name]}"
            case dict() if name == "settings":
                settings = as_dict(value).values()
                changed = sum(as_dict(setting).get("origin") != "default" for setting in settings)
                yield f"{changed} settings are not the built-in ones"
            case dict() if name == "units":
                yield from (word for word in as_dict(value).values() if word in _STANDINGS)
            case _:
                pass


def _version(text: str) -> str:
    """Returns the numbers of a version, without what somebody may have added."""
    found = _VERSION.search(text)
    return found[0] if found else "of unknown version"
