"""Publishes where the daemon of a state directory listens: a note beside its journals, so that
others find the socket by the state.

The note is only a hint. It may be left over from a daemon that was killed; then nothing listens
there, or another program, which a client asks for its name.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_NOTE = "listening-on"


@contextmanager
def published_socket(state_dir: Path, socket: Path) -> Generator[None]:
    """Leave the note for as long as the block lasts; call with the state directory locked."""
    note = state_dir / _NOTE
    fresh = state_dir / f".{_NOTE}.{os.getpid()}"
    # A full disk must not keep the daemon from running; it is then found by its socket alone.
    with suppress(OSError):
        fresh.touch(mode=0o600)
        fresh.write_text(f"{socket}\n", encoding="utf-8")
        fresh.replace(note)
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def read_published_socket(state_dir: Path) -> Path | None:
    """Returns the published socket, if there is one."""
    try:
        text = (state_dir / _NOTE).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return Path(text) if os.path.isabs(text) else None
