"""Sets of message indices as ranges, so that a set of millions needs a few pairs. Pure."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator


class Ranges:
    """A set of indices. `runs` are half-open ranges, sorted and disjoint; callers must not change
    them.
    """

    __slots__ = ("runs",)

    def __init__(self, runs: Iterable[tuple[int, int]] = ()) -> None:
        self.runs = [(start, end) for start, end in runs if start < end]

    @classmethod
    def of(cls, indices: Iterable[int]) -> "Ranges":
        """Returns the set of `indices`, which may be in any order."""
        made = cls()
        for index in sorted(set(indices)):
            made.extend(index, index + 1)
        return made

    @classmethod
    def unpacked(cls, bounds: "array[int]") -> "Ranges":
        """Returns the set that `packed` has packed."""
        ends = iter(bounds)
        return cls(zip(ends, ends, strict=True))

    def packed(self) -> "array[int]":
        """Returns the bounds of the runs one after the other, which takes an eighth of the
        memory.
        """
        return array("q", (bound for run in self.runs for bound in run))

    def extend(self, start: int, end: int) -> None:
        """Adds the indices from `start` to before `end`, which are larger than all others."""
        runs = self.runs
        if runs and runs[-1][1] == start:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))

    def copy(self) -> "Ranges":
        """Returns another set with the same members."""
        return Ranges(self.runs)

    def __len__(self) -> int:
        return sum(end - start for start, end in self.runs)

    def __iter__(self) -> Iterator[int]:
        for start, end in self.runs:
            yield from range(start, end)

    def __contains__(self, index: int) -> bool:
        at = bisect_right(self.runs, (index, index)) - 1
        if at >= 0 and self.runs[at][0] <= index < self.runs[at][1]:
            return True
        return at + 1 < len(self.runs) and self.runs[at + 1][0] == index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranges) and self.runs == other.runs

    __hash__ = None  # type: ignore[assignment]

    def minus(self, other: "Ranges") -> "Ranges":
        """Returns the members that `other` does not have."""
        left: list[tuple[int, int]] = []
        taken = iter(other.runs)
        gap = next(taken, None)
        for start, end in self.runs:
            while gap is not None and gap[1] <= start:
                gap = next(taken, None)
            while gap is not None and gap[0] < end:
                if start < gap[0]:
                    left.append((start, gap[0]))
                start = max(start, gap[1])
                if gap[1] >= end:
                    break
                gap = next(taken, None)
            if start < end:
                left.append((start, end))
        return Ranges(left)

    def plus(self, other: "Ranges") -> "Ranges":
        """Returns the members of both."""
        merged: list[tuple[int, int]] = []
        for start, end in sorted((*self.runs, *other.runs)):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return Ranges(merged)

    def both(self, other: "Ranges") -> "Ranges":
        """Returns the intersection of both sets."""
        return self.minus(self.minus(other))

    def before(self, index: int) -> "Ranges":
        """Returns the members below `index`."""
        return Ranges((start, min(end, index)) for start, end in self.runs if start < index)

    def highest(self) -> int:
        """Returns the largest member; -1 if the set is empty."""
        return self.runs[-1][1] - 1 if self.runs else -1
