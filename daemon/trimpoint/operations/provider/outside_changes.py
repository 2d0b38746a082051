"""Records changes to a thread that other programs made: Codex's terminal UI, `codex exec resume`,
or another daemon.
"""

from contextlib import suppress
from typing import Any

import structlog

from trimpoint.core.model import events as ev
from trimpoint.core.model.commands import RollBackTurns
from trimpoint.core.model.state import ThreadState
from trimpoint.operations.history.resync import Missed
from trimpoint.threads.errors import JournalRefuses
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()


def record_missed(writer: ThreadWriter, missed: Missed) -> None:
    """Records turns that another program added, and rolls back turns that it took back."""
    if missed.taken_back is not None:
        log.warning(
            "turns_taken_back_elsewhere", thread_id=writer.thread_id, first_turn=missed.taken_back
        )
        with suppress(JournalRefuses):  # the writer keeps the record and writes it later
            writer.submit(RollBackTurns(missed.taken_back, provider_did=True))
    writer.record_facts(*missed.facts)


def renamed(state: ThreadState, thread: dict[str, Any]) -> tuple[ev.AnyEvent, ...]:
    """Returns the fact that another program has renamed the thread, or nothing. `thread` is Codex's
    object. While Codex lacks the name that a command gave, it has an older one; so it may after it
    was killed right behind its acknowledgement.
    """
    name = thread.get("name")
    is_older = name == state.name or name in state.former_names or state.name_unconfirmed
    is_theirs = name and not is_older
    return (ev.ThreadRenamed(str(name)),) if is_theirs else ()
