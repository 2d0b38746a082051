"""Keeps what was streamed of each answer that is not finished, for a turn that ends in the middle
of it. Codex reports no such answer and does not keep it (measured: 0.163, 0.171), but the person
has read it.
"""

import msgspec
from trimpoint_protocol.lenient import as_dict

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.decide.new_facts import CUT_SHORT
from trimpoint.core.model import events as ev

STARTED, COMPLETED, DELTA = "item/started", "item/completed", "item/agentMessage/delta"
_MESSAGE = b'"agentMessage"'
_READ_AT_BYTES = 262_144


class _Answer:
    def __init__(self, turn_id: str, item_id: str) -> None:
        self.turn_id = turn_id
        self.item_id = item_id
        self._pieces: list[str] = []
        self._lines: list[bytes] = []
        self._bytes = 0

    def add(self, lines: list[bytes]) -> None:
        self._lines += lines
        self._bytes += sum(map(len, lines))
        if self._bytes > _READ_AT_BYTES:
            self._read()

    @property
    def text(self) -> str:
        self._read()
        return "".join(self._pieces)

    def _read(self) -> None:
        """Reads the lines, of which only the text is kept."""
        for line in self._lines:
            params = as_dict(as_dict(msgspec.json.decode(line)).get("params"))
            delta = params.get("delta")
            if params.get("itemId") == self.item_id and isinstance(delta, str):
                self._pieces.append(delta)
        self._lines, self._bytes = [], 0


class HalfAnswers:
    """The unfinished answers, at most one of each thread: where Codex repeats a call of the model,
    the newest one.
    """

    def __init__(self) -> None:
        self._answers: dict[str, _Answer] = {}

    def note(self, thread_id: str, message: CodexMessage) -> None:
        """Records what a notification of Codex says about an answer."""
        if message.method == DELTA:
            self.note_run(thread_id, DELTA, [message.line])
        elif message.method == STARTED and _MESSAGE in message.line:
            item = message.object("item")
            if item.get("type") == "agentMessage":
                turn_id = str(message.member("turnId"))
                self._answers[thread_id] = _Answer(turn_id, str(item.get("id")))
        elif (
            message.method == COMPLETED
            and (answer := self._answers.get(thread_id)) is not None
            and message.object("item").get("id") == answer.item_id
        ):
            del self._answers[thread_id]

    def note_run(self, thread_id: str, method: str, lines: list[bytes]) -> None:
        """Records a run of notifications of one method."""
        if method == DELTA and (answer := self._answers.get(thread_id)) is not None:
            answer.add(lines)

    def before_end(self, thread_id: str, facts: tuple[ev.AnyEvent, ...]) -> tuple[ev.AnyEvent, ...]:
        """Returns `facts`; if they end the turn of the answer and cut it short, with what was said
        of it before that.
        """
        answer = self._answers.get(thread_id)
        ending = next((one for one in facts if isinstance(one, ev.TurnCompleted)), None)
        if answer is None or ending is None or ending.turn_id != answer.turn_id:
            return facts
        said, at = self.take(thread_id), facts.index(ending)
        return (*facts[:at], *said, *facts[at:]) if ending.status in CUT_SHORT else facts

    def take(self, thread_id: str) -> tuple[ev.AnyEvent, ...]:
        """Returns the fact of the thread's unfinished answer, if anything was said of it, and
        forgets it.
        """
        answer = self._answers.pop(thread_id, None)
        if answer is None or not (text := answer.text).strip():
            return ()
        said = ev.EntryRecorded(
            answer.turn_id, answer.item_id, "message", "assistant", text, extent=ev.PART
        )
        return (said,)

    def forget(self) -> None:
        """Forgets all answers, because Codex has ended."""
        self._answers.clear()
