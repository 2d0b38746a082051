"""The live window of a session, simulated while its log is read: which messages the model would see
next. Pure.

What must always be true: a message is live, or the newest thing that took it out is known. A
boundary and a rewind take out; a rewind to before a boundary brings back what that boundary took.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush, merge
from typing import NamedTuple

from trimpoint.sessionlogs.ranges import Ranges


class MessageState(NamedTuple):
    """The state of a message at the end of the log."""

    active: bool
    branch: int
    compacted_at: str | None


ACTIVE = MessageState(True, 0, None)
NEVER_LIVE = MessageState(False, 0, None)
_NONE = -1


class _Removal(NamedTuple):
    """`position`: how many messages there were. `removed`: packed ranges, because a log of 10 GB
    has thousands of removals.
    """

    position: int
    removed: "array[int]"
    state: MessageState


class Place(NamedTuple):
    """A moment of the window that can be gone back to."""

    position: int
    live: Ranges
    boundaries: int


NOWHERE = Place(0, Ranges(), 0)


class Fates:
    """The state of each message, asked for rising indices; and which boundaries were undone.

    `changed`: the line at which a message was written for the last time, if not at its first.
    `withdrawn`: how many messages with an index turned out to be none. `matches`: for each
    boundary, the messages that its replacement repeats.
    """

    def __init__(
        self,
        count: int,
        live: Ranges,
        removals: Iterable[tuple["array[int]", MessageState]],
        undone: frozenset[int] = frozenset(),
        changed: Mapping[int, int] | None = None,
        withdrawn: Mapping[int, int] | None = None,
        matches: Iterable["array[int]"] = (),
    ) -> None:
        self.count = count
        self.live = live
        self.undone = undone
        self.changed: Mapping[int, int] = changed or {}
        self._withdrawn: Counter[int] = Counter(withdrawn)
        self._matches = iter(matches)
        self._ends: array[int] = array("q")
        self._states: list[MessageState] = []
        for end, state in _runs(count, live, removals):
            if self._states and self._states[-1] is state:
                self._ends[-1] = end
            else:
                self._ends.append(end)
                self._states.append(state)
        self._at = 0

    def withdraws(self, index: int) -> bool:
        """Returns whether the next message, which would have this index, is to be left out."""
        if not self._withdrawn.get(index):
            return False
        self._withdrawn[index] -= 1
        return True

    def next_matches(self, count: int) -> list[int | None]:
        """Returns what `Window.note_matches` was given for the next boundary; of `count` items."""
        found = next(self._matches, array("q", [_NONE] * count))
        return [None if index == _NONE else index for index in found]

    def of(self, index: int) -> MessageState:
        """Returns what became of the message."""
        at, ends = self._at, self._ends
        if at and index < ends[at - 1]:
            at = 0
        while ends[at] <= index:
            at += 1
        self._at = at
        return self._states[at]


def _runs(
    count: int, live: Ranges, removals: Iterable[tuple["array[int]", MessageState]]
) -> Iterator[tuple[int, MessageState]]:
    """Yields the state of all messages as runs: where each ends, and its state, which is that of
    the first set that has the message. `removals` begin with the newest.
    """
    states = [ACTIVE]
    sets = [_spans(live.packed(), 0)]
    for removed, state in removals:
        sets.append(_spans(removed, len(states)))
        states.append(state)
    sets.append(iter([(0, count, len(states))]))
    states.append(NEVER_LIVE)
    spans = merge(*sets)  # thousands of sets, of which one span at a time is in memory
    begins = next(spans, None)
    at, here = 0, list[tuple[int, int]]()
    while at < count:
        while begins is not None and begins[0] <= at:
            heappush(here, (begins[2], begins[1]))
            begins = next(spans, None)
        while here[0][1] <= at:
            heappop(here)
        rank, end = here[0]
        at = min(end, begins[0]) if begins is not None else end
        yield at, states[rank]


def _spans(bounds: "array[int]", rank: int) -> Iterator[tuple[int, int, int]]:
    for at in range(0, len(bounds), 2):
        yield bounds[at], bounds[at + 1], rank


class Window:
    """Counts messages and follows which of them are live."""

    def __init__(self) -> None:
        self.count = 0
        self._live = Ranges()
        self._joined = 0  # messages from this one on are live, and not yet in `_live`
        self.branches = 0
        self.boundaries = 0
        self.changed: dict[int, int] = {}
        self.withdrawn: Counter[int] = Counter()
        self._matches: list[array[int]] = []
        self._undone: set[int] = set()
        self._begun: list[int] = []  # how many messages there were at each boundary
        self._removals: list[_Removal] = []
        self._gone = Ranges()  # taken back, or never live: no later rewind takes it back once more

    @property
    def live(self) -> Ranges:
        """Returns the live messages."""
        if self._joined < self.count:
            self._live.extend(self._joined, self.count)
            self._joined = self.count
        return self._live

    @live.setter
    def live(self, live: Ranges) -> None:
        self._live, self._joined = live, self.count

    def add(self, *, live: bool = True) -> int:
        """Counts one more message and returns its index."""
        index = self.count
        if not live:
            self._live, self._joined = self.live, index + 1
            self._gone.extend(index, index + 1)
        self.count = index + 1
        return index

    def withdraw(self) -> None:
        """Takes the newest message out as if it had never been; it is live. The next one gets its
        index.
        """
        live = self.live
        self.count -= 1
        self.live = live.before(self.count)
        self.withdrawn[self.count] += 1

    def place(self) -> Place:
        """Returns where the window is now."""
        return Place(self.count, self.live.copy(), self.boundaries)

    def replace(self, kept: Ranges, at: str | None) -> Ranges:
        """Applies a boundary: only `kept` stays of what is live. Returns what it took out."""
        removed = self.live.minus(kept)
        self.live = self.live.both(kept)
        self._removals.append(_Removal(self.count, removed.packed(), MessageState(False, 0, at)))
        self.boundaries += 1
        self._begun.append(self.count)
        return removed

    def note_matches(self, matches: Iterable[int | None]) -> None:
        """Remembers for the second reading which messages the next boundary repeats."""
        found = (_NONE if index is None else index for index in matches)
        self._matches.append(array("q", found))

    def undo(self, boundaries: int) -> int:
        """Says that the newest boundaries, so many, are undone. Returns how many messages there
        were at the oldest of them.
        """
        standing = [at for at in range(self.boundaries) if at not in self._undone][-boundaries:]
        self._undone.update(standing)
        return self._begun[standing[0]] if standing else self.count

    def has_boundary_after(self, index: int) -> bool:
        """Returns whether a boundary that is not undone is behind a message."""
        return any(begun > index for at, begun in enumerate(self._begun) if at not in self._undone)

    def rewind(self, place: Place) -> Ranges:
        """Goes back to a moment. Returns the messages since then, which it took back."""
        self._undone.update(range(place.boundaries, self.boundaries))
        return self._drop(Ranges([(place.position, self.count)]), place.live.copy())

    def rewind_before(self, index: int) -> Ranges:
        """Takes back everything from `index` on, and undoes the boundaries since then. Returns what
        it took back.
        """
        live, number = self.live, self.boundaries
        for removal in reversed(self._removals):
            if removal.position <= index:
                break
            if removal.state.branch == 0:
                number -= 1
                self._undone.add(number)
                live = live.plus(Ranges.unpacked(removal.removed))
        return self._drop(Ranges([(index, self.count)]), live.before(index))

    def rewind_dropping(self, dropped: Ranges) -> Ranges:
        """Takes back exactly these. Returns those of them that were not taken back before."""
        return self._drop(dropped, self.live.minus(dropped))

    def relive(self, live: Ranges) -> None:
        """Says what is live, where an agent put together a window of its own."""
        self.live = live.copy()
        self._gone = self._gone.minus(live)

    def _drop(self, dropped: Ranges, left: Ranges) -> Ranges:
        self.live = left
        new = dropped.minus(self._gone).minus(left)
        if new.runs:
            self.branches += 1
            state = MessageState(False, self.branches, None)
            self._removals.append(_Removal(self.count, new.packed(), state))
            self._gone = self._gone.plus(new)
        return new

    def fates(self) -> Fates:
        """Returns what became of each message, at the end of the log."""
        removals = ((removal.removed, removal.state) for removal in reversed(self._removals))
        return Fates(
            self.count,
            self.live,
            removals,
            frozenset(self._undone),
            self.changed,
            self.withdrawn,
            self._matches,
        )
