"""One day: what a seed does to a daemon, and to the next one over the same disk and Codex."""

import logging
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

import anyio
import anyio.to_thread
import msgspec
import structlog
from trimpoint.core.model import events as ev
from trimpoint.operations.compaction import compaction

from tests.gateway.stage import FakeClient
from tests.operations.stage import Stage, opened_stage
from tests.simulation.acts import WEIGHTS, Acts
from tests.simulation.codex import Seen, SimulatedCodex
from tests.simulation.disk import SimulatedDisk
from tests.simulation.holding import Holding
from tests.simulation.loop import run_without_clock
from tests.simulation.messages import raw_message
from tests.threads.stage import THREAD, Disk

# Few, so that many orders are tried in the time of one long day, and what fails is short.
FEWEST, MOST = 2, 7
STEPS_TO_LIVE = 12
LONGEST_S = 20_000.0
# Between two acts; the last is longer than Codex may take to answer.
PAUSES_S = (0.0, 0.002, 0.05, 0.3, 2.0, 40.0)
# Of the deaths of Codex, those that wait for no step.
AT_ONCE = 0.4
# Of the days, those that may have all acts.
ALL_KINDS = 0.2
# Of the days, those whose acts meet in a way that chance would seldom find.
THEMES = 0.5
THEME = (
    ("name", "elsewhere", "codex"),
    ("clear", "inject", "back"),
    ("elsewhere", "clear", "prompt", "daemon"),
    ("goal", "elsewhere", "prompt", "clear"),
    ("queue", "silence", "release"),
    ("rename", "rename", "name"),
    ("disk", "clear", "prompt"),
    ("prompt", "resume", "codex"),
)
# Every so many days is about one of these, and all others are what they were without them.
RARE_EVERY, RARE_AT = 10, 7
RARE = (("prompt", "steer", "steer", "codex", "daemon"), ("queue", "silence", "release"))
KINDS, HOW_OFTEN = list(WEIGHTS), list(WEIGHTS.values())
# Of the days, those with a subscriber of records that fails.
DEFECTIVE = 0.1
# Makes the turns of the template longer than a summary.
LONG = " and so on" * 20


class Deaf(Exception):
    """Raised by a subscriber that takes no record."""


class World:
    """The day of one seed."""

    def __init__(self, seed: int, random: Random | None = None) -> None:
        self.random = random or Random(seed)
        self.codex = SimulatedCodex(self.random)
        self.disk = SimulatedDisk(random=self.random)
        self.left = self.random.randint(FEWEST, MOST)
        self.disk.slowest_s = self.random.choice((0.01, 0.01, 0.01, 1.0))
        self.kinds = self._some_kinds()
        if seed % RARE_EVERY == RARE_AT:
            rare = self.random.choice(RARE)
            self.kinds, self.left = ([*rare], [1] * len(rare)), MOST
        self.codex.slowest_s = self.random.choice((0.1, 0.1, 2.0))
        self.acts = Acts(self.random, self.codex)
        self.has_a_defect = self.random.random() < DEFECTIVE
        self.fuses: dict[str, int] = {}
        self.durable: SimulatedDisk | None = None

    async def run(self) -> None:
        """Runs one daemon after the other.

        :raises TimeoutError: when one waits for ever.
        """
        with anyio.fail_after(LONGEST_S):
            await self._run()

    async def _run(self) -> None:
        past = template()
        self.disk.records[THREAD] = list(past.records)
        self.codex.turns[THREAD] = [dict(one) for one in past.turns]
        self.codex.contexts[THREAD] = list(past.seen)
        while not await self._one_daemon():
            self.disk = self.durable or self.disk.copied()

    async def _one_daemon(self) -> bool:
        """Runs a daemon until it ends. Returns whether that was the last one."""
        is_last = False
        self.durable = None
        async with opened_stage(self.codex, self.disk, deadline_s=None) as stage:
            self.codex.router = stage.operations.router
            self.codex.on_step = self.disk.on_step = self._step
            self.codex.is_daemons_end = False
            self.codex.ended.clear()
            watcher = FakeClient(stage.clients, THREAD)
            self.holding = Holding(stage, self.codex, self.disk, self.acts, watcher)
            self.codex.on_asked = self.holding.look_at_request
            self.acts.begin(stage, watcher, self.disk)
            if self.has_a_defect:
                stage.registry.subscribe(_fail)
            with anyio.CancelScope() as self.life:
                is_last = await self._live(stage)
            self._end()
        self.holding.look_at_clients()
        return is_last

    async def _live(self, stage: Stage) -> bool:
        """Lives until the end of the day, or until the daemon is shut down; then returns False."""
        await stage.registry.thread(THREAD)
        while self.left:
            self.left -= 1
            await anyio.sleep(self.random.choice(PAUSES_S))
            kind = self.random.choices(*self.kinds)[0]
            match kind:
                case "codex" | "daemon":
                    self.acts.history.append(kind)
                    self.fuses[kind] = self.random.randrange(STEPS_TO_LIVE)
                    if kind == "codex" and self.random.random() < AT_ONCE:
                        self.fuses[kind] = 0
                        self._step()
                case "shutdown":
                    self.acts.history.append(kind)
                    return False
                case _:
                    self.acts.do(kind)
        await anyio.sleep(self.random.random())
        self.disk.free()
        self.disk.slowest_s, self.codex.slowest_s = 0.001, 0.01
        await self.holding.comes_to_rest()
        self.fuses.clear()
        self.codex.silent.clear()
        await self.holding.holds()
        return True

    def _some_kinds(self) -> tuple[list[str], list[int]]:
        """Returns the acts of the day and how often they happen. Most days have few kinds: what
        only happens if rare ones meet is found sooner.
        """
        share = self.random.random()
        if share < ALL_KINDS:
            return KINDS, HOW_OFTEN
        if share < ALL_KINDS + THEMES:
            theme = self.random.choice(THEME)
            self.left = max(self.left, len(theme))
            self.disk.slowest_s = self.random.choice((0.01, 1.0, 5.0, 30.0))
            return [*theme], [1] * len(theme)
        some = self.random.sample(KINDS, self.random.randint(2, 6))
        return ["prompt", *some], [2] + [1] * len(some)

    def _step(self) -> None:
        """Kills what is to be killed at this step."""
        for name in list(self.fuses):
            left = self.fuses.pop(name, 0)
            if left > 0:
                self.fuses[name] = left - 1
            elif not self.codex.is_daemons_end:
                self.acts.history.append(f"{name} dies")
                self.codex.kill() if name == "codex" else self._kill_daemon()

    def _kill_daemon(self) -> None:
        """Ends the daemon as `kill -9` does: what is not on the disk now is lost."""
        self.durable = self.disk.copied()
        self.holding.freeze()
        self._end()
        self.life.cancel()

    def _end(self) -> None:
        """Ends Codex with its daemon, which does nothing to the world from now on."""
        self.fuses.clear()
        self.codex.on_step = self.disk.on_step = lambda: None
        self.codex.is_daemons_end = True
        self.codex.die()


