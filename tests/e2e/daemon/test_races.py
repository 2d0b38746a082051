"""Commands and prompts of several clients at the very moment at which a turn starts or ends
(docs/spec/sessions.md, docs/spec/traps.md).

Whatever comes first, no turn is interrupted, no prompt is lost, and a command is either executed
completely or skipped with a reason. `TRIMPOINT_E2E_LONG=n` races n times as often.
"""

import os

import anyio
import anyio.to_thread
import pytest
from trimpoint.testkit import call, say

from tests.e2e.conversation import Conversation
from tests.e2e.daemon.racing import ROUND_DEADLINE_S, SEEDS, Outcome, Race, Step, run_race
from tests.e2e.expectation import pieces

pytestmark = pytest.mark.codex

RACES = 48
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

    await run_race(seed, body)


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
    trims = race.state.trims
    # A trim after the turn has pruned it or kept it; before it, the turn is one more.
    was_first = len(trims) > before and (
        trims[-1].turn_index + trims[-1].kept < len(race.state.turns)
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

    await run_race(0, body)


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

    await run_race(seed, body)


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

    await run_race(seed, body)


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
