"""Executes slash commands: dispatches a command to the thread and reports its operation until it
ends (docs/spec/clients.md).
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import structlog
from trimpoint_protocol.commands import (
    AnyClientCommand,
    ArchiveAndNew,
    DiscardContext,
    PinContext,
    RevertToCheckpoint,
    UndoTrim,
    UnpinContext,
)
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import CommandOutcome, CommandProgress, TokenChange

from trimpoint.core.context.context_size import (
    ContextSize,
    context_size,
    window_of,
)
from trimpoint.core.context.segments import context_segments
from trimpoint.core.decide.decider import decide
from trimpoint.core.decide.discarding import plan_compression, total_tokens
from trimpoint.core.model import events as ev
from trimpoint.core.model import invocations, slash
from trimpoint.core.model.decision import DiscardPolicy, Rejected, Stamp
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import model_in
from trimpoint.core.views.compression_text import compression_preview, preview_text, remaining_text
from trimpoint.core.views.pins_view import pin_names, pins_text, pins_weight, unpin_command
from trimpoint.core.views.timeline_text import timeline_text
from trimpoint.core.views.trim_outcome import (
    Planned,
    change_by_discard,
    planned_change,
    planned_text,
    token_change,
    tokens_text,
    unarchive_line,
    undo_command,
    undo_line,
    with_pins,
)
from trimpoint.gateway.commands.slash_outcomes import (
    STATUS_OF,
    failed_outcome,
    refused_outcome,
    revert_members,
    successor_of,
    trim_point_members,
)
from trimpoint.gateway.commands.slash_requests import CommandIds, as_command
from trimpoint.gateway.commands.views.context_inspections import ContextInspections
from trimpoint.gateway.commands.views.history_searches import HistorySearches
from trimpoint.gateway.commands.views.revert_previews import RevertPreviews
from trimpoint.operations.messages import UNDO
from trimpoint.operations.sessions import Sessions
from trimpoint.threads.errors import CommandRefused
from trimpoint.threads.ids import new_uuid7
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.receipts import CommandResult
from trimpoint.threads.writing.writer import ThreadWriter

Progress = Callable[[CommandProgress], None]


class CommandViews(NamedTuple):
    """Answers the commands that change nothing: a revert's preview, `/context` and `/search`."""

    previews: RevertPreviews
    inspections: ContextInspections
    searches: HistorySearches


