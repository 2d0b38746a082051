"""Keeps what the model has said of each answer that is not finished, in memory and in a file, so
that a daemon that is killed has it at its next start.

Codex reports no such answer and does not keep it (measured: 0.163, 0.171), but the person has read
it. The file is replaced whole, at most every half second: it holds as much as is being said.
"""

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

FILE_NAME = "answers"
ABANDONED = "The daemon was restarted while this was under way."
# What was said in this time is lost if the daemon is killed.
WRITE_S = 0.5
_READ_AT_BYTES = 262_144


class UnfinishedAnswer:
    """An answer of which the model has said a part."""

    def __init__(self, turn_id: str, item_id: str) -> None:
        self.turn_id = turn_id
        self.item_id = item_id
        self._pieces: list[str] = []
        self._lines: list[bytes] = []
        self._bytes = 0

    def add(self, lines: list[bytes]) -> None:
        """Adds deltas, as Codex sent them."""
        self._lines += lines
        self._bytes += sum(map(len, lines))
        if self._bytes > _READ_AT_BYTES:
            self._read()

    def fact(self) -> ev.EntryRecorded | None:
        """Returns what is recorded if the turn ends now, or None if nothing was said yet."""
        self._read()
        text = "".join(self._pieces)
        if not text.strip():
            return None
        return ev.EntryRecorded(
            self.turn_id, self.item_id, "message", "assistant", text, extent=ev.PART
        )

    def _read(self) -> None:
        """Reads the lines, of which only the text is kept."""
        for line in self._lines:
            params = as_dict(as_dict(msgspec.json.decode(line)).get("params"))
            delta = params.get("delta")
            if params.get("itemId") == self.item_id and isinstance(delta, str):
                self._pieces.append(delta)
        self._lines, self._bytes = [], 0


class UnfinishedAnswers:
    """The unfinished answers of a state directory, at most one of each thread: where Codex repeats
    a call of the model, the newest one.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._answers: dict[str, UnfinishedAnswer] = {}
        self._left: dict[str, ev.EntryRecorded] = {}
        self._written = _encoded({})
        self._changed = anyio.Event()

    def of(self, thread_id: str) -> UnfinishedAnswer | None:
        """Returns the thread's unfinished answer."""
        return self._answers.get(thread_id)

    def begin(self, thread_id: str, turn_id: str, item_id: str) -> None:
        """Begins an answer, in the place of one that has not been finished."""
        self._answers[thread_id] = UnfinishedAnswer(turn_id, item_id)

    def add(self, thread_id: str, lines: list[bytes]) -> None:
        """Adds deltas to the thread's answer, if it has one."""
        if (answer := self._answers.get(thread_id)) is not None:
            answer.add(lines)
            self._changed.set()

    def remove(self, thread_id: str) -> UnfinishedAnswer | None:
        """Removes the thread's answer and returns it."""
        self._changed.set()
        return self._answers.pop(thread_id, None)

    async def open(self) -> None:
        """Reads what the daemon before has left. A damaged file leaves nothing."""
        content = await self._store.read_checked(FILE_NAME)
        if content is not None:
            self._written = bytes(content)
            self._left = _decoded(self._written)
            self._changed.set()

    async def end_open_work(self, writer: ThreadWriter) -> None:
        """Ends the open turns and requests of a thread that was loaded, and records what was said
        in the turn that was running.
        """
        left = self._left.pop(writer.thread_id, None)
        if left is not None and _is_of_running_turn(writer.state, left):
            writer.record_facts(left)
        try:
            await writer.execute(internal.AbandonOpenWork(ABANDONED))
        except (JournalRefuses, CommandRefused) as error:
            log.warning("open_work_not_ended", thread_id=writer.thread_id, detail=str(error))

    async def write_forever(self) -> None:
        """Writes the file when something was said or an answer has ended."""
        while True:
            await self._changed.wait()
            await anyio.sleep(WRITE_S)
            self._changed = anyio.Event()
            await self.write()

    async def write(self) -> None:
        """Writes the file unless it is as it should be. If the disk refuses, the next change writes
        it.
        """
        facts = {thread_id: answer.fact() for thread_id, answer in self._answers.items()}
        content = _encoded({name: fact for name, fact in facts.items() if fact is not None})
        if content == self._written:
            return
        try:
            await self._store.write_atomic(FILE_NAME, content)
        except JournalError as error:
            log.info("answers_not_written", detail=str(error))
        else:
            self._written = content


def _is_of_running_turn(state: ThreadState, fact: ev.EntryRecorded) -> bool:
    return state.turn_aliases.get(fact.turn_id, fact.turn_id) == state.running_turn_id


def _encoded(facts: dict[str, ev.EntryRecorded]) -> bytes:
    return msgspec.json.encode(facts)


def _decoded(content: bytes) -> dict[str, ev.EntryRecorded]:
    try:
        return msgspec.json.decode(content, type=dict[str, ev.EntryRecorded])
    except msgspec.MsgspecError as error:
        log.warning("answers_unreadable", detail=str(error))
        return {}
