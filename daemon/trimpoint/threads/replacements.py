"""Creates the thread that `/new` begins in place of another, or `/handoff` with a brief of one."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import anyio
import structlog
from anyio.abc import TaskGroup
from trimpoint_protocol.commands import ArchiveAndNew
from trimpoint_protocol.errors import Reason

from trimpoint.background import spawn
from trimpoint.core.context.carried_turns import carried_pins_of
from trimpoint.core.context.context_size import overhead_tokens
from trimpoint.core.model import commands as internal
from trimpoint.core.model.state import ThreadState
from trimpoint.threads.catalogue import ThreadSummary
from trimpoint.threads.errors import CommandRefused, JournalRefuses, ReplacementDelayed
from trimpoint.threads.ids import is_uuid
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

RETRY_REPLACEMENT_S = 5.0


def check_new_id(
    command: ArchiveAndNew, summaries: Mapping[str, ThreadSummary], *, taken: Callable[[str], bool]
) -> None:
    """Checks the id that a client chose for the new thread. `taken` says whether an id is in use.

    :raises CommandRefused: when it is no valid id, or the id of another thread.
    """
    new_id = str(command.new_thread_id)
    if not is_uuid(new_id):
        raise CommandRefused(
            Reason.INVALID_PARAMS, f"newThreadId must be a UUID in lower case, not {new_id!r}."
        )
    replaced = summaries.get(command.thread_id)
    if taken(new_id) and (replaced is None or replaced.new_thread_id != new_id):
        raise CommandRefused(Reason.INVALID_PARAMS, f"There is a thread {new_id!r} already.")


def successor_of(state: ThreadState, thread_id: str) -> internal.CreateThread | None:
    """Returns the command that creates the thread `thread_id`, which a `/new` or `/handoff` of this
    one has announced: with the same files and settings and an empty ledger, except for pins if they
    were requested, and with the brief as its first prompt. Returns None if it has announced none.
    """
    brief = next((one.brief for one in state.handoffs if one.thread_id == thread_id), None)
    if brief is None and thread_id != state.new_thread_id:
        return None
    has_pins = brief is None and state.new_with_pins
    return internal.CreateThread(
        thread_id=thread_id,
        cwd=state.cwd,
        origin="new",
        settings=state.settings,
        parent_thread_id=state.id,
        project_id=state.project_id,
        worktree_id=state.worktree_id,
        branch_name=state.branch_name,
        overhead_tokens=overhead_tokens(state),
        window_tokens=state.usage.window,
        launch=state.launch,
        pinned=carried_pins_of(state, thread_id) if has_pins else (),
        first_prompt=brief or "",
    )


class Replacements:
    """The new threads of `/new` and `/handoff`. `create` is `ThreadRegistry.create`; a thread whose
    journal the disk refuses is delayed, and begun by a task as soon as the disk accepts it.
    """

    def __init__(
        self,
        create: Callable[[internal.CreateThread], Awaitable[ThreadWriter]],
        tasks: TaskGroup,
    ) -> None:
        self._create = create
        self._tasks = tasks
        self._delayed: dict[str, internal.CreateThread] = {}

    def is_delayed(self, thread_id: str) -> bool:
        """Returns whether a command has announced the thread and it could not be written yet."""
        return thread_id in self._delayed

    async def begin_delayed(self, thread_id: str) -> ThreadWriter:
        """Creates a thread that is delayed.

        :raises ReplacementDelayed: when the disk still refuses its journal.
        """
        return await self._begin(self._delayed[thread_id])

    async def replace(self, writer: ThreadWriter, thread_id: str) -> None:
        """Creates the thread that a `/new` or `/handoff` has announced; if the disk refuses now,
        starts a task that retries.
        """
        command = successor_of(writer.state, thread_id)
        if command is None:
            return  # the journal is damaged before the event
        try:
            await self._begin(command)
        except ReplacementDelayed as error:
            if command.thread_id not in self._delayed:
                log.warning("replacement_delayed", thread_id=command.thread_id, detail=error.detail)
                self._delayed[command.thread_id] = command
                spawn(self._tasks, self._retry, command)

    async def _begin(self, command: internal.CreateThread) -> ThreadWriter:
        try:
            writer = await self._create(command)
        except JournalRefuses as error:
            raise ReplacementDelayed(command.thread_id, error.detail) from error
        self._delayed.pop(command.thread_id, None)
        return writer

    async def _retry(self, command: internal.CreateThread) -> None:
        while command.thread_id in self._delayed:
            await anyio.sleep(RETRY_REPLACEMENT_S)
            with suppress(ReplacementDelayed):
                await self._begin(command)
