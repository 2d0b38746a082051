"""Keeps the state of one thread up to date, from its events, from Codex's notifications, and by
reading from the daemon.

The daemon decides how an event changes the timeline: after such an event the newest page is read
again.
"""

import math
from contextlib import suppress
from typing import Any

import anyio
import msgspec
from trimpoint_protocol.client import Client, Inbox, Message, RemoteError, ServerRequest
from trimpoint_protocol.lenient import as_dict
from trimpoint_protocol.methods import (
    CommandProgress,
    ContextAdvice,
    Notice,
    SnapshotParams,
    SubscribeParams,
    ThreadParams,
)
from trimpoint_protocol.readmodel import (
    ContextStatus,
    EventEnvelope,
    QueuedPrompt,
    QueueHold,
    ThreadTurn,
)
from trimpoint_protocol.shapes.orchestration import LiveItem

from trimpoint.cli.views.timeline_view import TurnMark
from trimpoint.tui.model.attention import is_behind
from trimpoint.tui.model.questions import ANSWERED_HERE, card_of
from trimpoint.tui.model.settings import settings_of
from trimpoint.tui.model.state import ChatState, Question, Tone
from trimpoint.tui.session.changes import Changes
from trimpoint.tui.session.pages import Pages
from trimpoint.tui.session.readings import LIST_CHANGED, READ_AFTER, Reading

MARKED_TURNS = 300
JOIN_AFTER_S = 0.6
BEHIND_S = 1.0


class _Subscribed(msgspec.Struct, frozen=True):
    """The answer to a subscription. Its snapshot is requested without turns, which are read page by
    page.
    """

    mode: str
    sequence: int


class _Thread(msgspec.Struct, frozen=True, rename="camel"):
    """The part of a thread's snapshot that is shown."""

    turns: list[ThreadTurn]
    first_turn: int
    queue: list[QueuedPrompt]
    queue_hold: QueueHold | None


class _Snapshot(msgspec.Struct, frozen=True):
    thread: _Thread
    live: list[LiveItem] = []


