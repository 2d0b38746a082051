"""Keeps what was typed and not sent on disk, so that it is there at the next start."""

import hashlib
from contextlib import suppress
from pathlib import Path

import msgspec

from trimpoint.atomic_files import replace_file

_FOLDER_MODE = 0o700


class _Kept(msgspec.Struct, frozen=True):
    """A file: the thread, or the folder of a thread to come, and the text."""

    place: str
    text: str


class Drafts:
    """Texts, one for each place: a thread, or a folder whose thread has not begun. What cannot be
    written or read counts as nothing, for a full disk must not end the chat.

    :param folder: the folder of the files; None to keep nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._written: dict[str, str] = {}

    def keep(self, place: str, text: str) -> None:
        """Keeps a text instead of the one before; an empty text removes it."""
        if self._folder is None or self._written.get(place, "") == text:
            return
        self._written[place] = text
        path = self._path(self._folder, place)
        with suppress(OSError):
            if not text.strip():
                path.unlink(missing_ok=True)
                return
            self._folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            replace_file(path, msgspec.json.encode(_Kept(place, text)))

    def read(self, place: str) -> str:
        """Returns what is kept for a place, empty if nothing."""
        if self._folder is None:
            return ""
        try:
            kept = msgspec.json.decode(self._path(self._folder, place).read_bytes(), type=_Kept)
        except (OSError, msgspec.DecodeError):
            return ""
        self._written[place] = kept.text
        return kept.text

    @staticmethod
    def _path(folder: Path, place: str) -> Path:
        return folder / f"{hashlib.sha256(place.encode()).hexdigest()[:24]}.json"
