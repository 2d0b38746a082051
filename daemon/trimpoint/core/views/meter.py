"""Derives the meter of the agent's context for clients, from the same numbers that Codex uses
(docs/spec/context.md).
"""

import msgspec
from trimpoint_protocol import readmodel as rm

from trimpoint.core.context.context_size import (
    ContextSize,
    context_size,
    left_percent,
    level_of,
    provider_compacts_at,
    used_percent,
    window_of,
)
from trimpoint.core.context.cost import cache_of, cached_percent, expires_at_ms
from trimpoint.core.decide.auto_compaction import auto_status
from trimpoint.core.model.clock import rfc3339
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import UsageTotals, compact_limit_in, model_in


def context_status(state: ThreadState, policy: Policy) -> rm.ContextStatus:
    """Returns the meter of a thread. If no size was reported yet, this estimates the whole context,
    which takes time; otherwise it is cheap.
    """
    model, usage = model_in(state.settings), state.usage
    window = window_of(usage, model, policy)
    metered = status_of(state.id, usage, model, context_size(state, policy), policy)
    limit = compact_limit_in(state.settings) or policy.provider_compacts_at
    expires = expires_at_ms(usage.last_call, cache_of(state.settings, policy))
    return msgspec.structs.replace(
        metered,
        cached_percent=cached_percent(usage),
        cache_expires_at=None if expires is None else rfc3339(expires),
        provider_compacts_at_tokens=None if window is None else provider_compacts_at(window, limit),
        generation=state.generation.number,
        compaction_count=state.compaction_count,
        provider_compaction_count=state.provider_compaction_count,
        auto=auto_status(state, policy),
    )


def status_of(
    thread_id: str, usage: UsageTotals, model: str | None, fill: ContextSize, policy: Policy
) -> rm.ContextStatus:
    """Returns the meter for given usage, also for a thread that has no journal."""
    window = window_of(usage, model, policy)
    era, total = usage.era, usage.thread
    return rm.ContextStatus(
        thread_id=thread_id,
        model=model,
        used_tokens=fill.used,
        window_tokens=window,
        percent=None if window is None else used_percent(fill.used, window),
        left_percent=None if window is None else left_percent(fill.used, window),
        estimated=fill.is_estimate,
        unknown=fill.is_unknown,
        level=None if window is None else level_of(fill.used, window, policy),
        provider_compacts_at_tokens=None
        if window is None
        else provider_compacts_at(window, policy.provider_compacts_at),
        current_input_tokens=era.input,
        current_cached_input_tokens=era.cached_input,
        current_output_tokens=era.output,
        current_reasoning_output_tokens=era.reasoning_output,
        current_total_tokens=era.total,
        total_input_tokens=total.input,
        total_cached_input_tokens=total.cached_input,
        total_output_tokens=total.output,
        total_reasoning_output_tokens=total.reasoning_output,
        total_tokens=total.total,
        note=fill.note,
    )
