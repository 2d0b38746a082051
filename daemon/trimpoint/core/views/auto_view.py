"""Words what is done with a context without a request: what was chosen for the thread, and what
comes next.
"""

from typing import cast

import msgspec
from trimpoint_protocol.commands import AutoMode
from trimpoint_protocol.hints import CommandHint

from trimpoint.core.commands.arguments import DEFAULT
from trimpoint.core.context.context_size import percent_text, share_text, used_percent
from trimpoint.core.context.cost import cache_of, expires_at_ms
from trimpoint.core.decide.auto_compaction import has_stopped, stop_reason
from trimpoint.core.decide.auto_masking import (
    Masking,
    Wait,
    measured_size,
)
from trimpoint.core.decide.autopilot import next_act
from trimpoint.core.decide.discarding import discard_refusal
from trimpoint.core.model.decision import Policy, counted, in_force
from trimpoint.core.model.spelling import Said
from trimpoint.core.model.state import ThreadState

_MODES: dict[AutoMode, str] = {
    "off": "nothing is done and nothing said when the context fills up",
    "warn": "you are told when the context fills up",
    "mask": "old output is masked when the context fills up and that costs little",
    "compact": "old output is masked, and a context that is nearly full is compacted",
}
_TO_MASK = CommandHint("/auto mask", "masks old output where that costs little")


def auto_said(state: ThreadState, policy: Policy, now_ms: int, mode: str | None = None) -> Said:
    """Returns what is done when the context fills up, and what is done next; if `mode` is given,
    what would be done with it.
    """
    if mode is not None:
        chosen = None if mode == DEFAULT else cast("AutoMode", mode)
        state = msgspec.structs.replace(state, auto=chosen)
    rules = in_force(state, policy)
    whose = "as configured" if state.auto is None else "chosen for this thread"
    said = f"Automatic: {rules.auto}, {whose}: {_MODES[rules.auto]}."
    if rules.auto in ("off", "warn"):
        return Said(said, (_TO_MASK,))
    return Said(f"{said} {_next_said(state, rules, now_ms)}")


def _next_said(state: ThreadState, policy: Policy, now_ms: int) -> str:
    act = next_act(state, policy, now_ms)
    if act.masks:
        cost = f" {act.masking.cost.said}" if act.masking.cost is not None else ""
        return f"Next: {_masks(act.masking)}, as soon as no turn runs.{cost}"
    if act.compacts:
        return "Next: the context is compacted, as soon as no turn runs."
    if policy.auto == "compact" and has_stopped(state, policy):
        return stop_reason(state, policy)
    then = (
        f" At {policy.critical_at:.0%} of the window it is compacted."
        if policy.auto == "compact"
        else ""
    )
    return f"Next: {_waiting(state, policy, act.masking, now_ms)}.{then}"


def _masks(masking: Masking) -> str:
    return (
        f"{counted(len(masking.masks), 'output')} of about {masking.freed_tokens:,} tokens "
        f"{'is' if len(masking.masks) == 1 else 'are'} masked"
    )


def _waiting(state: ThreadState, policy: Policy, found: Masking, now_ms: int) -> str:
    window, size = measured_size(state, policy)
    match found.wait:
        case Wait.SMALL:
            full = percent_text(used_percent(size or 0, window or 1))
            return f"nothing before {policy.mask_at:.0%} of the window; it is {full} full"
        case Wait.LITTLE:
            least = share_text(round(policy.min_freed * (window or 0)), window or 1)
            return f"nothing, as old output takes less than {least} of the window"
        case Wait.LEFT_ALONE:
            return "nothing until the context has grown by a tenth of the window, as you undid it"
        case Wait.NOT_KNOWN:
            refusal = discard_refusal(state)
            return f"nothing. {refusal.said.rstrip('.') if refusal is not None else ''}"
        case Wait.WARM:
            return f"{_masks(found)} {_when_cold(state, policy, now_ms)}"
        case _:
            return "it is decided when Codex has reported how full the context is"


def _when_cold(state: ThreadState, policy: Policy, now_ms: int) -> str:
    expires = expires_at_ms(state.usage.last_call, cache_of(state.settings, policy)) or now_ms
    minutes = max(1, round((expires - now_ms) / 60_000))
    return (
        f"when the provider's cache is cold, in {counted(minutes, 'minute')} without a call; or "
        f"from {policy.warning_at:.0%} on, if it pays off within {policy.pays_off_within} calls"
    )
