"""SIGKILL of the daemon at random instants of pins, unpins, discards, clears and undos
(docs/spec/context.md).

The model's next input must be the one from before or after the command, by a model in plain Python.
`TRIMPOINT_E2E_LONG=n` kills n times as often.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from trimpoint.testkit import say

from tests.e2e.conftest import Harness, longer
from tests.e2e.conversation import AnswersByPrompt, Conversation
from tests.e2e.daemon.killed_lives import KilledLife, live
from tests.e2e.expectation import Piece, pieces

pytestmark = pytest.mark.codex

SEEDS = range(longer())
KILLS = 9
# From the beginning of a command to a little after its end, on a machine that is not busy.
LONGEST_S = 0.2


@dataclass
class World:
    """The state of the thread: its turns by number, its pins, and its trims, each as the first kept
    turn or the discarded prompt.
    """

    turns: list[int] = field(default_factory=list[int])
    pins: list[tuple[int, int | str]] = field(default_factory=list[tuple[int, int | str]])
    trims: list[int | str] = field(default_factory=list[int | str])

    @property
    def first_active(self) -> int:
        return next((trim for trim in reversed(self.trims) if isinstance(trim, int)), 0)

    @property
    def active(self) -> list[int]:
        return self.turns[self.first_active :]

    def standing(self) -> list[tuple[int, int | str]]:
        return sorted(self.pins, key=lambda pin: (pin[0], isinstance(pin[1], str)))

    def is_pinned(self, number: int) -> bool:
        return any(what == number for _, what in self.pins)

    def of_turn(self, number: int) -> list[Piece]:
        said = [Piece("user", f"prompt-{number}."), Piece("assistant", f"answer-{number}.")]
        return [piece for piece in said if piece.text not in self.trims]

    def context(self) -> list[Piece]:
        shown: list[Piece] = []
        for _, what in self.standing():
            if isinstance(what, str):
                shown.append(Piece("user", f"<pinned-note>{what}</pinned-note>"))
            elif what not in self.active:
                shown += self.of_turn(what)
        return shown + [piece for number in self.active for piece in self.of_turn(number)]


class Life(KilledLife[World]):
    """A life whose states are worlds."""

    def __init__(self, harness: Harness, script: AnswersByPrompt, seed: int) -> None:
        super().__init__(harness, script, seed, World())

    async def look(self, talk: Conversation) -> None:
        """Runs a turn, which shows the state that the thread is in."""
        self.said += 1
        prompt = f"prompt-{self.said}."
        self.script.when(prompt, say(f"answer-{self.said}."))
        turn = await talk.prompt(prompt)
        assert turn["status"] == "completed", turn
        shown = pieces(talk.asked(prompt).input)[:-1]
        pins = [one["note"] or one["turnId"] for one in (await talk.snapshot())["pins"]]
        # A pin of what is in the context changes nothing that the model is shown.
        right = [
            world
            for world in self.possible
            if world.context() == shown and len(world.pins) == len(pins)
        ]
        assert right, (shown, pins, [(world.context(), world.pins) for world in self.possible])
        self.possible = right[:1]
        self.possible[0].turns.append(self.said)

    async def strike(self, talk: Conversation, daemon: Any) -> None:
        """Begins a command, and kills the daemon at a random instant of it."""
        before = self.possible[0]
        after = copy.deepcopy(before)
        actions: list[Callable[[Conversation, World], Any]] = [
            self._pin, self._pin, self._note, self._unpin, self._clear, self._undo, self._discard
        ]  # fmt: skip
        command = await self.chance.choice(actions)(talk, after)
        await self.kill_during(command, after, talk, daemon, LONGEST_S)

    async def _pin(self, talk: Conversation, world: World) -> dict[str, Any]:
        place = self.chance.randrange(len(world.turns))
        if not world.is_pinned(world.turns[place]):
            world.pins.append((place, world.turns[place]))
        return {"type": "thread.context.pin", "turns": [place + 1]}

    async def _note(self, talk: Conversation, world: World) -> dict[str, Any]:
        note = f"note {self.said}"
        world.pins.append((len(world.turns), note))
        return {"type": "thread.context.pin", "note": note}

    async def _unpin(self, talk: Conversation, world: World) -> dict[str, Any]:
        standing = world.standing()
        if not standing:
            return await self._pin(talk, world)
        number = self.chance.randrange(len(standing))
        world.pins.remove(standing[number])
        return {"type": "thread.context.unpin", "pins": [number + 1]}

    async def _clear(self, talk: Conversation, world: World) -> dict[str, Any]:
        keep = self.chance.randrange(len(world.active))
        if all(world.is_pinned(number) for number in world.active[: len(world.active) - keep]):
            return await self._note(talk, world)  # such a clear is refused
        world.trims.append(len(world.turns) - keep)
        return {"type": "thread.context.trim", "keepLastNTurns": keep}

    async def _undo(self, talk: Conversation, world: World) -> dict[str, Any]:
        if not world.trims:
            return await self._clear(talk, world)
        world.trims.pop()
        return {"type": "thread.context.undo"}

    async def _discard(self, talk: Conversation, world: World) -> dict[str, Any]:
        listed = await talk.client.request("context/messages/list", threadId=self.thread_id)
        free = [
            (row, f"prompt-{number}.")
            for number in world.active[:-1]
            if not world.is_pinned(number)
            for row in listed["messages"]
            if row["preview"] == f"prompt-{number}."
        ]
        if not free:
            return await self._note(talk, world)
        row, prompt = self.chance.choice(free)
        world.trims.append(prompt)
        return {"type": "thread.context.discard", "entryIds": row["entryIds"]}


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_daemon_killed_while_it_pins_discards_or_undoes_leaves_one_side_or_the_other(
    seed: int,
) -> None:
    await live(Life, seed, KILLS)
