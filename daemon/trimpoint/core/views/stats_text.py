"""Writes what a thread's model calls took, and what its trims have kept from being sent."""

from collections import Counter
from collections.abc import Mapping

from trimpoint.core.context.context_size import percent_text
from trimpoint.core.model.decision import counted
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.tokens import short_count

_KINDS = {
    "clear": ("clear", "clears"),
    "compact": ("compaction", "compactions"),
    "auto": ("automatic compaction", "automatic compactions"),
    "edit": ("edited summary", "edited summaries"),
    "overflow": ("summary that made room for a turn", "summaries that made room for a turn"),
}
_DISCARD = ("discard", "discards")
_NO_TRIM = {False: "It was not trimmed.", True: "No trim is in effect now."}


def stats_text(state: ThreadState) -> str:
    """Returns the counts of the whole thread: calls, tokens, trims and what these have saved."""
    total, trims = state.usage.thread, state.boundaries
    if not total.calls:
        return "No call of the model was counted yet."
    cached = percent_text(total.cached_input * 100 / max(1, total.input))
    lines = [
        f"{counted(total.calls, 'call')} of the model: {short_count(total.input)} tokens in "
        f"({cached} from the provider's cache), {short_count(total.output)} out.",
        f"Trims: {trims_text(Counter(one.trigger for one in trims))}."
        if trims
        else _NO_TRIM[bool(state.usage.spared)],
    ]
    if state.usage.spared:
        lines.append(
            f"Trims have kept about {short_count(state.usage.spared)} tokens from being sent, and "
            f"the first calls after them read {short_count(state.usage.read_anew)} anew."
        )
    return "\n".join(lines)


def trims_text(triggers: Mapping[str, int]) -> str:
    """Returns how many trims of each kind there are, given how many have which trigger."""
    kinds = Counter[tuple[str, str]]()
    for trigger, count in triggers.items():
        kinds[_KINDS.get(trigger, _DISCARD)] += count
    return ", ".join(f"{count} {names[count != 1]}" for names, count in kinds.items())
