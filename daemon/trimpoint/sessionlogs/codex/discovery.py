"""Finds the Codex sessions below a Codex home."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from trimpoint.sessionlogs.codex.files import Chain, rollouts, thread_names
from trimpoint.sessionlogs.codex.reader import CodexReader
from trimpoint.sessionlogs.sessions import FoundSession


def codex_sessions(home: Path) -> Iterator[FoundSession]:
    """Yields every session, including archived and compressed ones and those in several files."""
    threads = rollouts(home)
    chain = Chain(threads)
    names = thread_names(home)
    for thread_id in threads:
        parts = [(placed.path, placed.part) for placed in chain.parts(thread_id)]
        reader = partial(CodexReader, thread_id)
        yield FoundSession(thread_id, "codex", parts, reader, title=names.get(thread_id))
