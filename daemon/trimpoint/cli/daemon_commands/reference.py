"""Writes docs/protocol.md, docs/openapi.json, docs/man/trimpoint.1 and the types of the web page:
`python -m trimpoint.cli.daemon_commands.reference DOCS TYPES`.

`scripts/generate-docs` calls it.
"""

import sys
from pathlib import Path

from trimpoint_protocol.schema import documents
from trimpoint_protocol.schema.reference import page
from trimpoint_protocol.schema.typescript import declarations

from trimpoint.cli.parsing.arguments import root_parser
from trimpoint.cli.parsing.man_page import man_page
from trimpoint.core.views.wire_events import payload_types
from trimpoint.http.rest import openapi


def reference_page() -> str:
    """Returns docs/protocol.md as Markdown, generated from the method registry."""
    return page(documents(payload_types()))


if __name__ == "__main__":
    docs, types = Path(sys.argv[1]), Path(sys.argv[2])
    (docs / "protocol.md").write_text(reference_page(), encoding="utf-8")
    (docs / "openapi.json").write_bytes(openapi.encoded())
    manual = docs / "man"
    manual.mkdir(exist_ok=True)
    (manual / "trimpoint.1").write_text(man_page(root_parser()), encoding="utf-8")
    types.write_text(declarations(), encoding="utf-8")
