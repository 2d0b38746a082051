"""Reads from Codex's notifications what was said of an answer that is not finished, for a turn that
ends in the middle of it.
"""

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.decide.new_facts import CUT_SHORT
from trimpoint.core.model import events as ev
from trimpoint.threads.unfinished_answers import UnfinishedAnswers

STARTED, COMPLETED, DELTA = "item/started", "item/completed", "item/agentMessage/delta"
_MESSAGE = b'"agentMessage"'


class HalfAnswers:
    """The unfinished answers of one Codex, which `answers` keeps."""

    def __init__(self, answers: UnfinishedAnswers) -> None:
        self._answers = answers

    def note(self, thread_id: str, message: CodexMessage) -> None:
        """Records what a notification of Codex says about an answer."""
        if message.method == DELTA:
            self._answers.add(thread_id, [message.line])
        elif message.method == STARTED and _MESSAGE in message.line:
            item = message.object("item")
            if item.get("type") == "agentMessage":
                self._answers.begin(thread_id, str(message.member("turnId")), str(item.get("id")))
        elif (
            message.method == COMPLETED
            and (answer := self._answers.of(thread_id)) is not None
            and message.object("item").get("id") == answer.item_id
        ):
            self._answers.remove(thread_id)

    def note_run(self, thread_id: str, method: str, lines: list[bytes]) -> None:
        """Records a run of notifications of one method."""
        if method == DELTA:
            self._answers.add(thread_id, lines)

    def before_end(self, thread_id: str, facts: tuple[ev.AnyEvent, ...]) -> tuple[ev.AnyEvent, ...]:
        """Returns `facts`; if they end the turn of the answer and cut it short, with what was said
        of it before that.
        """
        answer = self._answers.of(thread_id)
        ending = next((one for one in facts if isinstance(one, ev.TurnCompleted)), None)
        if answer is None or ending is None or ending.turn_id != answer.turn_id:
            return facts
        said, at = self.take(thread_id), facts.index(ending)
        return (*facts[:at], *said, *facts[at:]) if ending.status in CUT_SHORT else facts

    def take(self, thread_id: str) -> tuple[ev.AnyEvent, ...]:
        """Returns the fact of the thread's unfinished answer, if anything was said of it, and
        forgets it.
        """
        answer = self._answers.remove(thread_id)
        said = None if answer is None else answer.fact()
        return () if said is None else (said,)
