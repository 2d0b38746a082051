"""The sums over all threads are remembered until a thread has spent more."""

import msgspec
from trimpoint.core.model.usage import QUARTER_MS, Spent
from trimpoint.core.views.totals import Asked, Spending, totals
from trimpoint.gateway.commands.views.spending import RememberedSums
from trimpoint_protocol.shapes.stats import Stats


def spending(calls: int) -> Spending:
    return Spending("t", "", "/", msgspec.msgpack.encode([Spent(9, "m", calls, 10 * calls)]))


class Counted:
    """Sums, and counts how often."""

    def __init__(self) -> None:
        self.times = 0
        self.sums = RememberedSums(self._sum_up)

    def _sum_up(self, threads: list[Spending], asked: Asked, unreadable: int) -> Stats:
        self.times += 1
        return totals(threads, asked, unreadable)

    def calls(self, threads: list[Spending], asked: Asked, unreadable: int = 0) -> int:
        """Returns the calls, which must be those of sums that are made anew."""
        shown = self.sums.of(threads, asked, unreadable)
        assert shown == totals(threads, asked, unreadable)
        return shown.total.calls


def day_of(at_ms: int) -> str:
    return "today"


def test_what_has_not_changed_is_not_summed_again() -> None:
    counted, asked = Counted(), Asked("day", 5 * QUARTER_MS, day_of, 100)
    assert counted.calls([spending(2)], asked) == 2
    # In the same quarter of an hour.
    assert counted.calls([spending(2)], asked._replace(since_ms=5 * QUARTER_MS + 1)) == 2
    assert counted.times == 1


def test_what_has_changed_is_summed_again() -> None:
    counted, asked = Counted(), Asked("day", None, day_of, 100)
    assert counted.calls([spending(2)], asked) == 2
    assert counted.calls([spending(3)], asked) == 3
    assert counted.calls([spending(3), spending(1)], asked) == 4
    assert counted.calls([spending(3)], asked, 1) == 3
    assert counted.calls([spending(3)], asked._replace(by="model"), 1) == 3
    assert counted.times == 5


def test_only_a_few_answers_are_remembered() -> None:
    counted, threads = Counted(), [spending(1)]
    for number in range(30):
        asked = Asked("day", number * QUARTER_MS, day_of, 100)
        assert counted.calls(threads, asked) == (number <= 9)
    assert counted.times == 30
