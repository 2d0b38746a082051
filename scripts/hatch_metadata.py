"""The metadata hook of hatch: takes addresses from `scripts/publishing.toml`, as far as they are
filled in, and lets the links of the README lead to the repository.
"""

import re
import tomllib
from pathlib import Path
from posixpath import join, normpath
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

SCRIPTS = Path(__file__).resolve().parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")
SOURCE = re.compile(r'\b(src|srcset)="(?!https?:)([^"]+)"')


class PublishingHook(MetadataHookInterface):
    """Sets the addresses and the description of a distribution."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Adds `urls` and `readme` to the metadata."""
        known = tomllib.loads((SCRIPTS / "publishing.toml").read_text(encoding="utf-8"))
        metadata["urls"] = {name: address for name, address in known["urls"].items() if address}
        folder = Path(self.root).resolve()
        text = (folder / "README.md").read_text(encoding="utf-8")
        where = folder.relative_to(SCRIPTS.parent).as_posix()
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": linked(text, where, version(), **known["readme"]),
        }


def version() -> str:
    """Returns the version of trimpoint."""
    source = (SCRIPTS.parent / "daemon" / "trimpoint" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"', source, re.MULTILINE)
    if found is None:
        raise ValueError("daemon/trimpoint/__init__.py has no version")
    return found[1]


def linked(text: str, folder: str, version: str, *, links: str, images: str) -> str:
    """Returns a page of a folder with these prefixes before the paths of its links and pictures."""

    def address(prefix: str, path: str) -> str:
        return prefix.replace("{version}", version) + normpath(join(folder, path))

    if links:
        text = LINK.sub(lambda m: m[0] if m[1] else f"[{m[2]}]({address(links, m[3])})", text)
    if images:
        text = LINK.sub(lambda m: f"![{m[2]}]({address(images, m[3])})" if m[1] else m[0], text)
        text = SOURCE.sub(lambda m: f'{m[1]}="{address(images, m[2])}"', text)
    return text
