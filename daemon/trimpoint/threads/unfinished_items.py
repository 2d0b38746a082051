"""Keeps the items of running turns that are not finished, with what was streamed of them, in memory
and in a file: answers that the model is giving, commands and edits. So they can be recorded when
their turn ends in the middle of them, and by the next daemon if this one is killed.

Codex reports the end of no such item and does not keep it (measured: 0.163, 0.171), but the person
has seen it. The file is replaced whole, at most every half second.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import msgspec
import structlog
from trimpoint_protocol.lenient import as_dict

from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState
from trimpoint.journal.errors import JournalError
from trimpoint.journal.port import StateStore
from trimpoint.threads.errors import CommandRefused, JournalRefuses
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

FILE_NAME = "unfinished"
ABANDONED = "The daemon was restarted while this was under way."
# What was said in this time is lost if the daemon is killed.
WRITE_S = 0.5
MAX_OUTPUT_CHARS = 65_536
"""The most characters of a command's output that are kept: the last ones."""
_READ_AT_BYTES = 262_144


@dataclass
class UnfinishedItem:
    """An item of a turn. `entry(text, is_declined)` makes its entry, or returns None if there is
    nothing to record yet. `is_waiting`: a person was asked whether it may be done, and has not
    allowed it; `is_allowed`: has allowed it.
    """

    turn_id: str
    is_answer: bool
    entry: Callable[[str, bool], ev.EntryRecorded | None]
    is_waiting: bool = False
    is_allowed: bool = False
    _pieces: deque[str] = field(default_factory=deque[str])
    _chars: int = 0

    def add(self, piece: str) -> None:
        """Adds what was streamed."""
        self._pieces.append(piece)
        self._chars += len(piece)
        while not self.is_answer and self._chars - len(self._pieces[0]) > MAX_OUTPUT_CHARS:
            self._chars -= len(self._pieces.popleft())

    def fact(self, *, is_declined: bool = False) -> ev.EntryRecorded | None:
        """Returns what is recorded if the turn ends now."""
        text = "".join(self._pieces)
        return self.entry(text if self.is_answer else text[-MAX_OUTPUT_CHARS:], is_declined)


@dataclass
class _Thread:
    """The unfinished items of a thread by id, oldest first; `lines` are deltas that were not read
    yet, as Codex sent them.
    """

    items: dict[str, UnfinishedItem] = field(default_factory=dict[str, UnfinishedItem])
    lines: list[bytes] = field(default_factory=list[bytes])
    unread_bytes: int = 0

    def read(self) -> None:
        for line in self.lines:
            params = as_dict(as_dict(msgspec.json.decode(line)).get("params"))
            item, delta = self.items.get(str(params.get("itemId"))), params.get("delta")
            if item is not None and isinstance(delta, str):
                item.add(delta)
        self.lines, self.unread_bytes = [], 0


