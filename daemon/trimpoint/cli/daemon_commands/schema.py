"""`trimpoint schema`: writes JSON Schemas of the methods and notifications that trimpoint adds to
Codex's. Needs no daemon.
"""

import argparse
from pathlib import Path

from rich.text import Text
from trimpoint_protocol.schema import documents, encode

from trimpoint.cli.exits import CliError, Exit
from trimpoint.cli.terminal import print_json, stdout_console
from trimpoint.core.views.wire_events import payload_types


def run(arguments: argparse.Namespace) -> int:
    """Writes the schema files to a folder and replaces those of the same names.

    :raises CliError: when they cannot be written.
    """
    folder = Path(arguments.out)
    written = documents(payload_types())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, document in written.items():
            (folder / file).write_bytes(encode(document))
    except OSError as error:
        raise CliError(f"The schema cannot be written to {folder}: {error.strerror}.") from error
    if arguments.json:
        print_json({"out": str(folder), "files": list(written)})
    else:
        stdout_console().print(Text(f"Written to {folder}: {', '.join(written)}."))
    return Exit.DONE
