"""What a benchmark hands back: figures that were measured, and verdicts that hold them against a
bar.
"""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple


class Bar(NamedTuple):
    """What is asked for. `at_least`: more is better; otherwise less is."""

    limit: float
    unit: str
    at_least: bool

    def is_met_by(self, value: float) -> bool:
        """Returns whether `value`, in the bar's unit, is good enough."""
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:,g} {self.unit}"


def at_least(limit: float, unit: str) -> Bar:
    """A bar to get over."""
    return Bar(limit, unit, at_least=True)


def at_most(limit: float, unit: str) -> Bar:
    """A bar to stay under."""
    return Bar(limit, unit, at_least=False)


class Figure(NamedTuple):
    """One thing that was measured, some times over."""

    what: str
    unit: str
    samples: Sequence[float]

    @property
    def median(self) -> float:
        """The middle of the samples."""
        return median(self.samples)

    @property
    def least(self) -> float:
        """The smallest sample."""
        return min(self.samples)

    @property
    def most(self) -> float:
        """The largest sample."""
        return max(self.samples)


class Verdict(NamedTuple):
    """`value` held against `bar`. `judged_by` says which figures it is made of, and why those where
    there is a choice.
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
    """What one benchmark found."""

    verdicts: list[Verdict]
    figures: list[Figure]
