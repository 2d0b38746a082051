"""A prompt that comes as the agent finishes is answered, by its turn or by one behind it: Codex may
put it into the context and end the turn without asking the model.
"""

from functools import partial
from typing import Any

import anyio
import pytest
from trimpoint.cli.connection.client import Client, RemoteError
from trimpoint.testkit import ModelRequest

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness

pytestmark = pytest.mark.codex

TRIES = 30


def words(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def _says_usage(message: dict[str, Any]) -> bool:
    return message.get("method") == "thread/tokenUsage/updated"


def _mentions(text: str, request: ModelRequest) -> bool:
    return request.mentions(text)


async def _is_taken(client: Client, thread_id: str, turn_id: str, text: str) -> bool:
    """Sends a prompt into the turn, and returns whether Codex took it."""
    try:
        steered = {"threadId": thread_id, "expectedTurnId": turn_id, "input": words(text)}
        await client.request("turn/steer", **steered)
    except RemoteError:
        return False
    return True


async def test_a_prompt_that_comes_as_the_agent_finishes_is_answered_once(harness: Harness) -> None:
    taken = []
    async with harness.daemon(), harness.client() as client:
        started = await client.request("thread/start", cwd=str(harness.worktree))
        thread_id = str(started["thread"]["id"])
        for number in range(TRIES):
            late, behind = f"Late {number}.", len(client.messages)
            with anyio.fail_after(STEP_S):
                began = await client.request(
                    "turn/start", threadId=thread_id, input=words(f"Early {number}.")
                )
                turn_id = str(began["turn"]["id"])
                await client.expect(_says_usage, behind)
                if await _is_taken(client, thread_id, turn_id, late):
                    taken.append(late)
                    await harness.model.wait_for_request(partial(_mentions, late))
                await client.request("thread/resume", threadId=thread_id)
        with anyio.fail_after(STEP_S):
            await client.request("turn/start", threadId=thread_id, input=words("The last."))
            last = await harness.model.wait_for_request(partial(_mentions, "The last."))
    assert [late for late in taken if str(last.input).count(late) != 1] == []
