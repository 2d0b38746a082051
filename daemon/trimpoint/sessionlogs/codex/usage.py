"""Adds up the usage of a session's own model calls, from records of calls or from running totals.
Pure.
"""

from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.codex.rows import TokenInfo, Tokens, UsageOfCall
from trimpoint.sessionlogs.recent import Recent
from trimpoint.sessionlogs.records import UsageSum

# A repeated usage record follows the first one closely.
MAX_RESPONSES = 4096
_NOTHING = Tokens()


class CallUsage:
    """Counts each call once. A repeated total is not a call. In versions that write records of
    calls, these are counted instead of totals.
    """

    def __init__(self, sum_of_all: UsageSum) -> None:
        self._sum = sum_of_all
        self._total = Tokens()
        self._responses: Recent[str, bool] = Recent(MAX_RESPONSES)
        self._has_records = False

    def total(self, info: TokenInfo, *, inherited: bool) -> None:
        """Adds a running total, and the usage of the newest call."""
        self._sum.window = info.model_context_window or self._sum.window
        before, self._total = self._total, info.total_token_usage
        total, last = self._total, info.last_token_usage
        if inherited or self._has_records or total.total_tokens == before.total_tokens:
            return
        grew = total.total_tokens > before.total_tokens
        self._sum.add(_usage_of(total, before) if grew else _usage_of(last))

    def call(self, record: UsageOfCall, *, inherited: bool) -> None:
        """Adds the record of a call."""
        response_id = record.response_id
        if inherited or (response_id is not None and self._responses.get(response_id)):
            return
        self._has_records = True
        if response_id is not None:
            self._responses.put(response_id, True)
        self._sum.add(_usage_of(record.usage))


def _usage_of(tokens: Tokens, before: Tokens = _NOTHING) -> u.Usage:
    """Returns the difference of two totals."""
    return u.Usage(
        input_tokens=max(0, tokens.input_tokens - before.input_tokens),
        cached_input_tokens=max(0, tokens.cached_input_tokens - before.cached_input_tokens),
        cache_creation_input_tokens=max(
            0, tokens.cache_write_input_tokens - before.cache_write_input_tokens
        ),
        output_tokens=max(0, tokens.output_tokens - before.output_tokens),
        reasoning_output_tokens=max(
            0, tokens.reasoning_output_tokens - before.reasoning_output_tokens
        ),
        total_tokens=max(0, tokens.total_tokens - before.total_tokens),
    )
