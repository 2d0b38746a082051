"""Handles `/revert --dry-run` and `checkpoint/preview`: returns what a revert would do, in the
shape of a revert's outcome.
"""

from trimpoint_protocol.commands import RevertToCheckpoint
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint
from trimpoint_protocol.methods import CommandOutcome, CommandStatus, TokenChange
from trimpoint_protocol.shapes.checkpoints import RevertedFiles, RevertPreviewParams

from trimpoint.core.commands.revert import Revert
from trimpoint.core.context.cost import cache_of, with_cost
from trimpoint.core.decide.reverting import resolve_target, revert_to_checkpoint
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Rejected, when_idle
from trimpoint.core.model.state import Reverting
from trimpoint.core.views.trim_outcome import planned_revert_change
from trimpoint.gateway.commands.slash_outcomes import outcome
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.requests.dispatch import Call, Handler
from trimpoint.operations.messages import previewed_message
from trimpoint.operations.phases import complete_context
from trimpoint.operations.sessions import Sessions
from trimpoint.threads.ids import new_uuid7
from trimpoint.threads.off_loop import off_loop
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.worktrees import Preview, WorktreeRefuses, Worktrees
from trimpoint.threads.writing.sequencer import new_stamp
from trimpoint.threads.writing.writer import ThreadWriter

_NO_FILES = Preview((), (), (), ())


class RevertPreviews:
    """Answers previews of reverts. `table` maps method names to handlers."""

    def __init__(
        self, registry: ThreadRegistry, sessions: Sessions, identity: Identity, worktrees: Worktrees
    ) -> None:
        self._registry = registry
        self._sessions = sessions
        self._identity = identity
        self._worktrees = worktrees
        self.table: dict[str, Handler] = {"checkpoint/preview": self._preview}

    async def preview(self, command: RevertToCheckpoint) -> CommandOutcome:
        """Returns the outcome that the command would have. Nothing is changed.

        :raises ThreadError: when the thread does not exist.
        """
        writer = await self._registry.thread(command.thread_id)
        await self._sessions.prepare(writer, command)
        stamp = new_stamp()
        decision = when_idle(writer.state, "revert") or revert_to_checkpoint(
            writer.state, command, stamp
        )
        if isinstance(decision, Rejected):
            return _failed(decision.reason, decision.said, decision.hints)
        requested = next(
            event for event in decision.events if isinstance(event, ev.RevertRequested)
        )
        reverting = Reverting(
            requested.turn_id,
            requested.scope,
            requested.undo,
            requested.force,
            requested.repository,
            requested.commit,
        )
        try:
            files = (
                await self._worktrees.preview(writer, reverting) if reverting.commit else _NO_FILES
            )
        except WorktreeRefuses as refused:
            return _failed(
                refused.reason, f"The revert would fail: {refused} {refused.hint}".strip()
            )
        target = resolve_target(writer.state, reverting)
        if target is not None:
            await complete_context(writer, target.active)
        state, policy = writer.state, self._registry.policy
        change = with_cost(
            await off_loop(state, lambda now: planned_revert_change(now, reverting, policy)),
            state.usage.last_call,
            cache_of(state.settings, policy),
            stamp.now_ms,
        )
        return _outcome(writer, reverting, files, change)

    async def _preview(self, call: Call, params: RevertPreviewParams) -> CommandOutcome:
        thread_id = self._identity.thread_of(params.thread_id) or params.thread_id
        command = RevertToCheckpoint(
            command_id=new_uuid7(),
            thread_id=thread_id,
            turn_id=params.turn_id,
            turn_count=params.turn_count,
            undo=params.undo,
            scope=params.scope,
            force=params.force,
        )
        return await self.preview(command)


def _outcome(
    writer: ThreadWriter, reverting: Reverting, files: Preview, tokens: TokenChange
) -> CommandOutcome:
    is_refused = bool(files.refusals) and not reverting.force
    return outcome(
        Revert.command,
        previewed_message(writer.state, reverting, files),
        "failed" if is_refused else "completed",
        reason=Reason.FILES_CHANGED if is_refused else None,
        tokens=tokens,
        dry_run=True,
        files=RevertedFiles(
            written=list(files.written),
            removed=list(files.removed),
            kept=list(files.kept),
            refusals=list(files.refusals),
        ),
    )


def _failed(reason: Reason, said: str, hints: tuple[CommandHint, ...] = ()) -> CommandOutcome:
    status: CommandStatus = "skipped" if reason is Reason.NOTHING_TO_REVERT else "failed"
    return outcome(Revert.command, said, status, reason=reason, hints=[*hints], dry_run=True)
