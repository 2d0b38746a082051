"""Which version of trimpoint can read a state directory: the newest one that has served it. An
older one leaves alone what it does not know, and says which is needed.
"""

from contextlib import suppress
from pathlib import Path

from trimpoint.atomic_files import replace_file
from trimpoint.versions import VERSION, number_of

FILE_NAME = "written-by"
_MAX_BYTES = 100


def note_version(root: Path, version: str) -> str | None:
    """Notes the version that serves a state directory from now on, unless a newer one has; returns
    that one.

    :raises OSError: when the file cannot be written.
    """
    newest = newest_version(root)
    if newest is not None and number_of(newest) >= number_of(version):
        return newest if number_of(newest) > number_of(version) else None
    replace_file(root / FILE_NAME, f"{version}\n".encode())
    return None


def newest_version(root: Path) -> str | None:
    """Returns the newest version that has served a state directory, or None if none is noted."""
    with suppress(OSError, UnicodeDecodeError):
        with (root / FILE_NAME).open("rb") as file:
            noted = file.read(_MAX_BYTES).decode("ascii").strip()
        return noted if VERSION.match(noted) else None
    return None
