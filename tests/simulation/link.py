"""The way that a request takes to a simulated Codex and back, on which Codex may die."""

from collections.abc import Callable
from random import Random
from typing import Any

import anyio
import msgspec
from msgspec import Raw
from trimpoint.codex.appserver.errors import ProviderExited, ProviderFailure, ProviderTimeout
from trimpoint.codex.appserver.peer import Outcome

from tests.operations.stage import ScriptedCodex, refusal

DEADLINE_S = 30.0
NEVER_SILENT = ("turn/interrupt",)
# Nothing follows from these but their answer, which may be late.
LATE = ("thread/inject_items",)
LONGEST_ANSWER_S = 5.0
CLIENT_ID = "clientUserMessageId"
# Codex answers these beside what is done about a thread.
LOOKS = frozenset(
    {
        "thread/backgroundTerminals/list", "thread/goal/get", "thread/read",
        "thread/attachment/list",
    }
)  # fmt: skip


class SimulatedLink(ScriptedCodex):
    """Takes up to `slowest_s` for each step. `silent` has requests to come that are not answered in
    time, and whether each is carried out; `unanswered` counts those under way. `on_step` is called
    between any two steps of a request, `on_asked` with the method of each.
    """

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.random = random
        self.slowest_s = 0.1
        self.silent: list[bool] = []
        self.is_daemons_end = False
        self.unanswered = 0
        self.on_step: Callable[[], None] = lambda: None
        self.on_asked: Callable[[str], None] = lambda _: None
        self._handling: dict[str, anyio.Lock] = {}
        # What was put into running turns and not read yet, by thread.
        self.unread: dict[str, list[tuple[str, str | None]]] = {}

    async def request(
        self, method: str, params: Any = None, *, deadline_s: float | None = None
    ) -> Raw:
        given = msgspec.json.decode(msgspec.json.encode(params or {}))
        self.asked.append((method, given))
        self.on_asked(method)
        self.unanswered += 1
        try:
            return await self.handle(method, given, deadline_s)
        finally:
            self.unanswered -= 1

    def begin(
        self, method: str, params: Any, *, deadline_s: float, on_outcome: Callable[[Outcome], None]
    ) -> int:
        """Answers a request that is sent to the Codex of now, and to none that is started later."""
        epoch = self.epoch

        async def answer() -> None:
            outcome: Outcome
            try:
                self.refuse_if_killed(epoch)
                outcome = await self.request(method, params)
            except ProviderFailure as failure:
                outcome = failure
            on_outcome(outcome)

        self.tasks.start_soon(answer)
        return len(self.asked)

    async def handle(self, method: str, given: dict[str, Any], deadline_s: float | None) -> Raw:
        epoch = self.epoch
        async with self.order_of(method, str(given.get("threadId"))):
            await self.pause()
            self.refuse_if_killed(epoch)
            acts = self.silent.pop() if self.silent and method not in NEVER_SILENT else None
            if acts is False:
                await self.never(method, deadline_s, epoch)
            answer = Raw(msgspec.json.encode(self.answer(method, given)))
            self.step()
            if method in LATE:
                await anyio.sleep(self.random.choice((0.0, 0.0, 0.1, LONGEST_ANSWER_S)))
            if acts:
                await self.never(method, deadline_s, epoch)
        # What Codex says and answers goes through one pipe, so no answer is later than what
        # follows from it.
        self.refuse_if_killed(epoch)
        return answer

    def turns_of(self, provider_id: str) -> anyio.Lock:
        """Returns the lock in whose order the requests about a thread are handled: as they came."""
        return self._handling.setdefault(provider_id, anyio.Lock())

    def order_of(self, method: str, provider_id: str) -> anyio.Lock:
        """Returns the lock of a request; those that only look are handled beside all others."""
        return anyio.Lock() if method in LOOKS else self.turns_of(provider_id)

    def put_in(self, params: dict[str, Any], running: str | None) -> dict[str, Any]:
        """Puts a prompt into the running turn, if it is the one that is meant."""
        if running != params["expectedTurnId"]:
            raise refusal("no active turn to steer")
        prompt = (params["input"][0]["text"], params.get(CLIENT_ID))
        self.unread.setdefault(params["threadId"], []).append(prompt)
        return {"turnId": running}

    def step(self) -> None:
        self.on_step()

    async def never(self, method: str, deadline_s: float | None, epoch: int) -> None:
        """Answers nothing until the deadline of the request is over."""
        await anyio.sleep(deadline_s or DEADLINE_S)
        self.refuse_if_killed(epoch)
        raise ProviderTimeout(method, deadline_s or DEADLINE_S)

    async def pause(self) -> None:
        await anyio.sleep(self.random.choice((0.0, 0.001, self.random.random() * self.slowest_s)))

    def refuse_if_killed(self, epoch: int) -> None:
        if epoch != self.epoch or self.is_daemons_end:
            raise ProviderExited("killed", "")

    def forget_requests(self) -> None:
        """Forgets those that wait, because Codex has ended."""
        self._handling.clear()
