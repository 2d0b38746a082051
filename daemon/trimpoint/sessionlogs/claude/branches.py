"""The live rows of a Claude Code session, in the order in which the model sees them. Pure.

Rows name their parents, which are followed only as far as necessary. A row whose parent is the
newest live row continues the branch; a prompt whose parent is an older live row rewinds to it.
Answers and tool results never rewind, because parallel calls make branches that are all live. A row
whose parent is missing continues the branch, too.
"""

from collections.abc import Iterable
from typing import NamedTuple


class Step(NamedTuple):
    """The effect of a new row: the rows that it dropped, whether it began with an empty context,
    and the number of the newest boundaries that it rewound past.
    """

    dropped: list[str]
    is_root: bool = False
    undone: int = 0


class _Era(NamedTuple):
    """The live rows before a boundary."""

    live: list[str]
    moved: dict[str, str]


class Branches:
    """The live rows, by uuid."""

    def __init__(self) -> None:
        self.live: list[str] = []
        self._parents: dict[str, str | None] = {}
        self._moved: dict[str, str] = {}
        self._eras: list[_Era] = []
        self._linked = False
        self.rearranged = False
        """Whether the live rows have changed in another way than by one more, since this was set to
        False.
        """

    def __contains__(self, uuid: object) -> bool:
        return uuid in self._parents

    def add(self, uuid: str, parent: str | None, *, may_rewind: bool, dead: bool = False) -> Step:
        """Adds a row and returns its effect."""
        self._parents[uuid] = parent
        if dead:
            return Step([])
        step = self._rewound(parent) if may_rewind and self.live else Step([])
        self._linked = self._linked or parent is not None
        self.live.append(uuid)
        return step

    def _rewound(self, parent: str | None) -> Step:
        if parent is None:
            if not self._linked:
                return Step([])
            dropped, self.live = self.live, []
            self.rearranged = True
            return Step(dropped, is_root=True)
        resolved = self._moved.get(parent, parent)
        if resolved == self.live[-1] or resolved not in self._parents:
            return Step([])
        self.rearranged = True
        if resolved in self.live:
            at = len(self.live) - 1 - self.live[::-1].index(resolved)
            dropped, self.live = self.live[at + 1 :], self.live[: at + 1]
            return Step(dropped)
        return self._behind_a_boundary(parent) or self._on_a_dead_branch(resolved)

    def _behind_a_boundary(self, parent: str) -> Step | None:
        """Rewinds to the rows that were live before a boundary; None if the parent was not among
        them.
        """
        for number in range(len(self._eras) - 1, -1, -1):
            era = self._eras[number]
            leaf = era.moved.get(parent, parent)
            if leaf in era.live:
                live = era.live[: era.live.index(leaf) + 1]
                back = set(live)
                dropped = [uuid for uuid in (*era.live, *self.live) if uuid not in back]
                self.live, self._moved = live, era.moved
                undone = len(self._eras) - number
                del self._eras[number:]
                return Step(dropped, undone=undone)
        return None

    def _on_a_dead_branch(self, leaf: str) -> Step:
        """Makes a branch live again that was dropped before, because the new row continues it."""
        chain = self.chain(leaf)
        back = set(chain)
        dropped = [uuid for uuid in self.live if uuid not in back]
        self.live = chain
        return Step(dropped)

    def chain(self, leaf: str) -> list[str]:
        """Returns a row and its ancestors, the oldest first. A cycle of parents is cut."""
        found: dict[str, None] = {}
        at: str | None = leaf
        while at is not None and at in self._parents and at not in found:
            found[at] = None
            at = self._parents[at]
        return list(reversed(found))

    def compact(self, boundary: str, kept: Iterable[str], *, keeps_beginning: bool) -> None:
        """Applies a boundary: only `kept` stays, after the summary, or before it if
        `keeps_beginning`.
        """
        wanted = set(kept)
        stay = [uuid for uuid in self.live if uuid in wanted]
        self._parents[boundary] = None
        self._eras.append(_Era(self.live, self._moved))
        self.rearranged = True
        self.live = [*stay, boundary] if keeps_beginning else [boundary, *stay]
        self._moved = {boundary: self.live[-1]}

    def summarize(self, summary: str, parent: str | None, boundary: str | None) -> None:
        """Adds the summary of the newest boundary. Without a boundary, all rows before it are
        dropped.
        """
        self._parents[summary] = parent
        self.rearranged = True
        if boundary is None:
            self._eras.append(_Era(self.live, self._moved))
            self.live, self._moved = [summary], {}
        else:
            self.live.insert(self.live.index(boundary) + 1, summary)
        self._moved[summary] = self.live[-1]

    def stretch(self, head: str, tail: str) -> list[str]:
        """Returns the live rows from `head` to `tail`."""
        if head not in self.live or tail not in self.live:
            return []
        return self.live[self.live.index(head) : self.live.index(tail) + 1]
