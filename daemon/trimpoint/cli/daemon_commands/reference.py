"""Writes docs/protocol.md, docs/openapi.json, docs/man/trimpoint.1, the types of the web page, and
the commands in the manifest of the VS Code extension:
`python -m trimpoint.cli.daemon_commands.reference DOCS TYPES MANIFEST`.

`scripts/generate-docs` calls it.
"""

import json
import sys
from pathlib import Path

from trimpoint_protocol.schema import documents
from trimpoint_protocol.schema.reference import page
from trimpoint_protocol.schema.typescript import declarations

from trimpoint.cli.parsing.arguments import root_parser
from trimpoint.cli.parsing.man_page import man_page
from trimpoint.core.commands.registry import REGISTRY
from trimpoint.core.views.wire_events import payload_types
from trimpoint.http.rest import openapi

_SLASH = "trimpoint.slash."


def reference_page() -> str:
    """Returns docs/protocol.md as Markdown, generated from the method registry."""
    return page(documents(payload_types()))


def editor_manifest(text: str) -> str:
    """Returns the manifest of the VS Code extension with the commands of the registry in it, which
    it has to declare before it can ask a daemon.
    """
    manifest = json.loads(text)
    contributed = manifest["contributes"]["commands"]
    own = [one for one in contributed if not one["command"].startswith(_SLASH)]
    slash = [
        {"command": _SLASH + name, "title": kind.summary, "category": "trimpoint"}
        for name, kind in REGISTRY.items()
    ]
    manifest["contributes"]["commands"] = [*own, *slash]
    return json.dumps(manifest, indent=4, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    docs, types, editor = map(Path, sys.argv[1:4])
    (docs / "protocol.md").write_text(reference_page(), encoding="utf-8")
    (docs / "openapi.json").write_bytes(openapi.encoded())
    manual = docs / "man"
    manual.mkdir(exist_ok=True)
    (manual / "trimpoint.1").write_text(man_page(root_parser()), encoding="utf-8")
    types.write_text(declarations(), encoding="utf-8")
    editor.write_text(editor_manifest(editor.read_text(encoding="utf-8")), encoding="utf-8")
