"""What stands in the line for something longer: a large paste, which is folded to a few words, and
an image, which is named by its path.
"""

import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

_IMAGES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
_IMAGE = re.compile(r"\[image ([^\]\n]+)\]")
_MAX_PATHS_CHARS = 10_000  # a longer paste is no list of files


class Fold(NamedTuple):
    """From how many lines or characters on a text is folded."""

    lines: int
    characters: int


OF_PASTES, OF_DRAFTS = Fold(20, 2_000), Fold(200, 20_000)


class Pastes:
    """The texts that were folded, by the words that stand for them."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def folded(self, text: str, fold: Fold) -> str:
        """Returns the words for a text that is as long as `fold` says, else the text."""
        lines = text.count("\n") + 1
        if lines <= fold.lines and len(text) <= fold.characters:
            return text
        many = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        again = 1
        while self._texts.get(name := _name(many, again), text) != text:
            again += 1
        self._texts[name] = text
        return name

    def unfolded(self, text: str) -> str:
        """Returns `text` with all that was folded in it."""
        if not self._texts:
            return text
        names = re.compile("|".join(map(re.escape, self._texts)))
        return names.sub(lambda found: self._texts[found[0]], text)

    def name_before(self, text: str) -> str | None:
        """Returns the words at the end of `text` that stand for something longer, or None."""
        if image := next((one for one in _IMAGE.finditer(text) if one.end() == len(text)), None):
            return image[0]
        return next((name for name in self._texts if text.endswith(name)), None)


def _name(many: str, again: int) -> str:
    return f"[pasted {many}]" if again == 1 else f"[pasted {many}, {again}]"


def images_pasted(text: str) -> str | None:
    """Returns the words for the images whose paths a terminal pastes when their files are dropped
    on it; None if `text` is anything else.
    """
    paths = _paths(text.strip())
    if not paths or not all(_is_image(path) for path in paths):
        return None
    return " ".join(f"[image {path}]" for path in paths)


def _paths(text: str) -> list[str]:
    if not text or len(text) > _MAX_PATHS_CHARS:
        return []
    if _is_image(text):
        return [text]
    try:
        words = shlex.split(text)
    except ValueError:
        return []
    return [unquote(urlsplit(one).path) if one.startswith("file://") else one for one in words]


def _is_image(path: str) -> bool:
    """Returns whether there is an image at a path that is absolute, as a terminal pastes it."""
    file = Path(path)
    try:
        return file.suffix.lower() in _IMAGES and file.is_absolute() and file.is_file()
    except (OSError, ValueError):
        return False


def input_of(text: str) -> list[dict[str, Any]]:
    """Returns a prompt's input: the images that it names and that are there, then the text."""
    paths = dict.fromkeys(found[1] for found in _IMAGE.finditer(text) if _is_image(found[1]))
    images: list[dict[str, Any]] = [{"type": "localImage", "path": path} for path in paths]
    return [*images, {"type": "text", "text": text, "text_elements": []}]
