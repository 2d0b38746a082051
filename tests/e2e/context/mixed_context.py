"""What the model should be sent next in a random mix of commands: a model of the context in plain
Python.
"""

from dataclasses import dataclass, field, replace

from tests.e2e.expectation import Piece


@dataclass
class Stretch:
    """Turns in the middle that left the context, and the summary in their place, if any."""

    number: int
    gist: str | None


@dataclass
class Told:
    """A turn, and the items that were injected after it. `stretches` are those that were made
    before it. One that left in a `stretch` took the first `gone` of the injected items along.
    """

    pieces: list[Piece]
    injected: list[Piece] = field(default_factory=list[Piece])
    before: list[Piece] = field(default_factory=list[Piece])
    stretches: int = 0
    stretch: Stretch | None = None
    gone: int = 0

    def shown(self) -> list[Piece]:
        own = self.pieces if self.stretch is None else []
        return self.before + own + self.injected[self.gone :]


@dataclass
class Context:
    """The expected content of the model's next input."""

    summary: str | None = None
    turns: list[Told] = field(default_factory=list[Told])
    waiting: list[Piece] = field(default_factory=list[Piece])

    def shown(self) -> list[Piece]:
        shown = [] if self.summary is None else [Piece("summary", self.summary)]
        told_of: list[int] = []
        for told in self.turns:
            stretch = told.stretch
            if stretch is not None and stretch.gist and stretch.number not in told_of:
                told_of.append(stretch.number)
                shown += [*told.before, Piece("summary", stretch.gist)]
                shown += replace(told, before=[]).shown()
            else:
                shown += told.shown()
        return shown + self.waiting

    def leave(self, first: int, last: int, stretch: Stretch) -> None:
        """Takes these turns out of the middle."""
        self.turns = [
            replace(told, stretch=stretch, gone=len(told.injected)) if first <= at <= last else told
            for at, told in enumerate(self.turns)
        ]

    def revert(self, back: int) -> None:
        """Takes the last turns back: a stretch that was made behind them or that tells of them
        is no more.
        """
        first, left = self.turns[-back], self.turns[:-back]
        cut = [told.stretch.number for told in self.turns[-back:] if told.stretch is not None]
        self.turns = [
            replace(told, stretch=None, gone=0)
            if told.stretch is not None
            and (
                told.stretch.number > first.stretches
                or (told.stretch.gist and told.stretch.number in cut)
            )
            else told
            for told in left
        ]
        self.waiting = first.before

    def keep(self, count: int, summary: str | None = None) -> None:
        if count:
            first, *rest = self.turns[len(self.turns) - count :]
            self.turns = [replace(first, before=[]), *rest]
        else:
            self.turns, self.waiting = [], []
        self.summary = summary

    def inject(self, piece: Piece) -> None:
        if self.turns and not self.waiting:
            self.turns[-1].injected.append(piece)
        else:
            self.waiting = [*self.waiting, piece]

    def add(self, told: Told) -> None:
        self.turns = [*self.turns, replace(told, before=self.waiting)]
        self.waiting = []

    def undone(self, before: "Context", kept: int) -> "Context":
        """What is shown when the trim is undone that left `kept` of the turns of `before`."""
        since, waiting = self.turns[kept:], self.waiting
        if not kept and since:
            since[0] = replace(since[0], before=before.waiting + since[0].before)
        elif not kept:
            waiting = before.waiting + waiting
        return Context(before.summary, before.turns + since, waiting)
