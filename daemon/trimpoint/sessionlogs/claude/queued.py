"""Finds the prompts that were typed while Claude worked and that no row of the conversation has.

Rows of the kind `queue-operation` have their words. A prompt that leaves the queue by `dequeue`
comes again as a row; by `popAll` the person took it back; by `remove` the model was sent it, and
only newer versions write an attachment with it (measured: lost in 2.1.6 to 2.1.91). Pure.
"""

from collections import deque
from typing import NamedTuple

import msgspec
from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.claude.messages import kind_of
from trimpoint.sessionlogs.claude.rows import Message, Row
from trimpoint.sessionlogs.content import Content
from trimpoint.sessionlogs.made_ids import made_id
from trimpoint.sessionlogs.records import Records

MAX_WAITING = 256


class Sent(NamedTuple):
    """A prompt that left the queue: its words, and the time and line of the row that says so."""

    text: str
    timestamp: str | None
    line: int


class QueuedPrompts:
    """The queue of a session, by its rows in order."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._waiting: deque[str] = deque(maxlen=MAX_WAITING)
        self._shown: list[str] = []
        self._sent: list[Sent] = []

    @property
    def any(self) -> bool:
        """Returns whether a prompt waits, or was sent and not shown yet."""
        return bool(self._waiting or self._sent)

    def changed(self, row: Row, line: int) -> None:
        """Reads a row about the queue."""
        text = _text(row.content)
        match row.operation:
            case "enqueue" if text:
                self._waiting.append(text)
            case "popAll":
                self._waiting.clear()
            case "dequeue" if self._waiting:
                self._waiting.popleft()
            case "remove" if self._waiting:
                sent = text if text in self._waiting else self._waiting[0]
                self._waiting.remove(sent)
                if sent in self._shown:
                    self._shown.remove(sent)
                elif _is_prompt(sent):
                    self._sent.append(Sent(sent, row.timestamp, line))
            case _:
                pass

    def shown(self, text: str) -> None:
        """Notes that a row of the conversation has this prompt."""
        at = next((at for at, one in enumerate(self._sent) if one.text == text), None)
        if at is not None:
            del self._sent[at]
        elif text in self._waiting:
            self._shown.append(text)

    def put(self, records: Records, file: str) -> None:
        """Adds the prompts that no row had before the model answered. They are not live: Claude
        Code does not send them again.
        """
        if not self._sent:
            return
        sent, self._sent = self._sent, []
        for text, timestamp, line in sent:
            made = made_id(self._session_id, line)
            content = Content(id=made, role="user", kind="prompt", text=text)
            source = u.SourceRef(file=file, line=line)
            records.message(content, timestamp=timestamp, source_ref=source, live=False)


def _text(content: msgspec.Raw) -> str:
    """Returns the words; "" where they are damaged, because raw members are not checked."""
    try:
        found = msgspec.json.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    return found if isinstance(found, str) else ""


def _is_prompt(text: str) -> bool:
    row = Row(type="user", message=Message(role="user", content=text))
    return not text.startswith("/") and kind_of(row) == "prompt"
