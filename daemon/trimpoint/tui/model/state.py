"""The whole state of the screen: the daemon, the open thread, and messages to the person."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from trimpoint_protocol.lenient import as_dict, as_list
from trimpoint_protocol.methods import CommandOutcome, ThreadOverview, TrimAdvice
from trimpoint_protocol.methods import Notice as ThreadNotice
from trimpoint_protocol.readmodel import ContextStatus, QueuedPrompt, QueueHold, TimelineMessage

from trimpoint.cli.views.timeline_view import TurnMark
from trimpoint.core.model.decision import SUB_AGENT
from trimpoint.tui.model.live import Live, LiveEntry
from trimpoint.tui.model.prompt import Outgoing, text_of, typed_again
from trimpoint.tui.model.questions import Card
from trimpoint.tui.model.settings import Settings
from trimpoint.tui.model.transcript import Transcript


class LinkState(StrEnum):
    """The state of the connection to the daemon."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    LOST = "lost"


class Tone(StrEnum):
    """The kind of a notice, which decides its colour."""

    DONE = "done"
    NEUTRAL = "neutral"
    PROBLEM = "problem"


class Notice(NamedTuple):
    """A message to the person, shown until the next one or the next turn. One that is `brief` is
    over soon.
    """

    tone: Tone
    text: str
    hint: str = ""
    is_brief: bool = False


class Question(NamedTuple):
    """An open question of the agent."""

    id: str | int
    method: str
    card: Card


