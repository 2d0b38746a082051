"""Creates the thread that `/new` begins in place of another."""

from collections.abc import Callable, Mapping

from trimpoint_protocol.commands import ArchiveAndNew
from trimpoint_protocol.errors import Reason

from trimpoint.core.context.carried_turns import carried_pins_of
from trimpoint.core.context.context_size import overhead_tokens
from trimpoint.core.model import commands as internal
from trimpoint.threads.catalogue import ThreadSummary
from trimpoint.threads.errors import (
    CommandRefused,
)
from trimpoint.threads.ids import is_uuid
from trimpoint.threads.writing.writer import ThreadWriter


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


def replacement_of(writer: ThreadWriter) -> internal.CreateThread:
    """Returns the command that creates the new thread of a `/new` in place of `writer`'s: with the
    same files and settings and an empty ledger, except for pins if they were requested.
    """
    state = writer.state
    thread_id = str(state.new_thread_id)
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
        pinned=carried_pins_of(state, thread_id) if state.new_with_pins else (),
    )
