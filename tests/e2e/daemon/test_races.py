"""Commands and prompts of several clients at the very moment at which a turn starts or ends
(docs/spec/sessions.md, docs/spec/traps.md).

Whatever comes first, no turn is interrupted, no prompt is lost, and a command is either executed
completely or skipped with a reason. `TRIMPOINT_E2E_LONG=n` races n times as often.
"""

import copy
import os
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from trimpoint.cli.connection.client import Message, RemoteError
from trimpoint.testkit import ModelRequest, call, held, say

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness, longer, opened_harness
from tests.e2e.conversation import AnswersByPrompt, Conversation
from tests.e2e.expectation import ExpectedThread, Findings, Piece, pieces, right_one

pytestmark = pytest.mark.codex

SEEDS = range(longer())
RACES = 48
ROUND_DEADLINE_S = SCENARIO_S
# What the other client hears just before it fires; a status is heard at both ends.
Moment = tuple[str | None, str | None]
NEAR_THE_START: tuple[Moment, ...] = (
    ("thread/status/changed", "active"),
    ("turn/started", None),
    ("item/completed", None),
)
NEAR_THE_END: tuple[Moment, ...] = (
    ("thread/tokenUsage/updated", None),
    ("thread/status/changed", "idle"),
    ("turn/completed", None),
)
TOGETHER: Moment = (None, None)
# The other way round: the prompt comes when the command has begun.
COMMAND_FIRST: Moment = ("commands/progress", None)
BUSY_OR_DONE = ("already_in_progress", "nothing_to_trim", "not_enough_messages")

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


async def _race(seed: int, body: Callable[[Race], Awaitable[None]]) -> None:
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


# --- a command and a turn
# -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_command_that_meets_a_turn_is_carried_out_before_it_or_after_it_or_skipped(
    seed: int,
) -> None:
    async def body(race: Race) -> None:
        for _ in range(RACES):
            with anyio.fail_after(ROUND_DEADLINE_S):
                await _command_meets_turn(race)
        ways = {entry.rpartition(": ")[2] for entry in race.log}
        assert {"before", "after", "turn_in_progress"} <= ways  # or nothing has met

    await _race(seed, body)


async def _command_meets_turn(race: Race) -> None:
    """Lets the second client type a command while the first client's prompt is starting or
    ending.
    """
    turn = race.setup()
    text = race.random.choice(("/clear 1", "/clear", "/compact"))
    where = race.random.choice((TOGETHER, COMMAND_FIRST, *NEAR_THE_START, *NEAR_THE_END))
    heard = len(race.second.client.messages)
    race.log.append(f"{text} at {where}")
    turns, outcomes, over = list[Outcome](), list[Outcome](), anyio.Event()

    async def fire() -> None:
        if where != COMMAND_FIRST:
            await race.near(*where, heard)
        outcomes.append(await race.second.type(text))
        over.set()

    async def ask() -> None:
        if where == COMMAND_FIRST:
            await race.begun_or_over(heard, over)
        await race.hesitate()
        turns.append(await race.first.prompt(turn[1]))

    await race.together(fire, ask)
    assert turns[0]["status"] == "completed", turns
    before = len(race.state.trims)
    await race.find(_orders(text, outcomes[0], turn))
    was_first = (
        len(race.state.trims) > before
        and race.state.trims[-1].turn_index < len(race.state.turns) - 1
    )
    race.log[-1] += f": {outcomes[0]['reason'] or ('before' if was_first else 'after')}"


def _orders(text: str, outcome: Outcome, turn: Step) -> list[list[Step]]:
    """Returns the orders of steps that are possible, given the command's outcome."""
    if outcome["status"] == "completed":
        return [[(text,), turn], [turn, (text,)]]
    assert outcome["status"] == "skipped", outcome
    if outcome["reason"] == "turn_in_progress":
        assert outcome["blocker"]["kind"] == "turn"
    else:
        assert outcome["reason"] in ("nothing_to_trim", "not_enough_messages"), outcome
    return [[turn]]


async def test_a_command_that_outlives_a_trim_is_filed_in_its_own_turn_when_it_ends() -> None:
    async def body(race: Race) -> None:
        with anyio.fail_after(ROUND_DEADLINE_S):
            await _command_outlives_a_trim(race)

    await _race(0, body)


async def _command_outlives_a_trim(race: Race) -> None:
    _, prompt, answer = race.setup()
    fifo = race.harness.worktree / "fifo"
    os.mkfifo(fifo)  # reading it waits for a writer
    race.script.when(
        prompt, call("exec_command", {"cmd": f"cat {fifo}", "yield_time_ms": 250}), say(answer)
    )
    assert (await race.first.prompt(prompt))["status"] == "completed"
    assert (await race.second.type("/clear"))["status"] == "completed"
    heard = len(race.second.client.messages)
    await anyio.to_thread.run_sync(fifo.write_text, "done")
    ended = await race.second.client.received("item/completed", heard)
    assert ended["params"]["item"]["type"] == "commandExecution"
    timeline = await race.first.timeline(expand="all")
    kinds = [(entry["kind"], entry.get("trimmed")) for entry in timeline]
    assert kinds == [
        *[("message", True)] * 4,
        ("activity", True),
        ("contextTrimPointDivider", None),
    ]
    assert timeline[4]["turnId"] == timeline[3]["turnId"]


