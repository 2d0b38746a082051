"""The results of a benchmark: measured figures, and verdicts that compare them with a bar."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple


class Bar(NamedTuple):
    """A required value. `at_least`: larger is better; otherwise smaller is better."""

    limit: float
    unit: str
    at_least: bool

    def is_met_by(self, value: float) -> bool:
        """Returns whether `value`, in the bar's unit, meets the bar."""
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:,g} {self.unit}"


def at_least(limit: float, unit: str) -> Bar:
    """Returns a bar with a lower limit."""
    return Bar(limit, unit, at_least=True)


def at_most(limit: float, unit: str) -> Bar:
    """Returns a bar with an upper limit."""
    return Bar(limit, unit, at_least=False)


class Figure(NamedTuple):
    """A measured quantity with its samples."""

    what: str
    unit: str
    samples: Sequence[float]

    @property
    def median(self) -> float:
        """Returns the median of the samples."""
        return median(self.samples)

    @property
    def least(self) -> float:
        """Returns the smallest sample."""
        return min(self.samples)

    @property
    def most(self) -> float:
        """Returns the largest sample."""
        return max(self.samples)


class Verdict(NamedTuple):
    """A value compared with a bar. `judged_by` names the figures that the value is computed
    from.
    """

    what: str
    value: float
    bar: Bar
    judged_by: str

    @property
    def is_met(self) -> bool:
        """Returns whether the bar is met."""
        return self.bar.is_met_by(self.value)


class Outcome(NamedTuple):
    """The results of one benchmark."""

    verdicts: list[Verdict]
    figures: list[Figure]
