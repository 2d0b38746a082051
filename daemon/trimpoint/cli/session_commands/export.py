"""`trimpoint sessions export`: writes sessions as JSON lines, as one JSON document or as
Markdown.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

import msgspec
from trimpoint_protocol import unified as u
from trimpoint_protocol.methods import ExportResult
from trimpoint_protocol.shapes.agent_sessions import ExportFormat

from trimpoint.cli.connection.client import Client, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.exits import CliError, Exit
from trimpoint.cli.session_commands.chosen import chosen_session, own_thread
from trimpoint.cli.session_commands.own_threads import thread_named
from trimpoint.cli.terminal import print_plain_line, printable
from trimpoint.sessionlogs.export import document_of, exported
from trimpoint.sessionlogs.markdown import markdown
from trimpoint.sessionlogs.opening import CannotRead


def run(arguments: argparse.Namespace) -> int:
    """Writes the sessions to standard output or to a new file."""
    own = [thread_named(arguments, wanted) for wanted in arguments.ids]
    if arguments.agent == "trimpoint" or (arguments.agent is None and all(own)):
        return with_daemon(arguments, partial(_export_own, arguments))
    sessions = [chosen_session(wanted, arguments.agent) for wanted in arguments.ids]
    pieces = (
        piece
        for session in sessions
        for piece in exported(
            session, arguments.format, include_compacted=arguments.include_compacted
        )
    )
    try:
        _write(pieces, arguments.output)
    except CannotRead as error:
        raise CliError(str(error), reason="cannot_read") from None
    return Exit.DONE


async def _export_own(arguments: argparse.Namespace, client: Client) -> int:
    """Exports threads of the daemon."""
    threads = [await own_thread(client, wanted) for wanted in arguments.ids]
    pieces: list[bytes] = []
    for thread in threads:
        exported = await ask(
            client,
            ExportResult,
            "session/export",
            threadId=thread.id,
            format="unified",
            includeCompacted=arguments.include_compacted,
        )
        pieces += own_exported(exported.content.encode(), arguments.format)
    _write(iter(pieces), arguments.output)
    return Exit.DONE


def own_exported(lines: bytes, form: ExportFormat) -> Iterator[bytes]:
    """Yields a thread of the daemon in the form `form`, made from its records as JSON lines."""
    if form == "unified":
        yield lines
        return
    *records, end = (_decode_record(line) for line in lines.splitlines())
    assert isinstance(end, u.EndRecord)
    if form == "markdown":
        yield from (piece.encode("utf-8", "replace") for piece in markdown(records))
    else:
        yield from document_of(records, lambda digest: msgspec.structs.replace(end, digest=digest))


_decode_record = msgspec.json.Decoder(u.Record).decode


def _write(pieces: Iterator[bytes], output: str | None) -> None:
    if output is None:
        _write_out(pieces)
    else:
        with _new_file(Path(output)) as file:
            file.writelines(pieces)
        print_plain_line(f"Written to {output}.")


def _write_out(pieces: Iterator[bytes]) -> None:
    if sys.stdout.isatty():
        # A terminal obeys escape sequences; a file only holds them.
        sys.stdout.writelines(printable(piece.decode()) for piece in pieces)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(pieces)
    sys.stdout.flush()


def _new_file(path: Path) -> BinaryIO:
    """Creates and opens a file. An existing one is refused, because it may be the only copy of
    something.
    """
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CliError(
            f"{path}: {error.strerror}.", "Name a new file with --output.", reason="cannot_write"
        ) from None
    return os.fdopen(fd, "wb")
