"""Writes docs/protocol.md: `python -m trimpoint.cli.daemon_commands.reference FILE`, called by `scripts/generate-docs`."""

import sys
from pathlib import Path

from trimpoint_protocol.reference import page
from trimpoint_protocol.schema import documents

from trimpoint.core.views.wire_events import payload_types


def reference_page() -> str:
    """The page as Markdown, from the registry as it is now."""
    return page(documents(payload_types()))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference_page(), encoding="utf-8")
