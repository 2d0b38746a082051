"""Builds the application layer for one Codex, and the part of it that works on files."""

from collections.abc import Callable
from typing import NamedTuple

from anyio.abc import TaskGroup

from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.codex.notifications.client_sink import ClientSink
from trimpoint.config.sections import CheckpointsSection, CompactionSection
from trimpoint.operations.checkpoints.file_reverts import FileReverts
from trimpoint.operations.checkpoints.turn_captures import TurnCaptures
from trimpoint.operations.journal_troubles import JournalTroubles
from trimpoint.operations.provider.archiving import Archiving
from trimpoint.operations.provider.lost_endings import EndingLimits, LostEndings
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.operations.provider.settings import working_folder
from trimpoint.operations.routing.notification_router import NotificationRouter
from trimpoint.operations.runner import OperationRunner
from trimpoint.operations.session_reactions import SessionReactions
from trimpoint.operations.sessions import Sessions
from trimpoint.threads.registry import ThreadRegistry

# The longest operation is a compaction; a turn waits this much longer than it may take.
WAIT_BEYOND_COMPACTION_S = 60.0


class Operations(NamedTuple):
    """The objects of the application layer for one Codex. `router` handles the messages of the link
    to Codex.
    """

    router: NotificationRouter
    threads: ProviderThreads
    captures: TurnCaptures
    sessions: Sessions
    reactions: SessionReactions
    worktrees: FileReverts
    lost_endings: LostEndings


class Files(NamedTuple):
    """The operations on the files of all threads, whichever Codex serves them."""

    captures: TurnCaptures
    worktrees: FileReverts


def build_files(registry: ThreadRegistry, rules: CheckpointsSection, tasks: TaskGroup) -> Files:
    """Builds the objects that capture and restore files, and subscribes them to the records of
    `registry`.
    """
    captures = TurnCaptures(registry, lambda state: working_folder(state.settings), rules, tasks)
    return Files(captures, FileReverts(registry, captures))


def build_operations(
    registry: ThreadRegistry,
    link: CodexLink,
    sink: ClientSink,
    files: Files,
    compaction: CompactionSection,
    reads_file: Callable[[str], bool],
    tasks: TaskGroup,
) -> Operations:
    """Builds the application layer for one Codex, subscribes it to the records of `registry`, and
    runs its background work in `tasks`. `reads_file` is that of `Archiving`.
    """
    captures, worktrees = files
    router = NotificationRouter(registry, sink, captures.settled, tasks)
    registry.keep_in_memory(router.must_stay_in_memory)
    threads = ProviderThreads(registry, link, router, Archiving(link, reads_file))
    runner = OperationRunner(registry, threads, worktrees, compaction.deadline_s, tasks)
    reactions = SessionReactions(registry, threads, runner, tasks)
    wait_s = compaction.deadline_s + WAIT_BEYOND_COMPACTION_S
    sessions = Sessions(registry, threads, runner, reactions, worktrees, wait_s, tasks)
    JournalTroubles(registry, threads, tasks)
    lost_endings = LostEndings(registry, threads, EndingLimits(), tasks)
    return Operations(router, threads, captures, sessions, reactions, worktrees, lost_endings)
