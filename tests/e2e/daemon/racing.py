"""Two clients in one thread, which act at the same moment. `TRIMPOINT_E2E_LONG=n` races n times as often."""

import copy
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import anyio
import anyio.lowlevel
from trimpoint.cli.connection.client import Message
from trimpoint.testkit import ModelRequest, say

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness, longer, opened_harness
from tests.e2e.conversation import AnswersByPrompt, Conversation
from tests.e2e.expectation import ExpectedThread, Findings, Piece, pieces, right_one

SEEDS = range(longer())
ROUND_DEADLINE_S = SCENARIO_S
Outcome = dict[str, Any]
Step = tuple[str, ...]


class Race:
    """Two clients in one thread, and the thread's expected state between races."""

    def __init__(
        self,
        harness: Harness,
        script: AnswersByPrompt,
        talks: tuple[Conversation, Conversation],
        seed: int,
    ) -> None:
        self.harness = harness
        self.script = script
        self.first, self.second = talks
        self.random = random.Random(seed)
        self.state = ExpectedThread()
        self.said = 0
        self.log: list[str] = []

    def setup(self) -> Step:
        """Returns a prompt and the model's answer to it, as a step."""
        self.said += 1
        prompt, answer = f"prompt-{self.said}", f"answer-{self.said}"
        self.script.when(prompt, say(answer))
        self.script.summary = f"gist-{self.said}"
        return "say", prompt, answer

    async def hesitate(self) -> None:
        """Waits for a random number of turns of the event loop."""
        for _ in range(self.random.choice((0, 0, 1, 2, 5, 20))):
            await anyio.lowlevel.checkpoint()

    async def near(self, method: str | None, status: str | None, after: int) -> None:
        """Waits until the second client receives this notification; without a method, does not
        wait.
        """

        def wanted(message: Message) -> bool:
            found = message.get("params", {}).get("status")
            return message.get("method") == method and (status is None or found["type"] == status)

        if method is not None:
            await self.second.client.expect(wanted, after)
        await self.hesitate()

    async def begun_or_over(self, after: int, over: anyio.Event) -> None:
        """Waits until the second client's command makes progress, or has been answered without
        any.
        """
        async with anyio.create_task_group() as tasks:

            async def begun() -> None:
                await self.second.client.received("commands/progress", after)
                tasks.cancel_scope.cancel()

            tasks.start_soon(begun)
            await over.wait()
            tasks.cancel_scope.cancel()

    async def plain_turn(self) -> ModelRequest:
        """Runs a turn without a race, and returns its model request."""
        _, prompt, answer = self.setup()
        turn = await self.first.prompt(prompt)
        assert turn["status"] == "completed", turn
        self.state.say(prompt, answer)
        return self.first.asked(prompt)

    async def together(self, *actions: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Starts the actions in a random order."""
        shuffled = list(actions)
        self.random.shuffle(shuffled)
        async with anyio.create_task_group() as tasks:
            for action in shuffled:
                tasks.start_soon(action)

    async def find(self, orders: list[list[Step]]) -> None:
        """Checks that the state, and the context of the last prompt, are those after one of these
        orders of steps.
        """
        possible = [self._after(order) for order in orders]
        contexts = {id(state): context for state, context in possible}
        prompt = next(step[1] for step in orders[0] if step[0] == "say")
        found = Findings(pieces(self.first.asked(prompt).input), *await self.first.seen())
        states = [state for state, _ in possible]
        self.state = right_one(
            states, found, lambda state: [*contexts[id(state)], Piece("user", prompt)]
        )

    def _after(self, steps: list[Step]) -> tuple[ExpectedThread, list[Piece]]:
        """Returns the state after the steps, and the context of the prompt among them."""
        state, context = copy.deepcopy(self.state), list[Piece]()
        for step in steps:
            match step:
                case ("say", prompt, answer):
                    context = state.context()
                    state.say(prompt, answer)
                case ("/compact",):
                    state.compact(0, self.script.summary)
                case ("/clear 1",):
                    state.clear(1)
                case _:
                    state.clear(0)
        return state, context


async def run_race(seed: int, body: Callable[[Race], Awaitable[None]]) -> None:
    """Runs `body` with two clients of one daemon in one thread."""
    script = AnswersByPrompt()
    async with (
        opened_harness(script=script) as harness,
        harness.daemon(),
        harness.client("one") as one,
        harness.client("two") as two,
    ):
        first = await Conversation.begin(one, harness.worktree, harness.model, script)
        race = Race(
            harness,
            script,
            (first, Conversation(two, first.thread_id, harness.model, script)),
            seed,
        )
        try:
            with anyio.fail_after(ROUND_DEADLINE_S):
                await race.plain_turn()
                await two.request("thread/resume", threadId=first.thread_id)
            await body(race)
        except BaseException as error:
            error.add_note(f"seed {seed}, after {race.log}")
            raise