class ChatState:
    """The state of the screen. `thread_id` is None until a thread is started; `turn_id` is the
    running turn.
    """

    def __init__(self, folder: str, thread_id: str | None) -> None:
        self.link = LinkState.CONNECTING
        self.link_problem = ""
        self.folder = folder
        self.thread_id = thread_id
        self.threads: list[ThreadOverview] = []
        self.has_read_threads = False
        self.context: ContextStatus | None = None
        self.advice: TrimAdvice | None = None
        self.turn_id: str | None = None
        self.is_stopping = False
        """Whether the turn that is about to begin was interrupted already."""
        self.ends_questions = False
        """Whether the turn was interrupted here, so that its questions end unanswered."""
        self.has_begun = False
        """Whether the thread has just begun here, so that what is typed meanwhile belongs to it."""
        self.sequence: int | None = None
        """The number of the last known event of the open thread."""
        self.outgoing: list[Outgoing] = []
        self.queue: list[QueuedPrompt] = []
        """The prompts that wait at the daemon, the next one first."""
        self.queue_hold: QueueHold | None = None
        self.steered: dict[str, str] = {}
        """What was added to the running turn and the agent has not read yet, by its id."""
        self.returned: list[str] = []
        self.drafted = ""
        """Texts that go back to where they were typed, because nobody has read them."""
        self.command = ""
        """The slash command that is under way, as it was typed."""
        self.progress = ""
        self.operation_id: str | None = None
        self.notice: Notice | None = None
        self.told: list[ThreadNotice] = []
        """What the daemon has told of threads since the terminal showed it."""
        self.questions: list[Question] = []
        self.transcript = Transcript()
        self.live = Live()
        self.expanded: set[str] = set()
        self.marks: dict[str, TurnMark] = {}
        self.settings: Settings | None = None

    def open(self, thread_id: str | None, folder: str) -> None:
        """Resets the state for another thread."""
        self.thread_id, self.folder = thread_id, folder
        self.context, self.advice = None, None
        self.turn_id, self.is_stopping, self.sequence = None, False, None
        self.queue, self.queue_hold, self.steered = [], None, {}
        self.command, self.progress, self.operation_id = "", "", None
        self.questions = []
        self.transcript, self.live = Transcript(), Live()
        self.expanded, self.marks = set(), {}
        self.settings = None

    @property
    def place(self) -> str:
        """Returns where a text is typed: the thread, or the folder if there is none yet."""
        return self.thread_id or f"new thread in {self.folder}"

    def unsent(self, draft: str) -> str:
        """Returns all that was typed here and may not have arrived: texts on their way, and the
        draft.
        """
        here = [one for one in self.outgoing if one.thread_id == self.thread_id]
        parts = [*self._texts_of(here), *self.steered.values(), *self.returned, draft]
        return "\n\n".join(part for part in parts if part.strip())

    @property
    def sent_here(self) -> list[Outgoing]:
        """Returns the prompts of this thread that may not have arrived."""
        here = [one for one in self.outgoing if one.thread_id == self.thread_id]
        known = {one.id for one in here}
        steered = [Outgoing(name, self.thread_id, text) for name, text in self.steered.items()]
        return [*here, *(one for one in steered if one.id not in known)]

    @property
    def on_their_way(self) -> list[str]:
        """Returns what was sent and the daemon has not acknowledged, prompts first."""
        return self._texts_of(self.outgoing)

    def _texts_of(self, prompts: list[Outgoing]) -> list[str]:
        command = [self.command] if self.command and self.link is LinkState.LOST else []
        return [*(one.text for one in prompts), *command]

    def sent(self, prompt_id: str) -> Outgoing:
        """Returns a prompt that is on its way."""
        return next(one for one in self.outgoing if one.id == prompt_id)

    @property
    def overview(self) -> ThreadOverview | None:
        """Returns the open thread's row of the thread list, or None."""
        return next((one for one in self.threads if one.id == self.thread_id), None)

    @property
    def title(self) -> str:
        """Returns the thread's name, or the beginning of its first prompt, or the end of its id."""
        if self.thread_id is None:
            return "new thread"
        overview = self.overview
        named = " ".join(((overview.name or overview.preview) if overview else "").split())
        return named or self.thread_id[-8:]

    @property
    def busy(self) -> str | None:
        """Returns why the thread is busy, as the daemon reports it; None if it is idle."""
        if self.turn_id is not None:
            return "turn"
        overview = self.overview
        return overview.busy if overview is not None else None

    @property
    def holds_prompts(self) -> bool:
        """Returns whether a prompt has to wait. Beside a sub-agent at work Codex takes prompts."""
        return self.busy not in {None, f"request: {SUB_AGENT}"}

    @property
    def live_entries(self) -> list[LiveEntry]:
        """Returns what is shown below the recorded entries: those of turns that have not ended.
        What is left of an ended turn is recorded in its place.
        """
        ended = {turn_id for turn_id, mark in self.marks.items() if mark.status != "running"}
        is_shown = self.transcript.is_at_end
        return [one for one in self.live.entries if is_shown and one.turn_id not in ended]

    @property
    def failed_prompt(self) -> str | None:
        """Returns the prompt of the newest turn if it failed, so that it can be sent again."""
        turn_id, mark = next(reversed(self.marks.items()), ("", None))
        if mark is None or mark.status != "failed" or self.busy is not None:
            return None
        said = (
            typed_again(one.text) for one in self.transcript.entries
            if isinstance(one, TimelineMessage) and one.role == "user" and one.turn_id == turn_id
        )  # fmt: skip
        return next(said, None)

    @property
    def question(self) -> Question | None:
        """Returns the question to answer next, or None."""
        return self.questions[0] if self.questions else None

    def ask(self, question: Question) -> None:
        """Adds a question. A question with a known id replaces the earlier one."""
        self.withdraw(question.id)
        self.ends_questions = False
        self.questions = [*self.questions, question]

    def withdraw(self, question_id: Any) -> bool:
        """Removes a question; returns whether it was open."""
        left = [one for one in self.questions if one.id != question_id]
        was_there = len(left) < len(self.questions)
        self.questions = left
        return was_there

    def notify(self, tone: Tone, text: str, hint: str = "", *, is_brief: bool = False) -> None:
        """Shows a notice to the person."""
        self.notice = Notice(tone, text, hint, is_brief)

    def note_turn(self, event_type: str, payload: Mapping[str, Any]) -> None:
        """Updates the running turn from an event of the thread."""
        if event_type == "thread.turn-started":
            self.turn_id, self.queue_hold = str(payload.get("turnId")), None
            self.notice = None
        elif event_type == "thread.turn-completed":
            self.turn_id, self.is_stopping = None, False
            self.returned += self.steered.values()
            self.steered = {}

    def note_read(self, item: Mapping[str, Any]) -> None:
        """Forgets what was added to the turn once Codex reports that the agent has read it.
        Versions before 0.163 report no id with it.
        """
        client_id, said = item.get("clientId"), text_of(map(as_dict, as_list(item.get("content"))))
        for name, text in self.steered.items():
            if name == client_id or (client_id is None and text.strip() == said.strip()):
                del self.steered[name]
                return


def outcome_notice(outcome: CommandOutcome) -> Notice:
    """Returns the notice for a slash command that has ended."""
    tones = {"completed": Tone.DONE, "failed": Tone.PROBLEM}
    # A draft stands where prompts are typed.
    said = outcome.message if outcome.draft is None else outcome.said
    return Notice(tones.get(outcome.status or "", Tone.NEUTRAL), said or "")
