"""The folders where the agents keep their sessions."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from trimpoint_protocol.locations import home_or_root

# What stands in a path for a byte that is no UTF-8.
_SURROGATE = re.compile("[\ud800-\udfff]")


class Homes(NamedTuple):
    """The folders of the agents."""

    codex: Path
    claude: Path
    gemini: Path


def homes_in(environ: Mapping[str, str]) -> Homes:
    """Returns the folders that the agents would use in this environment."""
    home = home_or_root(environ)
    return Homes(
        codex=Path(environ.get("CODEX_HOME") or home / ".codex"),
        claude=Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude"),
        gemini=Path(environ.get("GEMINI_CLI_HOME") or home) / ".gemini",
    )


def homes_to_send(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the folders of this environment as a request about sessions names them. One whose
    name is no UTF-8 is left out, because JSON has no such names.
    """
    places = homes_in(environ)._asdict()
    named = {f"{agent}Home": os.path.abspath(home) for agent, home in places.items()}
    return {name: home for name, home in named.items() if not _SURROGATE.search(home)}


def cache_file(environ: Mapping[str, str]) -> Path:
    """Returns the path of the cache for the list of sessions."""
    base = environ.get("XDG_CACHE_HOME", "")
    home = home_or_root(environ)
    return (Path(base) if base.startswith("/") else home / ".cache") / "trimpoint" / "sessions"
