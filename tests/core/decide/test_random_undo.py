"""Random lives of a thread with `/undo` and `/undo --redo`, compared with a plain model."""

import random
from copy import deepcopy
from dataclasses import dataclass, field

import pytest
from trimpoint_protocol.errors import Reason

from tests.core.given import (
    started,
)
from tests.core.undoing import refusal, said, shown, undo


@dataclass
class Trim:
    """A trim. `first_kept` is the number of turns before the boundary, `number` its place among all
    actions.
    """

    first_kept: int
    summary: str | None
    number: int


@dataclass
class World:
    """A model of the thread in plain Python: (number, texts) of each turn, and the trims in
    effect.
    """

    turns: list[tuple[int, list[str]]] = field(default_factory=list[tuple[int, list[str]]])
    trims: list[Trim] = field(default_factory=list[Trim])

    def context(self) -> list[str]:
        last = self.trims[-1] if self.trims else Trim(0, None, 0)
        start = [last.summary] if last.summary is not None else []
        return start + [text for _, of in self.turns[last.first_kept :] for text in of]

    def active(self) -> int:
        return len(self.turns) - (self.trims[-1].first_kept if self.trims else 0)


class Walk:
    """A random life of a thread, compared with the model."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.thread = started()
        self.world = World()
        self.undone: list[Trim] = []
        self.reverted: World | None = None
        self.happened = 0
        self.steps: list[str] = []

    def step(self) -> None:
        name = self.random.choices(
            ["turn", "clear", "compact", "undo", "redo", "revert", "unrevert", "restart"],
            [8, 4, 3, 6, 4, 2, 2, 1],
        )[0]
        self.steps.append(name)
        self.happened += 1
        getattr(self, f"_{name}")()
        assert shown(self.thread.state) == self.world.context(), self.steps
        assert len(self.thread.state.trim_points) == len(self.world.trims), self.steps

    def _turn(self) -> None:
        turn_id = self.thread.turn()
        number = turn_id.removeprefix("turn-")
        self.world.turns.append((self.happened, said(int(number))))
        self.undone = []

    def _clear(self) -> None:
        keep = self.random.randint(0, 3)
        has_summary = bool(self.world.trims) and self.world.trims[-1].summary is not None
        if keep < self.world.active() or (keep == 0 and has_summary):
            self.thread.clear(keep)
            self._trimmed(keep, None)

    def _compact(self) -> None:
        keep = self.random.randint(0, 2)
        if self.world.active() > keep:
            count = len(self.world.context()) - 2 * keep
            words = f"summary {self.happened}"
            self.thread.compact(words, keep)
            text = f"<conversation-summary messages={count}>{words}</conversation-summary>"
            self._trimmed(keep, text)

    def _trimmed(self, keep: int, summary: str | None) -> None:
        kept = len(self.world.turns) - min(keep, self.world.active())
        self.world.trims.append(Trim(kept, summary, self.happened))
        self.undone = []

    def _undo(self) -> None:
        if not self.world.trims:
            refusal(self.thread, Reason.NOTHING_TO_UNDO)
            return
        undo(self.thread)
        self.undone.append(self.world.trims.pop())

    def _redo(self) -> None:
        if not self.undone:
            refusal(self.thread, Reason.NOTHING_TO_UNDO, redo=True)
            return
        undo(self.thread, redo=True)
        self.world.trims.append(self.undone.pop())

    def _revert(self) -> None:
        kept = self.random.randint(0, len(self.world.turns))
        last = self.world.turns[kept - 1][0] if kept else 0
        trims = [trim for trim in self.world.trims if trim.number < last]
        if not self.world.turns or (kept == len(self.world.turns) and trims == self.world.trims):
            return
        present = deepcopy(self.world)
        self.thread.revert(turn_count=kept)
        self.world = World(self.world.turns[:kept], trims)
        self.reverted, self.undone = present, []

    def _unrevert(self) -> None:
        if self.reverted is not None:
            present = deepcopy(self.world)
            self.thread.revert(undo=True)
            self.world, self.reverted, self.undone = self.reverted, present, []

    def _restart(self) -> None:
        assert self.thread.replayed() == self.thread.state, self.steps


@pytest.mark.parametrize("seed", range(60))
def test_any_life_holds_what_a_plain_model_of_it_holds(seed: int) -> None:
    walk = Walk(seed)
    for _ in range(40):
        walk.step()
