"""Lists the threads for shell completion, with or without a running daemon."""

import argparse
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import anyio
from trimpoint_protocol.hidden_characters import visible

from trimpoint import event_loop
from trimpoint.cli.connection.client import connect
from trimpoint.cli.connection.known_threads import KnownThread, here, own_threads
from trimpoint.cli.connection.settings import Settings, settings_of
from trimpoint.cli.connection.sockets import daemon_at
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.threads.catalogue import FILE_NAME, decode_catalogue

_DEADLINE_S = 1.0
_TITLE_CHARS = 60


def titles() -> list[tuple[str, str]]:
    """Returns pairs of short id and title, those of this folder first. They come from the running
    daemon, or else from the catalogue of the last one; the list is empty if neither can be read
    quickly.
    """
    known: list[KnownThread] = []
    with suppress(Exception):  # a boundary: a Tab must never print an error into the command line
        settings = settings_of(argparse.Namespace(socket=None, state_dir=None, config=None))
        known = event_loop.run(_asked, settings) or _left_behind(settings.state_dir)
    place = here()
    ordered = sorted(known, key=lambda thread: not thread.is_at(place))
    return [(thread.short_id, _shown(thread.title)) for thread in ordered]


def _shown(title: str) -> str:
    """Returns a title as one line, with what could speak to the terminal or hide made visible."""
    return visible(" ".join(title.split()))[:_TITLE_CHARS].strip()


async def _asked(settings: Settings) -> list[KnownThread]:
    with anyio.move_on_after(_DEADLINE_S):
        if (socket := await daemon_at(settings)) is not None:
            async with connect(socket) as client:
                await client.initialize("trimpoint-completion")
                return await own_threads(client)
    return []


def _left_behind(state_dir: Path) -> list[KnownThread]:
    """Returns the threads of the catalogue file, the most recently used one first."""
    rows = decode_catalogue(StateDirectory(state_dir).read(FILE_NAME)).values()
    return [
        KnownThread(
            id=row.thread_id,
            name=row.name,
            first_words=row.preview,
            cwd=row.cwd,
            updated_at=datetime.fromtimestamp(row.updated_at_ms / 1_000, UTC).isoformat(),
            archived=row.archived,
            overview=None,
        )
        for row in sorted(rows, key=lambda row: row.updated_at_ms, reverse=True)
    ]
