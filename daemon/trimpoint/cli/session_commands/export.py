"""`trimpoint sessions export`: sessions as JSON lines, as a JSON document or as Markdown."""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from trimpoint.cli.exits import CliError, Exit
from trimpoint.cli.session_commands.chosen import chosen_session
from trimpoint.cli.terminal import print_plain_line, printable
from trimpoint.sessionlogs.export import exported
from trimpoint.sessionlogs.opening import CannotRead


def run(arguments: argparse.Namespace) -> int:
    """Writes them to stdout or to a new file."""
    sessions = [chosen_session(wanted, arguments.agent) for wanted in arguments.ids]
    pieces = (
        piece
        for session in sessions
        for piece in exported(
            session, arguments.format, include_compacted=arguments.include_compacted
        )
    )
    try:
        if arguments.output is None:
            _write_out(pieces)
        else:
            with _new_file(Path(arguments.output)) as file:
                file.writelines(pieces)
            print_plain_line(f"Written to {arguments.output}.")
    except CannotRead as error:
        raise CliError(str(error), reason="cannot_read") from None
    return Exit.DONE


def _write_out(pieces: Iterator[bytes]) -> None:
    if sys.stdout.isatty():
        # A terminal obeys escape sequences; a file only holds them.
        sys.stdout.writelines(printable(piece.decode()) for piece in pieces)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(pieces)
    sys.stdout.flush()


def _new_file(path: Path) -> BinaryIO:
    """Never one that is there: it may be the only copy of something."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CliError(
            f"{path}: {error.strerror}.", "Name a new file with --output.", reason="cannot_write"
        ) from None
    return os.fdopen(fd, "wb")
