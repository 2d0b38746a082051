"""Answers `/stats --by …` and `stats/read`: what the model calls of all threads took."""

import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import msgspec
from anyio.to_thread import run_sync
from trimpoint_protocol import methods as m
from trimpoint_protocol.shapes.stats import Stats as Sums
from trimpoint_protocol.shapes.stats import StatsParams

from trimpoint.core.commands.arguments import since_in
from trimpoint.core.commands.looking import Stats
from trimpoint.core.model.usage import quarter_of
from trimpoint.core.views.totals import Asked, Spending, totals, totals_text
from trimpoint.gateway.commands.slash_outcomes import outcome
from trimpoint.gateway.session.requests.dispatch import Call, Handler
from trimpoint.threads.registry import ThreadRegistry

_REMEMBERED = 8


class RememberedSums:
    """Sums, and remembers the answers until a thread has spent more. `sum_up` is
    `core.views.totals.totals`.
    """

    def __init__(self, sum_up: Callable[[list[Spending], Asked, int], Sums] = totals) -> None:
        self._sum_up = sum_up
        self._of: tuple[list[Spending], int] = [], 0
        self._answers: dict[tuple[str, int | None, int], Sums] = {}

    def of(self, threads: list[Spending], asked: Asked, unreadable: int) -> Sums:
        """Returns the sums. It takes long: call it in a thread."""
        # What did not change is the same object, so ten thousand are compared in a millisecond.
        if self._of != (threads, unreadable) or len(self._answers) >= _REMEMBERED:
            self._of, self._answers = (threads, unreadable), {}
        answers = self._answers
        since = None if asked.since_ms is None else quarter_of(asked.since_ms)
        key = asked.by, since, asked.limit
        sums = answers.get(key)
        if sums is None:
            sums = answers[key] = self._sum_up(threads, asked, unreadable)
        return msgspec.structs.replace(sums, since_ms=asked.since_ms)


class AllSpending:
    """Sums what the threads of `registry` have spent. `table` maps method names to handlers."""

    def __init__(self, registry: ThreadRegistry) -> None:
        self._registry = registry
        self._remembered = RememberedSums()
        self.table: dict[str, Handler] = {"stats/read": self._read}

    async def run(self, parsed: Stats) -> m.CommandOutcome:
        """Returns the sums as an outcome."""
        since_ms = None if parsed.since is None else _began_ms(parsed.since)
        sums = await self._sums(StatsParams(by=parsed.grouping, since_ms=since_ms))
        return outcome(parsed.command, totals_text(sums), stats=sums)

    async def _read(self, call: Call, params: StatsParams) -> Sums:
        return await self._sums(params)

    async def _sums(self, params: StatsParams) -> Sums:
        uncounted = self._registry.uncounted
        uncounted.count()
        threads = [
            Spending(one.thread_id, one.name or one.preview, one.cwd, one.spent)
            for one in self._registry.summaries.values()
            if one.thread_id not in uncounted.unreadable
        ]
        asked = Asked(params.by, params.since_ms, _day_of, params.limit)
        # Ten thousand threads take longer than other clients should wait.
        return await run_sync(self._remembered.of, threads, asked, len(uncounted.unreadable))


def _day_of(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at_ms / 1000))


def _began_ms(since: str) -> int:
    match since_in(since):
        case timedelta() as age:
            began = datetime.now(UTC) - age
        case date() as day:
            began = datetime(day.year, day.month, day.day).astimezone()
    return round(began.timestamp() * 1000)
