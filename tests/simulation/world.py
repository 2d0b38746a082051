"""One daemon's day: what a seed does to it, and what must hold at its end."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any

import anyio
import msgspec
from trimpoint.codex.appserver.errors import ProviderFailure
from trimpoint.core.context.generations import conversation_items
from trimpoint.core.model.decision import busy
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.threads.catalogue import is_unfinished
from trimpoint.threads.errors import ThreadError

from tests.gateway.stage import FakeClient
from tests.operations.lives import life_of
from tests.operations.stage import Stage, opened_stage
from tests.simulation.codex import SimulatedCodex, text_of
from tests.simulation.loop import run_without_clock
from tests.threads.stage import THREAD, Disk

ACTIONS = 24
# Longer than any wait of the daemon that ends by itself.
REST_S = 3_000.0


class Broken(AssertionError):
    """Raised when something did not hold."""


@dataclass
class SlowDisk(Disk):
    """A disk whose accesses take as long as `random` says."""

    random: Random = field(default_factory=Random)
    slowest_s: float = 0.01

    async def wait(self) -> None:
        await anyio.sleep(self.random.random() * self.slowest_s)


class World:
    """Runs the actions of a seed, one daemon after the other over the same disk and Codex."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.codex = SimulatedCodex(self.random)
        self.disk = SlowDisk(random=self.random)
        self.left = ACTIONS
        self.prompts = 0
        self.history: list[str] = []
        self.acting = 0
        self.running_at_first: str | None = None

    async def run(self) -> None:
        while await self._one_daemon():
            pass

    async def _one_daemon(self) -> bool:
        """Runs a daemon until it is killed or all is done. Returns whether there is more to do."""
        is_new = not self.disk.records
        self.running_at_first = None if is_new else self.disk.written().running_turn_id
        async with opened_stage(self.codex, self.disk, deadline_s=None) as stage:
            self.codex.router = stage.operations.router
            watcher = FakeClient(stage.clients, THREAD)
            if is_new:
                await stage.thread()
            await stage.registry.thread(THREAD)
            while self.left:
                self.left -= 1
                await anyio.sleep(self.random.choice((0.0, 0.002, 0.05, 0.3)))
                if not self._act(stage):
                    self._kill_daemon()
                    self._look_at_clients(stage, watcher)
                    stage.tasks.cancel_scope.cancel()
                    return True
            await self._comes_to_rest(stage)
            await self._holds(stage, watcher)
        return False

    def _act(self, stage: Stage) -> bool:
        kind = self.random.choices(
            ("prompt", "clear", "undo", "name", "interrupt", "codex", "disk", "speed", "daemon"),
            (40, 14, 4, 4, 8, 5, 6, 6, 4),
        )[0]
        self.history.append(kind)
        match kind:
            case "prompt":
                self.prompts += 1
                self._ask(stage, "turn/start", input=typed(f"prompt {self.prompts}"))
            case "clear":
                self._ask(stage, "turn/start", input=typed(f"/clear {self.random.randrange(3)}"))
            case "undo":
                self._ask(stage, "turn/start", input=typed("/undo"))
            case "name":
                self._ask(stage, "thread/name/set", name=f"name {self.left}")
            case "interrupt":
                writer = stage.registry.loaded(THREAD)
                turn_id = writer.state.running_turn_id if writer is not None else None
                self._ask(stage, "turn/interrupt", turnId=turn_id or "")
            case "codex":
                self.codex.kill()
            case "disk":
                self.random.choice((self.disk.fill, self.disk.free, self.disk.fill_once))()
            case "speed":
                self.disk.slowest_s = self.random.choice((0.0, 0.01, 1.0))
                self.codex.slowest_s = self.random.choice((0.0, 0.1, 2.0))
            case _:
                return False
        return True

    def _ask(self, stage: Stage, method: str, **params: Any) -> None:
        async def asking() -> None:
            self.acting += 1
            try:
                await stage.ask(method, **params)
            except (ProviderFailure, ThreadError, Refusal, StopIteration, RuntimeError) as error:
                self.history.append(f"{method}: {error}")
            finally:
                self.acting -= 1

        stage.tasks.start_soon(asking)

    def _kill_daemon(self) -> None:
        """Ends the daemon as `kill -9` does: what is not on the disk now is lost."""
        self.disk = SlowDisk(
            records=deepcopy(self.disk.records),
            checked=dict(self.disk.checked),
            random=self.random,
        )
        self.codex.kill()

    async def _comes_to_rest(self, stage: Stage) -> None:
        self.disk.free()
        self.disk.slowest_s, self.codex.slowest_s = 0.001, 0.01
        until_s = anyio.current_time() + REST_S
        while not self._rests(stage):
            if anyio.current_time() > until_s:
                raise Broken(f"it never rests: {self._why(stage)}")
            await anyio.sleep(1.0)

    def _rests(self, stage: Stage) -> bool:
        writers = stage.registry.loaded_writers()
        return not self.acting and all(
            writer.is_quiescent and not is_unfinished(writer.state) for writer in writers
        )

    def _why(self, stage: Stage) -> str:
        states = [
            (busy(writer.state), writer.is_quiescent) for writer in stage.registry.loaded_writers()
        ]
        return f"{self.acting} requests, {states}, after {self.history}"

    async def _holds(self, stage: Stage, watcher: FakeClient) -> None:
        await anyio.sleep(60)
        self._look_at_clients(stage, watcher)
        for life in (
            life_of(one.received, self.running_at_first) for one in (watcher, stage.client)
        ):
            if life.running is not None or life.questions:
                raise Broken(f"a client is left with {life.running} {life.questions}")
        twice = {text: count for text, count in Counter(self.codex.started).items() if count > 1}
        if twice:
            raise Broken(f"begun twice: {twice} after {self.history}")
        session = await stage.operations.sessions.ready(THREAD)
        state = session.writer.state
        known = [text_of(msgspec.json.decode(item)) for item in conversation_items(state)]
        seen = self.codex.contexts[session.provider_thread_id]
        if prompts_in(known) != prompts_in(seen):
            raise Broken(f"the ledger has {known}, the model {seen} after {self.history}")
        await anyio.sleep(60)
        tasks = sorted(str(task.get_name()) for task in asyncio.all_tasks())
        extra = [name for name in tasks if "Endings" in name or "deliver" in name]
        if extra:
            raise Broken(f"tasks are left: {extra}")

    def _look_at_clients(self, stage: Stage, watcher: FakeClient) -> None:
        for one in (watcher, stage.client):
            life_of(one.received, self.running_at_first)


def typed(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def prompts_in(texts: list[str]) -> list[str]:
    return [text for text in texts if text.startswith("prompt ")]


def simulate(seed: int, act: Callable[[World], Awaitable[None]] = World.run) -> World:
    """Runs the world of a seed.

    :raises AssertionError: when something did not hold.
    """
    world = World(seed)
    order = Random(seed) if seed % 2 else None

    async def main() -> None:
        await act(world)

    run_without_clock(main, order)
    return world
