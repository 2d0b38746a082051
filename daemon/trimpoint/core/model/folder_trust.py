"""What Codex's configuration says about a folder."""

import json
from typing import NamedTuple


class FolderTrust(NamedTuple):
    """A folder, the level of trust that Codex's configuration gives it (`trusted`, `untrusted`, or
    None if it does not name the folder), and the file of that configuration, as far as known.
    """

    folder: str
    level: str | None
    file: str | None

    @property
    def rule(self) -> str:
        """Returns what stands in the configuration for a folder that is trusted."""
        return f'[projects.{json.dumps(self.folder, ensure_ascii=False)}] trust_level = "trusted"'
