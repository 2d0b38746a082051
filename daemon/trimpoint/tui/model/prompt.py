"""The history of prompts for the arrow keys, and prompts on their way to the daemon."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

MAX_HISTORY = 500
SHELL = "!"
"""What a command for the person's own shell begins with."""
_IMAGE = "[localImage: "
_COMMAND = re.compile(r"\s*[/:][a-z-]*(?:\s|$)", re.IGNORECASE)


def is_command(text: str) -> bool:
    """Returns whether a text may be a slash command: one line that begins with / or : and a word.
    The daemon decides whether it is one.
    """
    return "\n" not in text.strip() and _COMMAND.match(text) is not None


class Outgoing(NamedTuple):
    """A prompt that was sent and is not acknowledged yet. `id` is that of its command, under which
    the daemon takes it once; `thread_id` is None for a thread that begins with it.
    """

    id: str
    thread_id: str | None
    text: str


def typed_again(text: str) -> str:
    """Returns a recorded prompt as it is typed: an image that its words do not name is named by
    them, as the chat does it.
    """
    if _IMAGE not in text:
        return text
    lines: list[str] = []
    for line in text.split("\n"):
        named = f"[image {line.removeprefix(_IMAGE)}"
        if not line.startswith(_IMAGE):
            lines.append(line)
        elif named not in text:
            lines.append(named)
    return "\n".join(lines)


def text_of(parts: Iterable[Mapping[str, Any]]) -> str:
    """Returns the text of a prompt's input."""
    return "\n".join(str(part.get("text") or "") for part in parts if part.get("type") == "text")


class History:
    """Earlier prompts for the arrow keys. The text that was being typed is kept after the newest
    one.
    """

    def __init__(self, texts: list[str] | None = None) -> None:
        self._texts = list(texts or [])
        self._at: int | None = None
        self._draft = ""

    @property
    def texts(self) -> list[str]:
        """Returns the prompts, the oldest first."""
        return list(self._texts)

    def add(self, text: str) -> None:
        """Adds a prompt that was sent, or a draft that was taken away, unless it equals the last
        one; the next `older` returns it.
        """
        self._at = None
        if text.strip() and self._texts[-1:] != [text]:
            self._texts.append(text)
            del self._texts[:-MAX_HISTORY]

    def add_older(self, texts: list[str]) -> None:
        """Inserts earlier prompts, those of the thread's history, before all others; known ones are
        skipped.
        """
        fresh = [text for text in texts if text not in self._texts]
        self._texts = [*fresh, *self._texts][-MAX_HISTORY:]

    def older(self, now: str) -> str | None:
        """Returns the prompt before the shown one; None if there is none."""
        at = len(self._texts) if self._at is None else self._at
        if at == 0:
            return None
        if self._at is None:
            self._draft = now
        self._at = at - 1
        return self._texts[self._at]

    def typed(self, now: str) -> str:
        """Returns what the person has typed: `now`, or what was there before an earlier prompt, if
        that is shown as it was.
        """
        is_shown = self._at is not None and self._texts[self._at] == now
        return self._draft if is_shown and self._draft.strip() else now

    def newer(self) -> str | None:
        """Returns the prompt after the shown one, and after the newest the typed text; None if no
        prompt is shown.
        """
        if self._at is None:
            return None
        self._at += 1
        if self._at >= len(self._texts):
            self._at = None
            return self._draft
        return self._texts[self._at]
