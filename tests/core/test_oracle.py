"""Random lives of a thread with everything that changes a context, compared with a model in plain
Python: turns, clears, compactions, drafts, edited summaries, discards, pins and notes, undo, redo, reverts and their undoing,
and restarts.
"""

import random
import re
from copy import deepcopy
from dataclasses import dataclass, field

import pytest
from trimpoint.core.context.injections import injection
from trimpoint.core.decide.undoing import newest_boundary
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import DiscardPolicy, Policy
from trimpoint.core.model.operations import Phase
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.core.given import client, raw_message, started, trim
from tests.core.pinning import act, pin, said, shown, unpin

FREE = Policy(discard=DiscardPolicy(floor_tokens=0))
SEEDS, STEPS = range(80), 45


@dataclass
class Trim:
    """A boundary before the turn `first_kept`, or a discard of the prompt of one turn. `number` is
    its place among all actions, and what was injected until `injected_to`, else until it, is before
    the boundary.
    """

    number: int
    first_kept: int | None
    summary: str | None = None
    injected_to: int | None = None
    dropped: str | None = None


@dataclass
class World:
    """A model of the thread in plain Python: (place, number) of each turn, and the trims and pins
    in effect.
    """

    turns: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    injected: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    trims: list[Trim] = field(default_factory=list[Trim])

    @property
    def boundary(self) -> Trim:
        bounds = [trim for trim in self.trims if trim.first_kept is not None]
        return bounds[-1] if bounds else Trim(0, 0)

    @property
    def first_active(self) -> int:
        return self.boundary.first_kept or 0

    def active(self) -> int:
        return len(self.turns) - self.first_active

    def injected_at(self, place: int) -> list[str]:
        """What was injected before the turn at `place` and stands."""
        bound = self.boundary
        until = bound.number if bound.injected_to is None else bound.injected_to
        pruned = until if bound.first_kept == place else 0
        return [f"injected {when}" for when, at in self.injected if at == place and when > pruned]

    def texts(self, number: int) -> list[str]:
        gone = {trim.dropped for trim in self.trims}
        return [text for text in said(number) if text not in gone]


@dataclass
class Pinned:
    """A pinned turn, by its number, or a pinned note; `place` is that of the turn, or of the one
    that follows the note.
    """

    turn: int | None
    note: str
    place: int