# --- two commands
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
async def test_of_two_commands_at_once_each_happens_wholly_or_not_at_all(seed: int) -> None:
    async def body(race: Race) -> None:
        for _ in range(RACES // 4):
            with anyio.fail_after(ROUND_DEADLINE_S):
                await _commands_meet(race)

    await _race(seed, body)


async def _commands_meet(race: Race) -> None:
    await race.plain_turn()
    await race.plain_turn()
    turn = race.setup()
    done: list[Step] = []
    texts = (race.random.choice(("/clear", "/clear 1", "/compact")), "/clear 1")

    async def fire(talk: Conversation, text: str) -> None:
        await race.hesitate()
        outcome = await talk.type(text)
        race.log.append(f"{text}: {outcome['status']} {outcome['reason']}")
        assert outcome["status"] == "completed" or outcome["reason"] in BUSY_OR_DONE, outcome
        if outcome["status"] == "completed":
            done.append((text,))

    await race.together(lambda: fire(race.first, texts[0]), lambda: fire(race.second, texts[1]))
    assert done
    assert (await race.first.prompt(turn[1]))["status"] == "completed"
    await race.find([[*done, turn], [*reversed(done), turn]])


# --- two prompts
# ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
async def test_prompts_of_two_clients_at_once_are_each_put_to_the_model_once(seed: int) -> None:
    async def body(race: Race) -> None:
        for _ in range(RACES // 4):
            with anyio.fail_after(ROUND_DEADLINE_S):
                await _prompts_meet(race)

    await _race(seed, body)


async def _prompts_meet(race: Race) -> None:
    """Sends two prompts together, or the second while the first is being answered, or at its
    end.
    """
    prompts = [race.setup()[1], race.setup()[1]]
    where, heard = (
        race.random.choice((TOGETHER, *NEAR_THE_START, *NEAR_THE_END)),
        len(race.second.client.messages),
    )
    race.log.append(f"{prompts} at {where}")
    ended: list[Outcome] = []

    async def lead() -> None:
        ended.append(await race.first.prompt(prompts[0]))

    async def follow() -> None:
        await race.near(*where, heard)
        ended.append(await race.second.prompt(prompts[1]))

    await race.together(lead, follow)
    assert [turn["status"] for turn in ended] == ["completed", "completed"]
    shown = pieces((await race.plain_turn()).input)
    asked = [piece.text for piece in shown if piece.kind == "user"]
    assert [asked.count(prompt) for prompt in prompts] == [1, 1]
    _, timeline, _ = await race.first.seen()
    assert [line[1] for line in timeline if line[0] == "user"] == asked


# --- compactions in Codex's own words
# -------------------------------------------------------------------------------


async def test_a_compaction_asked_for_in_codexs_own_words_is_refused_while_the_thread_is_busy() -> (
    None
):
    async def body(race: Race) -> None:
        await _compaction_meets_turn(race)
        await _compaction_meets_compaction(race)

    await _race(0, body)


async def _compact_natively(race: Race) -> str | None:
    """Calls `thread/compact/start`, and returns the reason why it was refused, or None."""
    try:
        await race.second.client.request("thread/compact/start", threadId=race.second.thread_id)
    except RemoteError as error:
        return error.reason
    return None


async def _compaction_meets_turn(race: Race) -> None:
    _, prompt, answer = race.setup()
    release = anyio.Event()
    race.script.when(prompt, held(say(answer), release))

    async def ask() -> None:
        assert (await race.first.prompt(prompt))["status"] == "completed"

    with anyio.fail_after(ROUND_DEADLINE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await race.harness.model.wait_for_request(lambda request: request.mentions(prompt))
            assert await _compact_natively(race) == "turn_in_progress"
            release.set()
    race.state.say(prompt, answer)


async def _compaction_meets_compaction(race: Race) -> None:
    release, turn = anyio.Event(), race.setup()
    race.script.at_compaction(held(say(race.script.summary), release))

    async def compact() -> None:
        assert (await race.first.type("/compact"))["status"] == "completed"

    async def ask() -> None:
        assert (await race.first.prompt(turn[1]))["status"] == "completed"

    with anyio.fail_after(ROUND_DEADLINE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(compact)
            await race.harness.model.wait_for_request(
                lambda request: request.kind == "inline_compaction"
            )
            assert await _compact_natively(race) == "already_in_progress"
            tasks.start_soon(ask)
            assert await _compact_natively(race) == "already_in_progress"
            release.set()
        await race.find([[("/compact",), turn]])
        # Nothing is under way now: it is taken, and the next prompt waits for it.
        turn = race.setup()
        assert await _compact_natively(race) is None
        assert (await race.first.prompt(turn[1]))["status"] == "completed"
        await race.find([[("/compact",), turn]])
