"""Builds the application layer: how a thread is connected to Codex and to its files."""

from typing import NamedTuple

from anyio.abc import TaskGroup

from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.codex.notifications.client_sink import ClientSink
from trimpoint.operations.checkpoints.file_reverts import FileReverts
from trimpoint.operations.checkpoints.turn_captures import CaptureRules, TurnCaptures
from trimpoint.operations.provider.lost_endings import EndingLimits, LostEndings
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.operations.provider.settings import working_folder
from trimpoint.operations.routing.notification_router import NotificationRouter
from trimpoint.operations.runner import OperationRunner, RunnerLimits
from trimpoint.operations.session_reactions import SessionReactions
from trimpoint.operations.sessions import Sessions
from trimpoint.threads.registry import ThreadRegistry

# A turn waits for an operation a little longer than the longest operation may take.
WAIT_BEYOND_COMPACTION_S = 60.0


class OperationRules(NamedTuple):
    """`compaction_deadline_s` bounds one compaction, `captures` what a checkpoint may cost."""

    compaction_deadline_s: float
    captures: CaptureRules

    @property
    def wait_s(self) -> float:
        """Returns how long a turn waits for an operation, in seconds."""
        return self.compaction_deadline_s + WAIT_BEYOND_COMPACTION_S


class Operations(NamedTuple):
    """One of each; `router` handles what the link receives."""

    router: NotificationRouter
    threads: ProviderThreads
    captures: TurnCaptures
    sessions: Sessions
    reactions: SessionReactions
    worktrees: FileReverts
    lost_endings: LostEndings


class Files(NamedTuple):
    """The operations on the files of all threads, whichever Codex works on them."""

    captures: TurnCaptures
    worktrees: FileReverts


def build_files(engine: ThreadRegistry, rules: CaptureRules, tasks: TaskGroup) -> Files:
    """Builds what captures and restores files, and has it listen to `engine`."""
    captures = TurnCaptures(engine, lambda state: working_folder(state.settings), rules, tasks)
    return Files(captures, FileReverts(engine, captures))


def build_operations(
    engine: ThreadRegistry,
    link: CodexLink,
    sink: ClientSink,
    files: Files,
    rules: OperationRules,
    tasks: TaskGroup,
) -> Operations:
    """Builds the layer for one Codex, subscribes it to the records of `engine`, and runs its work
    in `tasks`.
    """
    captures, worktrees = files
    router = NotificationRouter(engine, sink, captures.settled, tasks)
    engine.keep_in_memory(router.has_fast_path)
    threads = ProviderThreads(engine, link, router)
    limits = RunnerLimits(rules.compaction_deadline_s)
    runner = OperationRunner(engine, threads, worktrees, limits, tasks)
    reactions = SessionReactions(engine, threads, runner, tasks)
    sessions = Sessions(engine, threads, runner, reactions, rules.wait_s, tasks)
    lost_endings = LostEndings(engine, threads, EndingLimits(), tasks)
    return Operations(router, threads, captures, sessions, reactions, worktrees, lost_endings)