class Life:
    """A random life of a thread, compared with the model."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.thread = started(policy=FREE)
        self.world = World()
        self.pins: list[Pinned] = []
        self.undone: list[Trim] = []
        self.reverted: World | None = None
        self.noted: dict[str, int] = {}
        self.kept = 0
        self.happened = 0
        self.steps: list[str] = []

    def step(self) -> None:
        weights = {"turn": 9, "clear": 4, "compact": 3, "discard": 3, "pin": 3, "note": 1}
        weights |= {"unpin": 2, "undo": 5, "redo": 4, "revert": 2, "unrevert": 2, "restart": 1}
        weights |= {"inject": 4, "edit": 2, "draft": 2}
        name = self.chance.choices(list(weights), list(weights.values()))[0]
        self.steps.append(name)
        self.happened += 1
        getattr(self, f"_{name}")()
        seen = [re.sub(r" messages=\d+>", ">", text) for text in shown(self.thread.state)]
        assert seen == self._context(), self.steps
        newest = newest_boundary(self.thread.state)
        assert (newest is not None) == bool(self.world.trims), self.steps

    def _standing(self) -> list[Pinned]:
        places = {number: place for place, (_, number) in enumerate(self.world.turns)}
        there = [one for one in self.pins if one.turn is None or one.turn in places]
        return sorted(there, key=lambda one: (one.place, one.turn is not None))

    def _context(self) -> list[str]:
        world = self.world
        start = [] if world.boundary.summary is None else [world.boundary.summary]
        active = [number for _, number in world.turns[world.first_active :]]
        for one in self._standing():
            if one.turn is None:
                start.append(f"<pinned-note>{one.note}</pinned-note>")
            elif one.turn not in active:
                start += world.texts(one.turn)
        for place, (_, number) in enumerate(world.turns[world.first_active :], world.first_active):
            start += world.injected_at(place) + world.texts(number)
        return start + world.injected_at(len(world.turns))

    def _turn(self) -> None:
        number = int(self.thread.turn().removeprefix("turn-"))
        self.world.turns.append((self.happened, number))
        self.undone = []

    def _inject(self) -> None:
        """Where no turn stands; what is injected behind one is of that turn."""
        place = len(self.world.turns)
        if not self.world.active() or self.world.injected_at(place):
            item = raw_message("user", f"injected {self.happened}")
            self.thread.report(*injection(self.thread.state, [item]))
            self.world.injected.append((self.happened, place))

    def _clear(self) -> None:
        keep = self.chance.randint(0, 3)
        begins = self.world.boundary.summary or self.world.injected_at(len(self.world.turns))
        if self._is_all_pinned(keep):
            self.thread.when(trim(keep)).rejected(Reason.NOTHING_TO_TRIM)
        elif keep < self.world.active() or (keep == 0 and begins):
            self.thread.clear(keep)
            self._trimmed(keep, None)

    def _is_all_pinned(self, keep: int) -> bool:
        """Whether a clear would take pinned turns and nothing else."""
        world, pinned = self.world, {one.turn for one in self.pins}
        places = range(world.first_active, len(world.turns) - keep)
        beside = world.boundary.summary or any(map(world.injected_at, [*places, places.stop]))
        return bool(places) and not beside and all(world.turns[at][1] in pinned for at in places)

    def _compact(self) -> None:
        keep = self.chance.randint(0, 2)
        if self.world.active() > keep:
            words = f"summary {self.happened}"
            self.thread.compact(words, keep)
            self._trimmed(keep, f"<conversation-summary>{words}</conversation-summary>")

    def _edit(self) -> None:
        last = self.world.boundary
        if last.summary is not None:
            words = f"edited {self.happened}"
            act(self.thread, client(wire.EditSummary, text=words))
            until = last.number if last.injected_to is None else last.injected_to
            summary = f"<conversation-summary>{words}</conversation-summary>"
            self.world.trims.append(Trim(self.happened, last.first_kept, summary, until))
            self.undone = []

    def _draft(self) -> None:
        """Drafts a summary, runs a turn or none, and accepts it in other words."""
        keep = self.chance.randint(0, 2)
        if self.world.active() <= keep:
            return
        operation_id = self.thread.begin_compaction(keep, force=True, edit=True)
        written = ev.DraftWritten(self.thread.state.id, operation_id, "drafted", 1)
        self.thread.advance(Phase.READY, written)
        since = self.chance.randint(0, 1)
        for _ in range(since):
            self._turn()
            self.happened += 1
        words = f"accepted {self.happened}"
        act(self.thread, client(wire.AcceptDraft, text=words))
        self._trimmed(keep + since, f"<conversation-summary>{words}</conversation-summary>")

    def _trimmed(self, keep: int, summary: str | None) -> None:
        kept = len(self.world.turns) - min(keep, self.world.active())
        self.world.trims.append(Trim(self.happened, kept, summary))
        self.undone = []

    def _discard(self) -> None:
        """Discards the prompt of an active turn that is neither the newest nor pinned, and whose
        items are known. The daemon reads the items of a turn that came back from Codex's rollout.
        """
        pinned = {one.turn for one in self.pins}
        numbers = [number for _, number in self.world.turns[self.world.first_active : -1]]
        at_hand = {turn.id for turn in self.thread.state.active_turns if turn.items_complete}
        free = [
            number
            for number in numbers
            if number not in pinned
            and f"turn-{number}" in at_hand
            and len(self.world.texts(number)) == len(said(number))
        ]
        if free:
            number = self.chance.choice(free)
            prompt = said(number)[0]
            entry = f"turn-{number}/user/{prompt}"
            act(self.thread, client(wire.DiscardContext, entry_ids=[entry]))
            self.world.trims.append(Trim(self.happened, None, dropped=prompt))
            self.undone = []

    def _pin(self) -> None:
        if self.world.turns:
            place = self.chance.randrange(len(self.world.turns))
            number = self.world.turns[place][1]
            pin(self.thread, place + 1)
            if all(one.turn != number for one in self.pins):
                self.pins.append(Pinned(number, "", place))

    def _note(self) -> None:
        note = f"note {self.happened}"
        act(self.thread, client(wire.PinContext, note=note))
        self.pins.append(Pinned(None, note, len(self.world.turns)))

    def _unpin(self) -> None:
        if standing := self._standing():
            number = self.chance.randrange(len(standing))
            unpin(self.thread, number + 1)
            self.pins.remove(standing[number])

    def _undo(self) -> None:
        if self.world.trims:
            act(self.thread, client(wire.UndoTrim))
            self.undone.append(self.world.trims.pop())

    def _redo(self) -> None:
        if not self.undone:
            return
        pinned = [said(one.turn) for one in self._standing() if one.turn is not None]
        redo = client(wire.UndoTrim, redo=True)
        if any(self.undone[-1].dropped in texts for texts in pinned):
            self.thread.when(redo).rejected(Reason.NOTHING_TO_UNDO)
        else:
            act(self.thread, redo)
            self.world.trims.append(self.undone.pop())

    def _revert(self) -> None:
        if not self.world.turns:
            return
        kept = self.chance.randint(0, len(self.world.turns))
        last = self.world.turns[kept - 1 if kept else 0][0]
        trims = [trim for trim in self.world.trims if trim.number < last]
        injected = [one for one in self.world.injected if one[0] < last]
        if (kept, trims, injected) == (
            len(self.world.turns),
            self.world.trims,
            self.world.injected,
        ):
            return
        present = deepcopy(self.world)
        self.thread.revert(turn_count=kept)
        self.world = World(self.world.turns[:kept], injected, trims)
        self.reverted, self.undone = present, []
        self.noted, self.kept = self._noted(), kept
        self._place_notes({})

    def _place_notes(self, noted: dict[str, int]) -> None:
        for one in self.pins:
            if one.turn is None:
                one.place = noted.get(one.note, min(one.place, self.kept))

    def _noted(self) -> dict[str, int]:
        return {one.note: one.place for one in self.pins if one.turn is None}

    def _unrevert(self) -> None:
        if self.reverted is not None:
            present = deepcopy(self.world)
            self.thread.revert(undo=True)
            self.world, self.reverted, self.undone = self.reverted, present, []
            noted, self.noted = self.noted, self._noted()
            self._place_notes(noted)

    def _restart(self) -> None:
        assert self.thread.replayed() == self.thread.state, self.steps


@pytest.mark.parametrize("seed", SEEDS)
def test_any_life_with_pins_and_discards_holds_what_a_plain_model_holds(seed: int) -> None:
    life = Life(seed)
    for _ in range(STEPS):
        life.step()
