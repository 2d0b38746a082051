"""Keeps what was typed on disk until the daemon has it, so that it is there at the next start.

A prompt that was on its way when the chat ended is kept with its id: the daemon may have it, and
takes it once if it is sent again unchanged.
"""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from trimpoint.atomic_files import replace_file
from trimpoint.tui.model.prompt import Outgoing

_FOLDER_MODE = 0o700


class _Kept(msgspec.Struct, frozen=True):
    """A file: the thread, or the folder of a thread to come, the text, and which prompts in it were
    on their way.
    """

    place: str
    text: str
    sent: list[Outgoing] = []


class Drafts:
    """Texts, one for each place: a thread, or a folder whose thread has not begun. What cannot be
    written or read counts as nothing, for a full disk must not end the chat.

    :param folder: the folder of the files; None to keep nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._written: dict[str, _Kept] = {}
        self._sent_before: dict[str, list[Outgoing]] = {}

    def keep(self, place: str, text: str, sent: Iterable[Outgoing] = ()) -> None:
        """Keeps a text instead of the one before; an empty text removes it. `sent` are the prompts
        in it that are on their way.
        """
        # What was taken out of the text is another prompt if it is typed again.
        before = [one for one in self._sent_before.get(place, ()) if one.text.strip() in text]
        self._sent_before[place] = before
        known = {one.id for one in before}
        kept = _Kept(place, text, [*before, *(one for one in sent if one.id not in known)])
        if self._folder is None or self._written.get(place, _Kept(place, "")) == kept:
            return
        self._written[place] = kept
        path = self._path(self._folder, place)
        with suppress(OSError):
            if not text.strip():
                path.unlink(missing_ok=True)
                return
            self._folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            replace_file(path, msgspec.json.encode(kept))

    def read(self, place: str) -> str:
        """Returns what is kept for a place, empty if nothing."""
        if self._folder is None:
            return ""
        try:
            kept = msgspec.json.decode(self._path(self._folder, place).read_bytes(), type=_Kept)
        except (OSError, msgspec.DecodeError):
            return ""
        self._written[place] = kept
        self._sent_before[place] = kept.sent
        return kept.text

    def split(self, place: str, text: str) -> tuple[list[Outgoing], str]:
        """Returns the prompts at the beginning of a text that were on their way before this start,
        and what follows them.
        """
        sent, rest = list[Outgoing](), text.strip()
        for one in self._sent_before.get(place, ()):
            said = one.text.strip()
            if rest == said or rest.startswith(f"{said}\n\n"):
                sent.append(one)
                rest = rest.removeprefix(said).strip()
        return sent, rest

    def has_arrived(self, place: str, sent: Outgoing) -> None:
        """Forgets a prompt that was on its way before this start, as the daemon has it."""
        before = self._sent_before.get(place, [])
        self._sent_before[place] = [one for one in before if one.id != sent.id]

    @staticmethod
    def _path(folder: Path, place: str) -> Path:
        return folder / f"{hashlib.sha256(place.encode()).hexdigest()[:24]}.json"
