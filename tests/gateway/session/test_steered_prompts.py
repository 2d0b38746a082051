"""A prompt that was added to a running turn has a receipt once the agent has read it."""

from typing import Any

import pytest
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.model.decision import Policy
from trimpoint.gateway.session.steered_prompts import SteeredPrompts
from trimpoint.threads.registry import ThreadRegistry
from trimpoint_protocol.commands import QueuePrompt

from tests.threads.stage import THREAD, Disk, Store, begin

INPUT = [{"type": "text", "text": "And then?"}]
STEER: dict[str, Any] = {"threadId": THREAD, "input": INPUT, "clientUserMessageId": "m1"}
AGAIN = QueuePrompt(command_id="m1", thread_id=THREAD, input=INPUT, client_user_message_id="m1")


def read(name: str | None) -> CodexMessage:
    item = {"type": "userMessage", "id": "i", "clientId": name, "content": INPUT}
    return CodexMessage.compose("item/completed", {"threadId": THREAD, "item": item})


ENDED = CodexMessage.compose("turn/completed", {"threadId": THREAD, "turn": {"id": "t"}})


async def waits_after(*messages: CodexMessage, steer: dict[str, Any] = STEER) -> bool:
    """Returns whether the prompt waits in the queue when it is sent again after these messages."""
    async with ThreadRegistry.running(Store(Disk()), Policy()) as registry:
        writer = await begin(registry)
        steered = SteeredPrompts(registry)
        with steered.sending(THREAD, steer):
            pass
        for message in messages:
            steered.note(THREAD, message)
        await writer.execute(AGAIN)
        return bool(writer.state.queue)


async def test_what_was_read_is_taken_once() -> None:
    assert not await waits_after(read(None), read("m1"), read("m1"))


@pytest.mark.parametrize("messages", [(), (read("m2"), read(None)), (ENDED, read("m1"))])
async def test_what_was_not_read_is_taken_when_it_is_sent_again(
    messages: tuple[CodexMessage, ...],
) -> None:
    assert await waits_after(*messages)


@pytest.mark.parametrize("name", [None, "", 7])
async def test_a_prompt_without_an_id_has_no_receipt(name: object) -> None:
    assert await waits_after(read("m1"), steer={**STEER, "clientUserMessageId": name})


async def test_a_prompt_that_codex_refused_has_no_receipt() -> None:
    async with ThreadRegistry.running(Store(Disk()), Policy()) as registry:
        writer = await begin(registry)
        steered = SteeredPrompts(registry)
        with pytest.raises(RuntimeError), steered.sending(THREAD, STEER):
            raise RuntimeError
        steered.note(THREAD, read("m1"))
        await writer.execute(AGAIN)
        assert len(writer.state.queue) == 1


async def test_an_id_that_was_used_for_something_else_stays_what_it_was() -> None:
    async with ThreadRegistry.running(Store(Disk()), Policy()) as registry:
        writer = await begin(registry)
        steered = SteeredPrompts(registry)
        await writer.execute(AGAIN)
        with steered.sending(THREAD, {**STEER, "input": [{"type": "text", "text": "other"}]}):
            pass
        steered.note(THREAD, read("m1"))
        await writer.execute(AGAIN)
        assert len(writer.state.queue) == 1
