"""The rules of `/handoff` and `/accept`: what was drafted for a person becomes what it was drafted
for (docs/spec/context.md).
"""

import msgspec
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint

from trimpoint.core.context.active_context import active_message_count
from trimpoint.core.decide.queueing import refuse_input
from trimpoint.core.decide.stretch_summaries import summarized
from trimpoint.core.decide.trimming import compacted, unless_blank
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Accepted, Decision, Policy, Rejected, Stamp
from trimpoint.core.model.operations import HANDOFF
from trimpoint.core.model.queue import text_input
from trimpoint.core.model.state import Draft, Operation, ThreadState
from trimpoint.core.model.usage import model_in

_ANEW = (CommandHint("/compact --edit", "drafts a summary"),)
_EMPTY_THREAD = (CommandHint("/new", "begins an empty thread"),)
_NONE = "There is no draft to accept: none was made, or the context has changed since."
_ANOTHER = "Another draft was made since then, so nothing was changed."
_EMPTY = "An empty text was not accepted, and nothing was changed."
_INJECTED = "Something was injected into the context since the draft, so nothing was changed."


def draft_brief(
    state: ThreadState, command: wire.DraftHandoff, stamp: Stamp, policy: Policy
) -> Decision:
    """Decides `/handoff`: returns the request for a brief, or the rejection. Nothing changes
    yet.
    """
    if not active_message_count(state) and not state.active_injected:
        said = "Nothing to hand off: the agent's context is empty."
        return Rejected(Reason.NOT_ENOUGH_MESSAGES, said, hints=_EMPTY_THREAD)
    summarizer = policy.summarizer
    requested = ev.CompactionRequested(
        stamp.id,
        0,
        unless_blank(command.goal),
        model=summarizer.model_for(model_in(state.settings)),
        effort=summarizer.effort,
    )
    return Accepted((ev.OperationStarted(stamp.id, HANDOFF), requested), stamp.id)


def verb_of(state: ThreadState) -> str:
    """Returns what accepting the draft would do to the thread."""
    is_brief = state.draft is not None and state.draft.operation.kind == HANDOFF
    return "hand off" if is_brief else "compact"


def _hand_off(state: ThreadState, draft: Draft, brief: str, stamp: Stamp) -> Decision:
    refusal = refuse_input([text_input(brief)])
    goal = draft.operation.compaction_guidance
    return refusal or Accepted((ev.HandedOff(state.id, stamp.id, brief, goal),))


def accept(state: ThreadState, command: wire.AcceptDraft, stamp: Stamp) -> Decision:
    """Decides `/accept`: returns the compaction with the accepted summary, or the rejection."""
    draft = state.draft
    if draft is None:
        return Rejected(Reason.USAGE, _NONE, hints=_ANEW)
    if not draft.id.endswith(command.draft_id or ""):
        return Rejected(Reason.USAGE, _ANOTHER, hints=_ANEW)
    text = draft.text if command.text is None else unless_blank(command.text)
    if text is None:
        as_it_is = CommandHint("/accept", "takes what was drafted")
        return Rejected(Reason.USAGE, _EMPTY, hints=(as_it_is,))
    if draft.operation.kind == HANDOFF:
        return _hand_off(state, draft, text, stamp)
    operation = _carried_out(state, draft, stamp)
    if isinstance(operation, Rejected):
        return operation
    completes = compacted if operation.compaction_turns is None else summarized
    completed = internal.CompleteCompaction(operation.id, text, draft.took_ms)
    decision = completes(state, operation, completed, stamp)
    if isinstance(decision, Rejected):
        return decision
    started = ev.OperationStarted(operation.id, operation.kind)
    return Accepted((started, _requested(operation), *decision.events), operation.id)


def _carried_out(state: ThreadState, draft: Draft, stamp: Stamp) -> Operation | Rejected:
    """Returns the compaction that the draft becomes. It keeps the turns that ran since, too."""
    drafted, last = draft.operation, draft.last_turn_id
    before = 0 if last is None else state.turn_index.get(last, -1) + 1
    if last is not None and not before:
        return Rejected(Reason.USAGE, _NONE, hints=_ANEW)  # a revert took the turn back
    keep = drafted.compaction_keep
    since = state.turns[before:]
    injected = since[0].injected_before if since else state.active_injected
    if not keep and drafted.compaction_turns is None and len(injected) != draft.injected:
        return Rejected(Reason.USAGE, _INJECTED, hints=_ANEW)
    return msgspec.structs.replace(
        drafted, id=stamp.id, kind="compact", compaction_keep=keep + len(since)
    )


def _requested(operation: Operation) -> ev.AnyEvent:
    if operation.compaction_turns is not None:
        return ev.StretchCompactionRequested(
            operation.id,
            *operation.compaction_turns,
            guidance=operation.compaction_guidance,
            model=operation.compaction_model,
            effort=operation.compaction_effort,
            force=operation.compaction_force,
        )
    return ev.CompactionRequested(
        operation.id,
        operation.compaction_keep,
        guidance=operation.compaction_guidance,
        model=operation.compaction_model,
        effort=operation.compaction_effort,
        force=operation.compaction_force,
    )
