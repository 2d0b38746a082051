"""The versions of Codex that trimpoint supports, and the messages about other versions
(docs/codex-versions.md).

The versions are those that `scripts/test-versions` was run with. Newer ones are expected to work.
"""

import os
import re
import subprocess
from pathlib import Path

from trimpoint.codex.appserver.errors import ProviderError, ProviderFailure, ProviderLacks

Version = tuple[int, int, int]

OLDEST_SUPPORTED: Version = (0, 133, 0)
NEWEST_TESTED: Version = (0, 171, 0)
FORKS_AT_TURNS: Version = (0, 144, 4)
"""The first version known to fork a thread at a turn. Older ones ignore the turn (0.133)."""
FORKS_WITHOUT_INJECTED: Version = (0, 153, 0)
"""The first version whose fork at a turn leaves out what was injected behind the turn."""
TAKES_ANY_SOURCE: Version = (0, 144, 4)
"""The first version known to take any word as the source of a thread (measured; 0.133 refuses)."""
REMEMBERS_SETTINGS: Version = (0, 163, 0)
"""The first version that does not resume and fork a thread with the configured sandbox, approvals
or instructions instead of the thread's, and tell the model so in the middle of the conversation
(measured: 0.153; 0.163 does not)."""
# Codex reports an unknown method as an unknown variant of the request's type (measured: 0.133 to
# 0.171). Every method that we use contains a slash; other values, such as a sandbox mode, do not.
_UNKNOWN_METHOD = re.compile(
    r"(?:unknown variant|not found: method) `?([A-Za-z_]+(?:/[A-Za-z_]+)+)"
)

_VERSION_DEADLINE_S = 10.0
_VERSION = re.compile(r"\b(\d+)\.(\d+)\.(\d+)")
# A `CODEX_HOME` that cannot exist: with a real one, Codex would write files even for --version
# (measured: 0.163).
_NO_HOME = f"{os.devnull}/no-codex-home"


def forgets_settings(version: tuple[int, ...] | None) -> bool:
    """Returns whether this version resumes or forks a thread with other settings than it had."""
    return version is not None and version < REMEMBERS_SETTINGS


def binary_version(binary: Path) -> Version | None:
    """Returns the version that a Codex binary prints, or None if it prints none."""
    environment = {**os.environ, "CODEX_HOME": _NO_HOME}
    try:
        done = subprocess.run(
            [str(binary), "--version"],
            env=environment,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=_VERSION_DEADLINE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stdout)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def missing_method(error: ProviderFailure) -> str | None:
    """Returns the method, or the ability, that this version of Codex lacks, or None if the request
    failed for another reason.
    """
    if isinstance(error, ProviderLacks):
        return error.ability
    found = _UNKNOWN_METHOD.search(error.message) if isinstance(error, ProviderError) else None
    return found[1] if found is not None else None


def lacking(method: str, version: Version | None) -> str:
    """Returns a sentence for a person about a method that this Codex lacks."""
    codex = "This Codex" if version is None else f"Codex {version_text(version)}"
    if version is not None and version >= OLDEST_SUPPORTED:
        return (
            f"{codex} has no {method}; trimpoint is tested with Codex "
            f"{version_text(OLDEST_SUPPORTED)} to {version_text(NEWEST_TESTED)}"
        )
    return f"{codex} has no {method}; Codex {version_text(OLDEST_SUPPORTED)} or newer is needed"


def version_text(version: Version) -> str:
    """Returns the version as text, such as "0.171.0"."""
    return ".".join(map(str, version))
