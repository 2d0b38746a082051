"""The rules of `/summary edit`: a person's text stands in the place of the summary that the context
begins with (docs/spec/context.md).
"""

from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint

from trimpoint.core.context.active_context import (
    Summary,
    current_summary,
    has_sealed_summary,
)
from trimpoint.core.context.generations import next_generation
from trimpoint.core.decide.trimming import summary_tokens, unless_blank
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Accepted, Decision, Rejected, Stamp
from trimpoint.core.model.state import ThreadState

EDIT = "edit"
"""The trigger of a trim point that prunes nothing, and begins with another summary."""
_SHOWN = (CommandHint("/summary", "shows it"),)
_MADE = (CommandHint("/compact", "makes one"),)


def edit_summary(state: ThreadState, command: wire.EditSummary, stamp: Stamp) -> Decision:
    """Decides `/summary edit`: returns the trim point at the place of the last one, with the text
    as its summary, or the rejection.
    """
    standing = editable_summary(state)
    if isinstance(standing, Rejected):
        return standing
    text = unless_blank(command.text)
    if text is None:
        said = "An empty text is no summary, so nothing was changed."
        return Rejected(Reason.USAGE, said, hints=(CommandHint("/clear", "drops the summary"),))
    if text == standing.text:
        return Rejected(Reason.NOTHING_TO_TRIM, "The summary says this already.", hints=_SHOWN)
    opened = next_generation(
        state,
        EDIT,
        state.active_turns,
        Summary(text, standing.messages),
        state.generation.skipped_items,
    )
    last, first_kept = state.trim_points[-1], state.active_turns[:1]
    point = ev.TrimPointCreated(
        state.id, stamp.id, stamp.now_ms, last.before_entry_id, 0, (),
        first_kept[0].id if first_kept else None, opened.generation, EDIT,
        pruned_injected=last.pruned_injected,
    )  # fmt: skip
    before, after = summary_tokens(standing.text), summary_tokens(text)
    summarized = ev.ContextSummarized(
        state.id, stamp.id, text, 0, tokens_before=before, tokens_after=after
    )
    number = opened.generation
    return Accepted(
        (
            ev.OperationStarted(stamp.id, EDIT),
            point,
            summarized,
            opened,
            ev.SessionStopRequested(number - 1),
            ev.SessionStartRequested(number),
        ),
        stamp.id,
    )


def editable_summary(state: ThreadState) -> Summary | Rejected:
    """Returns the summary that the context begins with, or the rejection if a person cannot edit
    it.
    """
    if has_sealed_summary(state):
        said = "Only Codex can read the summary that the context begins with."
        return Rejected(Reason.NOT_SUPPORTED, said, hints=_MADE)
    standing = current_summary(state)
    if standing is None:
        return Rejected(Reason.NOTHING_TO_TRIM, "The context begins with no summary.", hints=_MADE)
    return standing
