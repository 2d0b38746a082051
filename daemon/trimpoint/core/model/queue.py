"""The queue of a thread: prompts that wait until the thread can take them."""

from typing import Any

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list


class QueuedPrompt(msgspec.Struct, frozen=True):
    """A prompt that waits. `input` is what `turn/start` takes (JSON).

    `sent_behind` is the number of turns that the thread had when the prompt was sent to Codex. It
    is None before that, and stays if the daemon or Codex ends before Codex has answered.
    `came_back`: its turn had begun, and Codex ended without saying that it has the prompt.
    """

    id: str
    input: bytes
    client_user_message_id: str
    queued_at_ms: int
    sent_behind: int | None = None
    came_back: bool = False

    @property
    def parts(self) -> list[dict[str, Any]]:
        """Returns the prompt's input, decoded."""
        return [as_dict(part) for part in as_list(msgspec.json.decode(self.input))]


class Hold(msgspec.Struct, frozen=True):
    """The reason why no queued prompt is sent at present; see `events.QueueHeld`."""

    reason: str
    message: str


def texts_of(parts: list[dict[str, Any]]) -> list[str]:
    """Returns the texts in the input of a prompt."""
    found = (part.get("text") for part in parts)
    return [text for text in found if isinstance(text, str) and text]


def text_input(text: str) -> dict[str, Any]:
    """Returns a text as a part of a prompt."""
    return {"type": "text", "text": text, "text_elements": []}