class Following:
    """Follows the open thread over one connection, whose messages are in `inbox`."""

    def __init__(self, client: Client, inbox: Inbox, state: ChatState, changes: Changes) -> None:
        self._client = client
        self._inbox = inbox
        self._state = state
        self._changes = changes
        self._pages = Pages(client, state)
        self._asked: dict[str | int, ServerRequest] = {}
        self._joined: set[str] = set()
        self._wanted: dict[Reading, None] = {"threads": None}
        self._is_wanted = anyio.Event()
        self._is_wanted.set()
        self._is_begun = anyio.Event()
        self._said: dict[str, dict[str, Any]] = {}

    # --- what is followed -----------------------------------------------------------------------

    async def begin(self) -> None:
        """Subscribes to the open thread and reads it."""
        state = self._state
        assert state.thread_id is not None
        after = state.sequence
        if after is None:
            after = (await self._client.status()).sequence
        state.questions = []
        state.live.clear()
        state.turn_id = None
        # First what is shown: subscribing may take a while. What happens until then is replayed.
        await self.read("threads", "timeline", "context", "marks")
        params = SubscribeParams(thread_id=state.thread_id, after_sequence=after, turns=0)
        answer = await self._client.request(
            "orchestration/subscribeThread", params, result=_Subscribed
        )
        state.sequence = max(after, answer.sequence, state.sequence or 0)
        if answer.mode == "snapshot":
            await self.read("timeline", "threads")
        if state.busy is not None:
            await self.join()
        self._is_begun.set()

    async def keep_joining(self) -> None:
        """Joins each thread in which the person stays, until the connection ends: its settings come
        with that. It makes Codex load the thread, which is not worth it where a person passes by.
        """
        while True:
            await self._is_begun.wait()
            self._is_begun = anyio.Event()
            thread_id = self._state.thread_id
            await anyio.sleep(JOIN_AFTER_S)
            if thread_id == self._state.thread_id:
                with suppress(RemoteError):  # who sends something is told why
                    await self.join()
                self._changes.note()

    def end(self, thread_id: str) -> None:
        """Unsubscribes from a thread."""
        self._client.begin("orchestration/unsubscribeThread", ThreadParams(thread_id=thread_id))
        if thread_id in self._joined:
            self._joined.discard(thread_id)
            self._client.begin("thread/unsubscribe", {"threadId": thread_id})

    async def join(self) -> None:
        """Subscribes to Codex's notifications and questions about the thread.

        :raises RemoteError: when the thread is archived, or another process has it open.
        """
        thread_id = self._state.thread_id
        if thread_id is None or thread_id in self._joined:
            return
        self._joined.add(thread_id)
        try:
            answer = await self._client.resume_thread(thread_id, excludeTurns=True)
        except RemoteError:
            self._joined.discard(thread_id)
            raise
        self._state.settings = settings_of(answer)
        await self._read_live(thread_id)

    async def _read_live(self, thread_id: str) -> None:
        """Reads what the running turn has brought so far; notifications go on from there."""
        found = await self._snapshot(thread_id, 0)
        # These came before the answer, but may not have been read.
        while len(self._inbox):
            self.take(await self._inbox.receive())
        if thread_id == self._state.thread_id:
            for one in found.live:
                self._state.live.restore(one.turn_id, as_dict(one.item))
        self._changes.note()

    def joined(self, thread_id: str) -> None:
        """Records that this client is already subscribed to Codex's notifications, as after
        starting a thread.
        """
        self._joined.add(thread_id)

    # --- what arrives ---------------------------------------------------------------------------

    def take(self, message: Message) -> None:
        """Processes a message."""
        if isinstance(message, ServerRequest):
            self._take_question(message)
        elif message.method == "orchestration/event":
            self._take_event(message.read_as(EventEnvelope))
        elif message.method == "orchestration/notice":
            with suppress(msgspec.ValidationError):  # of a kind that a newer daemon knows
                self._state.told.append(message.read_as(Notice))
                self._changes.note()
        elif message.thread_id in (None, self._state.thread_id):
            self._take_notification(message)
        elif message.method in LIST_CHANGED:
            self.want("threads")
        if message.method == "thread/status/changed":
            self._said[str(message.thread_id)] = as_dict(message.params.get("status"))

    def _take_event(self, event: EventEnvelope) -> None:
        if event.thread_id != self._state.thread_id:
            return
        state = self._state
        state.sequence = event.sequence
        state.note_turn(event.type, event.payload)
        if state.is_stopping and state.turn_id is not None:
            state.is_stopping = False
            params = {"threadId": state.thread_id, "turnId": state.turn_id}
            self._client.begin("turn/interrupt", params)
        self.want(*READ_AFTER.get(event.type, ()))
        self._changes.note()

    def _take_notification(self, message: Message) -> None:
        state = self._state
        match message.method:
            case "context/updated":
                state.context = message.read_as(ContextStatus)
                self.want("context")
            case "commands/progress":
                self._take_progress(message.read_as(CommandProgress))
            case "thread/settings/updated":
                state.settings = settings_of(as_dict(message.params.get("threadSettings")))
            case "warning" if message.params.get("from") == "trimpoint":
                state.notify(Tone.PROBLEM, str(message.params.get("message") or ""))
            case "serverRequest/resolved":
                request_id = message.params.get("requestId")
                was_open = self._asked.pop(request_id, None) is not None
                if was_open and state.withdraw(request_id) and not state.ends_questions:
                    state.notify(
                        Tone.NEUTRAL, "The question was answered elsewhere.", is_brief=True
                    )
            case _ if message.method in LIST_CHANGED:
                self.want("threads")
            case _:
                params = as_dict(message.params)
                if not state.live.note(message.method, params):
                    return
                if (item := as_dict(params.get("item"))).get("type") == "userMessage":
                    state.note_read(item)
        self._changes.note()

    def _take_progress(self, progress: CommandProgress) -> None:
        ended = progress.phase in {"ready", "failed", "cancelled"}
        self._state.progress = "" if ended else progress.message
        self._state.operation_id = None if ended else progress.operation_id

    def _take_question(self, request: ServerRequest) -> None:
        params = as_dict(request.params)
        item = self._state.live.item(str(params.get("itemId")))
        card = card_of(request.method, params, item)
        is_ours = params.get("threadId") in (None, self._state.thread_id)
        if card is None or request.method not in ANSWERED_HERE or not is_ours:
            request.refuse()
            return
        self._asked[request.id] = request
        self._state.ask(Question(request.id, request.method, card))
        self._changes.note()

    def answer(self, question: Question, result: object) -> None:
        """Answers a question of the agent."""
        self._state.withdraw(question.id)
        if (request := self._asked.pop(question.id, None)) is not None:
            request.answer(result)
        self._changes.note()

    # --- what is read ---------------------------------------------------------------------------

    def want(self, *readings: Reading) -> None:
        """Requests that parts of the state are read soon; repeated requests for a part are
        merged.
        """
        if readings:
            self._wanted.update(dict.fromkeys(readings))
            self._is_wanted.set()

    async def keep_reading(self) -> None:
        """Reads the requested parts until the connection ends, and has notices sent."""
        self._client.begin("orchestration/subscribeNotices", {})
        while True:
            with anyio.move_on_after(BEHIND_S if self._is_behind() else math.inf):
                await self._is_wanted.wait()
            self._wanted = self._wanted or {"threads": None}
            self._is_wanted = anyio.Event()
            wanted, self._wanted = list(self._wanted), {}
            try:
                await self.read(*wanted)
                if self._state.busy is not None:
                    await self.join()
            except RemoteError as error:
                self._state.notify(Tone.PROBLEM, str(error), error.hint)
                self._changes.note()

    def _is_behind(self) -> bool:
        return any(is_behind(one, self._said.get(one.id)) for one in self._state.threads)

    async def read(self, *readings: Reading) -> None:
        """Reads parts of the state from the daemon."""
        state = self._state
        thread_id = state.thread_id
        if "threads" in readings:
            state.threads = (await self._client.snapshot()).threads
            state.has_read_threads = True
            if state.context is None and state.overview is not None:
                state.context = state.overview.context
            self._changes.note()
        if thread_id is None:
            self._changes.note()
            return
        if "timeline" in readings:
            await self._pages.read_newest()
        elif "tail" in readings:
            await self._pages.read_tail()
        if "context" in readings:
            await self._read_context(thread_id)
        if "marks" in readings:
            await self._read_thread(thread_id, MARKED_TURNS)
        elif "queue" in readings:
            await self._read_thread(thread_id, 1)
        self._changes.note()

    async def _read_context(self, thread_id: str) -> None:
        state = self._state
        context = await self._client.context_status(thread_id)
        advice = None
        if context.level in ("warning", "critical"):
            params = ThreadParams(thread_id=thread_id)
            found = await self._client.request("context/advice", params, result=ContextAdvice)
            advice = next(iter(found.advice), None)
        if thread_id == state.thread_id:
            state.context, state.advice = context, advice

    async def _read_thread(self, thread_id: str, turns: int) -> None:
        """Reads the queue and the newest turns."""
        thread = (await self._snapshot(thread_id, turns)).thread
        state = self._state
        if thread_id != state.thread_id:
            return
        state.queue, state.queue_hold = thread.queue, thread.queue_hold
        marks = {
            turn.id: TurnMark(number, "", turn.status, turn.error)
            for number, turn in enumerate(thread.turns, thread.first_turn + 1)
        }
        if turns == MARKED_TURNS:  # what was before them is as it was
            state.marks = {
                turn_id: mark for turn_id, mark in state.marks.items()
                if mark.number <= thread.first_turn
            }  # fmt: skip
        state.marks = {**state.marks, **marks}
        state.turn_id = next((one.id for one in thread.turns if one.status == "running"), None)

    async def _snapshot(self, thread_id: str, turns: int) -> _Snapshot:
        params = SnapshotParams(thread_id=thread_id, turns=turns)
        return await self._client.request("orchestration/snapshot", params, result=_Snapshot)
