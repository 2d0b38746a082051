"""Executes slash commands: dispatches a command to the thread and reports its operation until it
ends (docs/spec/clients.md).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import structlog
from trimpoint_protocol.commands import MaskContext, RevertToCheckpoint, UndoTrim
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import CommandOutcome, CommandProgress, TokenChange

from trimpoint.core.commands.accept import Accept
from trimpoint.core.commands.arguments import DRAFT_PREFIX
from trimpoint.core.commands.auto import Auto
from trimpoint.core.commands.compress import Compress
from trimpoint.core.commands.declaration import Change, Command, CommandIds, Done, Reading
from trimpoint.core.commands.handoff import Handoff
from trimpoint.core.commands.helping import Help
from trimpoint.core.commands.looking import Context, Search, Stats
from trimpoint.core.commands.new import New
from trimpoint.core.commands.parsing import NotACommand, Parsed, UsageError
from trimpoint.core.commands.pins import Pin, Unpin
from trimpoint.core.commands.registry import help_text
from trimpoint.core.commands.summary import ShowSummary
from trimpoint.core.commands.trust import Trust
from trimpoint.core.context.context_size import ContextSize, window_of
from trimpoint.core.context.cost import cache_of, with_cost
from trimpoint.core.context.segments import context_segments
from trimpoint.core.decide.decider import decide
from trimpoint.core.decide.discarding import total_tokens
from trimpoint.core.decide.stretches import masked_stretch_of
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Rejected
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import ModelCall, model_in
from trimpoint.core.views.auto_view import auto_said
from trimpoint.core.views.compression_text import RefusedCompression, rehearsed, remaining_text
from trimpoint.core.views.outcome_text import operation_said, ways_on
from trimpoint.core.views.pins_view import new_pins, pin_names, pins_weight
from trimpoint.core.views.summary_view import summary_said
from trimpoint.core.views.trim_outcome import (
    Planned,
    planned_change,
    planned_text,
    token_change,
)
from trimpoint.gateway.commands.slash_outcomes import (
    STATUS_OF,
    drafted_outcome,
    failed_outcome,
    handed_off,
    handoff_outcome,
    new_outcome,
    outcome,
    refused_outcome,
    revert_members,
    successor_of,
    summary_to_edit,
    trim_point_members,
    with_members,
)
from trimpoint.gateway.commands.views.context_inspections import ContextInspections
from trimpoint.gateway.commands.views.folder_trusts import FolderTrusts
from trimpoint.gateway.commands.views.history_searches import HistorySearches
from trimpoint.gateway.commands.views.revert_previews import RevertPreviews
from trimpoint.gateway.commands.views.spending import AllSpending
from trimpoint.operations.sessions import Sessions
from trimpoint.threads.errors import CommandRefused
from trimpoint.threads.ids import new_uuid7
from trimpoint.threads.off_loop import off_loop, size_of
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.receipts import CommandResult
from trimpoint.threads.writing.sequencer import new_stamp, now_ms
from trimpoint.threads.writing.writer import ThreadWriter

Progress = Callable[[CommandProgress], None]


class CommandViews(NamedTuple):
    """Answers the commands that change no thread: a revert's preview, `/context`, `/search` and
    `/trust`.
    """

    previews: RevertPreviews
    inspections: ContextInspections
    searches: HistorySearches
    trusts: FolderTrusts
    spending: AllSpending


class _Before(NamedTuple):
    size: ContextSize
    last_call: ModelCall | None


class SlashRunner:
    """Executes slash commands. An answer waits for an operation as long as `Sessions` does; after
    that, the operation continues without it.
    """

    def __init__(self, registry: ThreadRegistry, sessions: Sessions, views: CommandViews) -> None:
        self._views = views
        self._registry = registry
        self._sessions = sessions

    async def run(
        self,
        parsed: Parsed,
        thread_id: str | None,
        command_id: str | None,
        progress: Progress,
        *,
        dry_run: bool = False,
    ) -> CommandOutcome:
        """Executes one parsed input and returns its outcome. With `dry_run`, only returns what the
        command would do.

        :raises ThreadError: when the thread does not exist, or its journal cannot be written.
        """
        match parsed:
            case NotACommand():
                return CommandOutcome(handled=False)
            case UsageError():
                return failed_outcome(parsed.command, Reason.USAGE, parsed.message)
            case Help(name):
                return outcome(Help.command, help_text(name))
            case Stats(is_of_all=True):
                return await self._views.spending.run(parsed)
            case _ if thread_id is None:
                problem = (
                    f"/{parsed.command} needs a thread, and there is none yet: your first prompt "
                    "begins one. A program names it by threadId."
                )
                return failed_outcome(parsed.command, Reason.USAGE, problem)
            case Auto():
                ids = CommandIds(thread_id, command_id or new_uuid7())
                is_dry = parsed.mode is None or parsed.dry_run or dry_run
                return await self._auto(parsed, ids, progress, dry_run=is_dry)
            case ShowSummary() if parsed.act != "edit" or parsed.new_text is None:
                return await self._summary(parsed, thread_id)
            case Change():
                ids = CommandIds(thread_id, command_id or new_uuid7())
                if dry_run and not hasattr(parsed, "dry_run"):
                    problem = f"/{parsed.command} has no dry run. Nothing was changed."
                    return failed_outcome(parsed.command, Reason.USAGE, problem)
                dry_run = getattr(parsed, "dry_run", False) or dry_run
                with structlog.contextvars.bound_contextvars(thread_id=thread_id):
                    return await self._change(parsed, ids, progress, dry_run=dry_run)
            case _:
                return await self._read(parsed, thread_id)

    async def _read(self, parsed: Command, thread_id: str) -> CommandOutcome:
        """Answers a command that changes no thread."""
        match parsed:
            case Trust():
                return await self._views.trusts.run(thread_id, parsed)
            case Search(query):
                return await self._views.searches.run(thread_id, query)
            case Context():
                return await self._views.inspections.run(thread_id)
            case Reading():
                writer = await self._registry.thread(thread_id)
                text, hints = parsed.answer(writer.state, self._registry.policy)
                return outcome(parsed.command, text, hints=[*hints])
            case _:
                raise TypeError(f"/{parsed.command} has no answer")

    async def _summary(self, parsed: ShowSummary, thread_id: str) -> CommandOutcome:
        """Shows the summary, or gives it to the person to change."""
        if parsed.new_text is not None:
            problem = f"/{parsed.command} takes show or edit, and edit a text."
            return failed_outcome(parsed.command, Reason.USAGE, problem)
        writer = await self._registry.thread(thread_id)
        if parsed.act == "edit":
            return summary_to_edit(writer.state)
        said, hints = summary_said(writer.state)
        return outcome(parsed.command, said, hints=[*hints])

    async def _auto(
        self, parsed: Auto, ids: CommandIds, progress: Progress, *, dry_run: bool
    ) -> CommandOutcome:
        """Chooses the mode, unless it is a dry run, and returns what is done next."""
        writer = await self._registry.thread(ids.thread_id)
        policy, now = self._registry.policy, now_ms()
        said, hints = await off_loop(
            writer.state, lambda state: auto_said(state, policy, now, parsed.mode)
        )
        if dry_run:
            is_dry = parsed.mode is not None
            return outcome(parsed.command, said, hints=[*hints], dry_run=is_dry)
        ended = await self._dispatch(parsed, ids, progress)
        if ended.status != "completed":
            return ended
        return with_members(ended, said=said, hints=[*hints])

    async def _change(
        self, parsed: Change, ids: CommandIds, progress: Progress, *, dry_run: bool
    ) -> CommandOutcome:
        if isinstance(parsed, Compress):
            parsed = replace(
                parsed, target=parsed.target or self._registry.policy.discard.target_tokens
            )
            if dry_run:
                return await self._preview(ids.thread_id, parsed)
        request = parsed.request(ids)
        if dry_run and isinstance(request, RevertToCheckpoint):
            return await self._views.previews.preview(request)
        if dry_run and isinstance(request, Planned):
            return await self._rehearse(parsed.command, request)
        return await self._dispatch(parsed, ids, progress)

    async def _dispatch(
        self, parsed: Change, ids: CommandIds, progress: Progress
    ) -> CommandOutcome:
        writer = await self._registry.thread(ids.thread_id)
        sequence = writer.state.sequence
        size = await size_of(writer.state, self._registry.policy)
        before = _Before(size, writer.state.usage.last_call)
        try:
            request = parsed.request(ids)
            result = await self._sessions.dispatch(request)
        except CommandRefused as refused:
            refusal = refused_outcome(parsed.command, refused)
            return with_members(refusal, new_thread_id=successor_of(writer, refused))
        if isinstance(parsed, New):
            ended = await self._after_new(writer, result, progress)
        elif (handed := handed_off(result.record.events)) is not None:
            ended = await self._after_handoff(handed, result, progress)
        elif result.operation_id is None:  # a pin that needs no new session
            ended = outcome(parsed.command, "Done.", sequence=result.sequence)
        else:
            ended = await self._after_operation(parsed, writer, result, progress)
        if ended.status != "completed":
            return ended
        if ended.draft is not None:
            return await self._sent_unread(parsed, ids, ended, progress)
        done = Done(writer.state, result.record.events)
        if isinstance(parsed, Auto):
            return with_members(ended, undo=parsed.way_back(done))
        if isinstance(parsed, Pin | Unpin):
            said = self._pinned(parsed, done)
            return with_members(ended, said=said, undo=parsed.way_back(done))
        if isinstance(parsed, Compress):
            left = await off_loop(writer.state, lambda now: total_tokens(context_segments(now)))
            said = f"{ended.said} {remaining_text(left, parsed.target or 0)}"
            ended = with_members(ended, said=said)
        if isinstance(request, MaskContext):
            masked = await off_loop(writer.state, lambda now: masked_stretch_of(now, request))
            kept = "" if isinstance(masked, Rejected) else masked.left_text
            ended = with_members(ended, said=f"{ended.said} {kept}".rstrip())
        is_repeated = result.sequence <= sequence
        tokens = None if is_repeated else await self._change_of(ended, writer, before)
        return with_members(ended, tokens=tokens, undo=parsed.way_back(done))

    def _pinned(self, parsed: Change, done: Done) -> str:
        made = new_pins(done.events)
        if isinstance(parsed, Unpin):
            said = "Unpinned."
        elif made:
            said = f"Pinned: {pin_names(done.state, made)}."
        else:
            said = "It is pinned already."
        return f"{said} {pins_weight(done.state, self._registry.policy)}"

    async def _change_of(
        self, ended: CommandOutcome, writer: ThreadWriter, before: _Before
    ) -> TokenChange:
        """Returns the change of the context's size; after `/new`, the new thread has it."""
        new_id = ended.new_thread_id
        state = (writer if new_id is None else await self._registry.thread(new_id)).state
        policy = self._registry.policy
        window = window_of(state.usage, model_in(state.settings), policy)
        change = token_change(before.size, await size_of(state, policy), window)
        return self._with_cost(change, state, before.last_call)

    async def _rehearse(self, command: str, request: Planned) -> CommandOutcome:
        """Returns what a command would do, without writing anything to the journal."""
        writer = await self._registry.thread(request.thread_id)
        await self._sessions.complete_context(writer)
        policy, stamp = self._registry.policy, new_stamp()
        decision = await off_loop(writer.state, lambda now: decide(now, request, stamp, policy))
        if isinstance(decision, Rejected):
            return with_members(refused_outcome(command, CommandRefused(*decision)), dry_run=True)
        if isinstance(request, UndoTrim):
            await self._sessions.complete_undone(writer, redo=request.redo)
        change = await off_loop(writer.state, lambda now: planned_change(now, request, policy))
        return outcome(
            command,
            planned_text(writer.state, request),
            sequence=writer.state.sequence,
            tokens=self._with_cost(change, writer.state, writer.state.usage.last_call),
            dry_run=True,
        )

    async def _preview(self, thread_id: str, parsed: Compress) -> CommandOutcome:
        """Returns what the discard would take. The thread may be busy, because nothing is
        changed.
        """
        writer = await self._registry.thread(thread_id)
        await self._sessions.complete_context(writer)
        policy = self._registry.policy
        shown = await off_loop(
            writer.state,
            lambda now: rehearsed(now, parsed.target, policy, only_discard=parsed.discard),
        )
        if isinstance(shown, Rejected):
            return refused_outcome(parsed.command, CommandRefused(*shown))
        if isinstance(shown, RefusedCompression):
            refusal = refused_outcome(parsed.command, CommandRefused(*shown.refusal))
            return with_members(refusal, compression=shown.preview, dry_run=True)
        return outcome(
            parsed.command,
            shown.text,
            compression=shown.preview,
            tokens=self._with_cost(shown.change, writer.state, writer.state.usage.last_call),
            dry_run=True,
        )

    def _with_cost(
        self, change: TokenChange, state: ThreadState, last: ModelCall | None
    ) -> TokenChange:
        cache = cache_of(state.settings, self._registry.policy)
        return with_cost(change, last, cache, now_ms())

    async def _after_operation(
        self, parsed: Change, writer: ThreadWriter, result: CommandResult, progress: Progress
    ) -> CommandOutcome:
        command, operation_id = parsed.command, str(result.operation_id)
        await self._watch(command, writer, progress)
        operation = writer.state.operation
        if operation is None or operation.id != operation_id:
            # A repeated command id, whose operation has ended.
            sequence = result.sequence
            return outcome(command, "Done.", sequence=sequence, operation_id=operation_id)
        status = STATUS_OF.get(operation.phase, "completed")
        draft = writer.state.draft
        if draft is not None and draft.id == operation.id:
            return drafted_outcome(parsed, operation.message, draft, writer.state.sequence)
        return outcome(
            command,
            operation_said(operation),
            status,
            operation_id=operation_id,
            reason=None if status == "completed" else operation.reason or None,
            hints=[*ways_on(operation)],
            sequence=writer.state.sequence,
            **trim_point_members(writer.state, operation),
            **(revert_members(operation) if status == "completed" else {}),
        )

    async def _after_new(
        self, writer: ThreadWriter, result: CommandResult, progress: Progress
    ) -> CommandOutcome:
        new_id = str(writer.state.new_thread_id)
        replacement = await self._registry.thread(new_id)
        await self._watch(New.command, replacement, progress)
        return new_outcome(writer.state, replacement.state, result.sequence)

    async def _sent_unread(
        self, parsed: Change, ids: CommandIds, drafted: CommandOutcome, progress: Progress
    ) -> CommandOutcome:
        """Returns what was drafted or, if the person does not want to read it, takes it."""
        if not (isinstance(parsed, Handoff) and parsed.yes):
            return drafted
        taken = Accept(draft=f"{DRAFT_PREFIX}{drafted.operation_id}")
        again = CommandIds(ids.thread_id, f"{ids.command_id}-accept")
        return with_members(await self._dispatch(taken, again, progress), command=parsed.command)

    async def _after_handoff(
        self, handed: ev.HandedOff, result: CommandResult, progress: Progress
    ) -> CommandOutcome:
        new = await self._registry.thread(handed.new_thread_id)
        await self._watch(Accept.command, new, progress)
        return handoff_outcome(new.state, result.sequence)

    async def _watch(self, command: str, writer: ThreadWriter, progress: Progress) -> None:
        """Reports the phases of the thread's operation until the operation has ended, or
        has taken too long.
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

        self._registry.subscribe(report)
        try:
            await self._sessions.operation_ended(writer)
        finally:
            self._registry.unsubscribe(report)
