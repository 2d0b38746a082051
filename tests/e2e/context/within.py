"""Turns of long outputs that are paused, and what a scripted model says in them."""

import dataclasses
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
from trimpoint.config.sections import ContextSection, DiscardSection
from trimpoint.core.context.active_context import is_preamble
from trimpoint.core.decide.agent_tools import MASKED_TEXT
from trimpoint.core.decide.masking import NEWEST_OUTPUTS
from trimpoint.testkit import ModelRequest, Reply, Script, hang, held, run, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.conversation import Conversation
from tests.e2e.gauge import spending

LONG = "for i in $(seq 3000); do echo line-$i-of-{}; done"
WORDS = tuple(f"w{number}w" for number in range(1, NEWEST_OUTPUTS + 5))
OLD = WORDS[:-NEWEST_OUTPUTS]
FULL = 235_000  # critical
SMALL = 20_000


class Work(Script):
    """Runs a command for each word at the prompt "work.", the last one in a context of `full`
    tokens. What is asked then is not answered, unless it is what goes on behind a mask.
    """

    def __init__(self, words: tuple[str, ...] = WORDS) -> None:
        super().__init__()
        self.words = words
        self.first: Reply | None = None
        self.may_end: anyio.Event | None = None
        self.goes_on_full = False
        self.answers_at_once = False
        self.is_stopped = False

    def __call__(self, request: ModelRequest) -> Reply | Awaitable[Reply]:
        shown = [item for item in request.input if not is_preamble(item)]
        ran = sum("output" in item for item in shown)
        last = text_of(shown[-1])
        if request.kind != "turn" or last not in ("", "work.", MASKED_TEXT):
            return say(f"answer to {last}", usage=spending(SMALL))
        if last == MASKED_TEXT and self.is_stopped:
            return hang("Going on")
        if last == MASKED_TEXT and not self.goes_on_full:
            return say("all done.", usage=spending(SMALL))
        if ran == 0 and self.first is not None:
            return self.first
        ran -= self.first is not None
        if ran < len(self.words):
            is_last = ran >= len(WORDS) - 1
            used = FULL if is_last else SMALL
            reply = dataclasses.replace(run(LONG.format(self.words[ran])), usage=spending(used))
            return held(reply, self.may_end) if is_last and self.may_end is not None else reply
        return say("done.", usage=spending(SMALL)) if self.answers_at_once else hang("Now I look")


@asynccontextmanager
async def house(work: Work) -> AsyncGenerator[Harness]:
    """Yields a harness in which turns may be paused."""
    async with opened_harness(script=work) as harness:
        harness.config = msgspec.structs.replace(
            harness.config,
            context=ContextSection(auto="mask", mid_turn=True, min_freed=0.01),
            discard=DiscardSection(floor_tokens=300, target_tokens=1_500),
        )
        yield harness


@asynccontextmanager
async def at(work: Work) -> AsyncGenerator[Conversation]:
    """Yields a conversation in which turns may be paused."""
    async with house(work) as harness, harness.conversation() as talk:
        yield talk


def text_of(item: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in item.get("content") or ())


def shown(request: ModelRequest) -> list[dict[str, Any]]:
    return [item for item in request.input if not is_preamble(item)]


async def begin(talk: Conversation, text: str = "work.") -> str:
    started = await talk.client.request(
        "turn/start", threadId=talk.thread_id, input=[{"type": "text", "text": text}]
    )
    return str(started["turn"]["id"])


async def ended(talk: Conversation, turn_id: str) -> dict[str, Any]:
    with anyio.fail_after(STEP_S):
        done = await talk.client.expect(
            lambda m: m.get("method") == "turn/completed" and m["params"]["turn"]["id"] == turn_id
        )
    return dict(done["params"]["turn"])


async def goes_on(talk: Conversation, turn_id: str) -> str:
    """Returns the turn that goes on with the work, once it has begun."""
    with anyio.fail_after(STEP_S):
        begun = await talk.client.expect(
            lambda m: m.get("method") == "turn/started" and m["params"]["turn"]["id"] != turn_id
        )
    return str(begun["params"]["turn"]["id"])


def prompts(talk: Conversation) -> list[str]:
    return [text for one in talk.model.turn_requests() if (text := text_of(one.input[-1]))]


def warnings(talk: Conversation) -> list[str]:
    return [m["params"]["message"] for m in talk.notifications if m["method"] == "warning"]