class SlashRunner:
    """Executes slash commands. `wait_s` is how many seconds the answer waits for an operation;
    after that, the operation continues without it.
    """

    def __init__(
        self,
        engine: ThreadRegistry,
        sessions: Sessions,
        views: CommandViews,
        wait_s: float,
        discard: DiscardPolicy,
    ) -> None:
        self._views = views
        self._engine = engine
        self._sessions = sessions
        self._wait_s = wait_s
        self._discard = discard

    async def run(
        self,
        parsed: invocations.Parsed,
        thread_id: str | None,
        command_id: str | None,
        progress: Progress,
        *,
        dry_run: bool = False,
    ) -> CommandOutcome:
        """Executes one parsed input and returns its outcome. With `dry_run`, only returns what the
        command would do.

        :raises EngineError: when the thread does not exist, or its journal cannot be written.
        """
        match parsed:
            case invocations.NotACommand():
                return CommandOutcome(handled=False)
            case invocations.UsageError(command, message):
                return failed_outcome(command, Reason.USAGE, message)
            case invocations.Help(name):
                return CommandOutcome(
                    handled=True, command="help", status="completed", message=slash.help_text(name)
                )
            case _ if thread_id is None:
                problem = f"/{parsed.command} needs a thread to act on; give its threadId."
                return failed_outcome(parsed.command, Reason.USAGE, problem)
            case invocations.Search(query):
                return await self._views.searches.run(thread_id, query)
            case invocations.Context():
                return await self._views.inspections.run(thread_id)
            case invocations.Pins():
                state = (await self._engine.thread(thread_id)).state
                text = pins_text(state, self._engine.policy)
                return CommandOutcome(
                    handled=True, command="pins", status="completed", message=text
                )
            case invocations.Timeline(turns):
                text = timeline_text((await self._engine.thread(thread_id)).state, turns)
                return CommandOutcome(
                    handled=True, command="timeline", status="completed", message=text
                )
            case invocations.Compress(target_tokens):
                dry_run = parsed.dry_run or dry_run
                ids = CommandIds(thread_id, command_id or new_uuid7())
                return await self._compress(target_tokens, ids, progress, dry_run=dry_run)
            case _:
                request = as_command(parsed, CommandIds(thread_id, command_id or new_uuid7()))
                dry_run = getattr(parsed, "dry_run", False) or dry_run
                with structlog.contextvars.bound_contextvars(thread_id=thread_id):
                    if dry_run and isinstance(request, RevertToCheckpoint):
                        return await self._views.previews.preview(request)
                    if dry_run and isinstance(request, Planned):
                        return await self._rehearse(parsed.command, request)
                    return await self._dispatch(parsed.command, request, progress)

    async def _dispatch(
        self, command: str, request: AnyClientCommand, progress: Progress
    ) -> CommandOutcome:
        writer = await self._engine.thread(request.thread_id)
        before, sequence = context_size(writer.state, self._engine.policy), writer.state.sequence
        try:
            result = await self._sessions.dispatch(request)
        except CommandRefused as refused:
            outcome = refused_outcome(command, refused)
            return msgspec.structs.replace(outcome, new_thread_id=successor_of(writer, refused))
        if isinstance(request, PinContext | UnpinContext):
            return await self._after_pin(command, writer, result, progress)
        if isinstance(request, ArchiveAndNew):
            outcome = await self._after_new(writer, result, progress)
        else:
            outcome = await self._after_operation(command, writer, result, progress)
        if outcome.status != "completed":
            return outcome
        is_repeated = result.sequence <= sequence
        return await self._with_tokens(outcome, writer, None if is_repeated else before)

    async def _with_tokens(
        self, outcome: CommandOutcome, writer: ThreadWriter, before: ContextSize | None
    ) -> CommandOutcome:
        """Returns the outcome with the change of the context's size added, and as its last line the
        command that undoes it.
        """
        new_id = outcome.new_thread_id
        present = writer if new_id is None else await self._engine.thread(new_id)
        change = None if before is None else self._change(before, present.state)
        undo, way_back = self._way_back(outcome, writer.state)
        done = str(outcome.message).removesuffix(f"\n{way_back}")
        said = done if change is None else f"{done} {tokens_text(change)}"
        message = f"{said}\n{way_back}" if way_back else said
        return msgspec.structs.replace(outcome, message=message, tokens=change, undo=undo)

    @staticmethod
    def _way_back(outcome: CommandOutcome, state: ThreadState) -> tuple[str | None, str]:
        """Returns the command that undoes the outcome, and the line that says so; None and an empty
        line if it cannot be undone.
        """
        if outcome.new_thread_id is not None:
            return f"thread/unarchive {state.id}", unarchive_line(state)
        if outcome.command == "revert":
            return UNDO, undo_line(UNDO)
        undo = undo_command(state, of_undo=outcome.command == "undo")
        return undo, undo_line(undo) if undo is not None else ""

    def _change(self, before: ContextSize, state: ThreadState) -> TokenChange:
        policy = self._engine.policy
        window = window_of(state.usage, model_in(state.settings), policy)
        return token_change(before, context_size(state, policy), window)

    async def _rehearse(self, command: str, request: Planned) -> CommandOutcome:
        """Returns what a command would do, without writing anything to the journal."""
        writer = await self._engine.thread(request.thread_id)
        await self._sessions.complete_context(writer)
        stamp = Stamp(time.time_ns() // 1_000_000, new_uuid7())
        decision = decide(writer.state, request, stamp, self._engine.policy)
        if isinstance(decision, Rejected):
            refused = CommandRefused(decision.reason, decision.message, decision.block)
            return msgspec.structs.replace(refused_outcome(command, refused), dry_run=True)
        if isinstance(request, UndoTrim):
            await self._sessions.complete_undone(writer, redo=request.redo)
        change = planned_change(writer.state, request, self._engine.policy)
        text = f"{planned_text(writer.state, request)} {tokens_text(change)} Nothing was changed."
        return CommandOutcome(
            handled=True,
            command=command,
            status="completed",
            message=text,
            sequence=writer.state.sequence,
            tokens=change,
            dry_run=True,
        )

    async def _compress(
        self, target_tokens: int | None, ids: CommandIds, progress: Progress, *, dry_run: bool
    ) -> CommandOutcome:
        thread_id, command_id = ids
        target = target_tokens or self._discard.target_tokens
        if dry_run:
            return await self._preview(thread_id, target)
        request = DiscardContext(command_id=command_id, thread_id=thread_id, target_tokens=target)
        outcome = await self._dispatch("compress", request, progress)
        if outcome.status != "completed":
            return outcome
        state = (await self._engine.thread(thread_id)).state
        left = remaining_text(total_tokens(context_segments(state)), target)
        said, newline, undo = str(outcome.message).partition("\n")
        return msgspec.structs.replace(outcome, message=f"{said} {left}{newline}{undo}")

    async def _preview(self, thread_id: str, target_tokens: int) -> CommandOutcome:
        """Returns what the discard would take. The thread may be busy, because nothing is
        changed.
        """
        writer = await self._engine.thread(thread_id)
        await self._sessions.complete_context(writer)
        plan = plan_compression(writer.state, target_tokens, self._discard)
        if isinstance(plan, Rejected):
            return failed_outcome("compress", plan.reason, plan.message)
        outcome = CommandOutcome(
            handled=True,
            command="compress",
            status="skipped",
            reason=Reason.NOTHING_TO_TRIM,
            message=preview_text(plan),
            compression=compression_preview(plan),
            dry_run=True,
        )
        if not plan.chosen:
            return outcome
        change = change_by_discard(writer.state, total_tokens(plan.chosen), self._engine.policy)
        message = f"{outcome.message}\n{tokens_text(change)} Nothing was changed."
        return msgspec.structs.replace(
            outcome, status="completed", reason=None, message=message, tokens=change
        )

    async def _after_operation(
        self, command: str, writer: ThreadWriter, result: CommandResult, progress: Progress
    ) -> CommandOutcome:
        operation_id = str(result.operation_id)
        await self._watch(command, writer, progress)
        operation = writer.state.operation
        if (
            operation is None or operation.id != operation_id
        ):  # a repeated command id, whose operation has ended
            return CommandOutcome(
                handled=True,
                command=command,
                status="completed",
                message="Done.",
                sequence=result.sequence,
                operation_id=operation_id,
            )
        status = STATUS_OF.get(operation.phase, "completed")
        return CommandOutcome(
            handled=True,
            command=command,
            operation_id=operation_id,
            status=status,
            reason=None if status == "completed" else operation.reason or None,
            message=operation.message,
            sequence=writer.state.sequence,
            **trim_point_members(writer.state, operation),
            **(revert_members(operation) if status == "completed" else {}),
        )

    async def _after_pin(
        self, command: str, writer: ThreadWriter, result: CommandResult, progress: Progress
    ) -> CommandOutcome:
        outcome = None
        if result.operation_id is not None:
            outcome = await self._after_operation(command, writer, result, progress)
            if outcome.status != "completed":
                return outcome
        new = [one.pin_id for one in result.record.events if isinstance(one, ev.ContextPinned)]
        if command == "unpin":
            done = "Unpinned."
        else:
            done = f"Pinned: {pin_names(writer.state, new)}." if new else "It is pinned already."
        back = f"\n{undo_line(unpin_command(writer.state, new))}" if new else ""
        message = f"{done} {pins_weight(writer.state, self._engine.policy)}{back}"
        if outcome is not None:
            return msgspec.structs.replace(outcome, message=message)
        return CommandOutcome(
            handled=True,
            command=command,
            status="completed",
            message=message,
            sequence=result.sequence,
        )

    async def _after_new(
        self, writer: ThreadWriter, result: CommandResult, progress: Progress
    ) -> CommandOutcome:
        new_id = str(writer.state.new_thread_id)
        replacement = await self._engine.thread(new_id)
        await self._watch("new", replacement, progress)
        operation = replacement.state.operation
        failed = operation is not None and operation.phase is Phase.FAILED
        begins = f" {with_pins(writer.state)}" if writer.state.new_with_pins else ""
        message = (
            f"The thread is archived; a new one{begins} with the same files and settings is ready: "
            f"{new_id}."
        )
        if failed and operation is not None:
            message = (
                f"The thread is archived and a new one was made: {new_id}. {operation.message} The "
                "next turn will try again."
            )
        return CommandOutcome(
            handled=True,
            command="new",
            status="completed",
            message=message,
            sequence=result.sequence,
            new_thread_id=new_id,
            operation_id=operation.id if operation is not None else None,
        )

    async def _watch(self, command: str, writer: ThreadWriter, progress: Progress) -> None:
        """Reports the phases of the thread's operation until the operation has ended or `wait_s`
        has passed.
        """

        def report(thread_id: str, record: ev.Record) -> None:
            for event in record.events if thread_id == writer.thread_id else ():
                if isinstance(event, ev.OperationAdvanced):
                    progress(
                        CommandProgress(
                            thread_id=thread_id,
                            command=command,
                            phase=event.phase,
                            message=event.message,
                            operation_id=event.operation_id,
                        )
                    )

        self._engine.subscribe(report)
        try:
            await self._sessions.operation_ended(writer, self._wait_s)
        finally:
            self._engine.unsubscribe(report)