class Past(NamedTuple):
    """A thread with some turns: its records, and what Codex has of it."""

    records: list[bytes]
    turns: list[dict[str, Any]]
    seen: list[Seen]


@cache
def template() -> Past:
    """Returns the past of all simulated threads."""
    disk, seen, turns = Disk(), list[Seen](), list[dict[str, Any]]()

    async def begin() -> None:
        async with opened_stage(disk=disk, deadline_s=None) as stage:
            writer = await stage.thread()
            for number in range(3):
                turn_id, prompt = f"past-{number}", f"prompt past {number}{LONG}"
                texts = (("user", prompt), ("assistant", f"answer to {prompt}"))
                items = tuple(msgspec.json.encode(raw_message(role, text)) for role, text in texts)
                writer.record_facts(
                    ev.TurnStarted(turn_id, 1),
                    *(
                        ev.EntryRecorded(turn_id, f"{turn_id}-{role}", "message", role, text)
                        for role, text in texts
                    ),
                    ev.ContextItemsRecorded(turn_id, items, "rollout"),
                    ev.TurnCompleted(turn_id, "completed"),
                )
                seen.extend((turn_id, text) for _, text in texts)
                content = [{"type": "text", "text": prompt}]
                item = {"type": "userMessage", "id": f"{turn_id}-user", "content": content}
                turns.append({"id": turn_id, "status": "completed", "items": [item]})
            await writer.flush()

    run_without_clock(begin)
    return Past(disk.records[THREAD], turns, seen)


def _fail(thread_id: str, record: ev.Record) -> None:
    raise Deaf


async def _at_once(function: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
    """Calls a function that would run in a thread."""
    await anyio.lowlevel.checkpoint()
    return function(*arguments)


@contextmanager
def _surroundings(world: World) -> Generator[None]:
    """Replaces the threads and files of the daemon, and notes what its boundaries have caught."""

    def note(_: object, __: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
        if event.get("exc_info") and not isinstance(sys.exc_info()[1], Deaf):
            world.acts.broken.append(f"{event['event']}: {sys.exc_info()[1]!r}")
        is_told = event["event"] == "turn_ended_for_codex" and event["turn_id"] in world.codex.ended
        if is_told and world.disk.refusal is None:  # what the disk refuses is not in the state
            world.acts.broken.append(f"the end of {event['turn_id']} was told, and missed")
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[note], wrapper_class=_FAILURES)
    try:
        with (
            patch.object(anyio.to_thread, "run_sync", _at_once),
            patch.object(compaction, "own_lines", world.codex.rollout),
        ):
            yield
    finally:
        structlog.configure(**before)


_FAILURES = structlog.make_filtering_bound_logger(logging.WARNING)


def simulate(seed: int) -> World:
    """Runs the day of a seed.

    :raises AssertionError: when something did not hold.
    """
    template()
    world = World(seed)
    order = Random(seed) if seed % 2 else None
    with _surroundings(world):
        run_without_clock(world.run, order)
    return world
