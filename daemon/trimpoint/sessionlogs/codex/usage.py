"""Adds up what a session's own model calls used, from records of calls or from running totals.
Pure.
"""

import msgspec
from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.codex.rows import Tokens, UsageOfCall
from trimpoint.sessionlogs.recent import Recent
from trimpoint.sessionlogs.records import UsageSum

# A repeated usage record follows the first one closely.
MAX_RESPONSES = 4096


class CallUsage:
    """Counts each call once. A total that is said again is no call; records of calls, where a
    version writes them, count instead of totals.
    """

    def __init__(self, sum_of_all: UsageSum) -> None:
        self._sum = sum_of_all
        self._total = Tokens()
        self._responses: Recent[str, bool] = Recent(MAX_RESPONSES)
        self._has_records = False

    def total(self, total: Tokens, last: Tokens, *, inherited: bool) -> None:
        """Takes a running total and what the newest call used."""
        before, self._total = self._total, total
        if inherited or self._has_records or total.total_tokens == before.total_tokens:
            return
        grew = total.total_tokens > before.total_tokens
        self._sum.add(_usage_of(_difference(total, before) if grew else last))

    def call(self, record: UsageOfCall, *, inherited: bool) -> None:
        """Takes the record of one call."""
        response_id = record.response_id
        if inherited or (response_id is not None and self._responses.get(response_id)):
            return
        self._has_records = True
        if response_id is not None:
            self._responses.put(response_id, True)
        self._sum.add(_usage_of(record.usage))


def _difference(total: Tokens, before: Tokens) -> Tokens:
    return Tokens(
        *(
            max(0, new - old)
            for new, old in zip(
                msgspec.structs.astuple(total), msgspec.structs.astuple(before), strict=True
            )
        )
    )


def _usage_of(tokens: Tokens) -> u.Usage:
    return u.Usage(
        input_tokens=tokens.input_tokens,
        cached_input_tokens=tokens.cached_input_tokens,
        cache_creation_input_tokens=tokens.cache_write_input_tokens,
        output_tokens=tokens.output_tokens,
        reasoning_output_tokens=tokens.reasoning_output_tokens,
        total_tokens=tokens.total_tokens,
    )