class UnfinishedItems:
    """The unfinished items of the threads of a state directory. Of answers a thread has one: where
    Codex repeats a call of the model, the newest.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._threads: dict[str, _Thread] = {}
        self._left: dict[str, list[ev.EntryRecorded]] = {}
        self._written = _encoded({})
        self._changed = anyio.Event()

    def begin(self, thread_id: str, item_id: str, item: UnfinishedItem) -> None:
        """Begins an item."""
        thread = self._threads.setdefault(thread_id, _Thread())
        if item.is_answer:
            thread.read()
            thread.items = {name: one for name, one in thread.items.items() if not one.is_answer}
        thread.items[item_id] = item
        self._changed.set()

    def add(self, thread_id: str, lines: list[bytes]) -> None:
        """Adds deltas of a thread's items."""
        if (thread := self._threads.get(thread_id)) is None:
            return
        thread.lines += lines
        thread.unread_bytes += sum(map(len, lines))
        if thread.unread_bytes > _READ_AT_BYTES:
            thread.read()
        self._changed.set()

    def set_waiting(self, thread_id: str, item_id: str, is_waiting: bool) -> None:
        """Records whether an item waits for a person, who has not allowed it."""
        thread = self._threads.get(thread_id)
        if thread is not None and (item := thread.items.get(item_id)) is not None:
            item.is_waiting, item.is_allowed = is_waiting, not is_waiting

    def is_allowed(self, thread_id: str, item_id: str) -> bool:
        """Returns whether a person has allowed an item that is not removed yet."""
        thread = self._threads.get(thread_id)
        item = None if thread is None else thread.items.get(item_id)
        return item is not None and item.is_allowed

    def has_activity(self, thread_id: str) -> bool:
        """Returns whether a command or an edit of the thread is not finished."""
        thread = self._threads.get(thread_id)
        return thread is not None and not all(item.is_answer for item in thread.items.values())

    def remove(self, thread_id: str, item_id: str) -> None:
        """Removes an item, which is finished."""
        if (thread := self._threads.get(thread_id)) is not None:
            thread.read()
            thread.items.pop(item_id, None)
            self._forget_if_empty(thread_id, thread)

    def take(self, thread_id: str, turn_id: str | None = None) -> list[UnfinishedItem]:
        """Removes the items of a turn, or of all turns of the thread, and returns them."""
        if (thread := self._threads.get(thread_id)) is None:
            return []
        thread.read()
        taken = {
            name: item
            for name, item in thread.items.items()
            if turn_id is None or item.turn_id == turn_id
        }
        for name in taken:
            del thread.items[name]
        self._forget_if_empty(thread_id, thread)
        return list(taken.values())

    def _forget_if_empty(self, thread_id: str, thread: _Thread) -> None:
        if not thread.items:
            del self._threads[thread_id]
        self._changed.set()

    async def open(self) -> None:
        """Reads what the daemon before has left. A damaged file leaves nothing."""
        content = await self._store.read_checked(FILE_NAME)
        if content is not None:
            self._written = bytes(content)
            self._left = _decoded(self._written)

    async def end_open_work(self, writer: ThreadWriter) -> None:
        """Ends the open turns and requests of a thread that was loaded, and records what was
        unfinished in the turn that was running.
        """
        left = self._left.get(writer.thread_id, [])
        writer.record_facts(*(one for one in left if _is_of_running_turn(writer.state, one)))
        try:
            await writer.execute(internal.AbandonOpenWork(ABANDONED))
        except (JournalRefuses, CommandRefused) as error:
            log.warning("open_work_not_ended", thread_id=writer.thread_id, detail=str(error))
        # Until here the file has it, because this daemon may be killed, too.
        if self._left.pop(writer.thread_id, None) is not None:
            self._changed.set()

    async def write_forever(self) -> None:
        """Writes the file when items have changed."""
        while True:
            await self._changed.wait()
            await anyio.sleep(WRITE_S)
            self._changed = anyio.Event()
            await self.write()

    async def write(self) -> None:
        """Writes the file unless it is as it should be. If the disk refuses, the next change writes
        it.
        """
        present = {name: _facts(thread) for name, thread in self._threads.items()}
        content = _encoded({**self._left, **present})
        if content == self._written:
            return
        try:
            await self._store.write_atomic(FILE_NAME, content)
        except JournalError as error:
            log.info("unfinished_items_not_written", detail=str(error))
        else:
            self._written = content


def _facts(thread: _Thread) -> list[ev.EntryRecorded]:
    thread.read()
    return [fact for item in thread.items.values() if (fact := item.fact()) is not None]


def _is_of_running_turn(state: ThreadState, fact: ev.EntryRecorded) -> bool:
    return state.turn_aliases.get(fact.turn_id, fact.turn_id) == state.running_turn_id


def _encoded(facts: dict[str, list[ev.EntryRecorded]]) -> bytes:
    return msgspec.json.encode({name: some for name, some in facts.items() if some})


def _decoded(content: bytes) -> dict[str, list[ev.EntryRecorded]]:
    try:
        return msgspec.json.decode(content, type=dict[str, list[ev.EntryRecorded]])
    except msgspec.MsgspecError as error:
        log.warning("unfinished_items_unreadable", detail=str(error))
        return {}
