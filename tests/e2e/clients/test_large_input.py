"""What is large and allowed goes through whole; what is larger than it can be is refused
(docs/spec/clients.md).
"""

import base64

import pytest

from tests.e2e.clients.strangers import speaking, started
from tests.e2e.conftest import Harness
from tests.e2e.wire import JsonRpcClient, Message

pytestmark = pytest.mark.codex
# Codex refuses a longer input with `input_too_large` (measured: 0.163).
LONGEST_INPUT_CHARS = 1_048_576


async def cleared(wire: JsonRpcClient, harness: Harness) -> str:
    """Returns a thread whose ids are exchanged, because it was cleared once."""
    thread_id = await started(wire, harness)
    await prompt(wire, thread_id, "hello")
    await wire.result("commands/execute", threadId=thread_id, text="/clear")
    return thread_id


async def prompt(wire: JsonRpcClient, thread_id: str, text: str) -> None:
    after = len(wire.received)
    parts = [{"type": "text", "text": text}]
    await wire.result("turn/start", threadId=thread_id, input=parts)
    await wire.received_after("turn/completed", after)


async def test_the_longest_prompt_that_codex_takes_reaches_the_model_whole(
    harness: Harness,
) -> None:
    longest = '"\\😀\n' * (LONGEST_INPUT_CHARS // 4)
    async with speaking(harness) as wire:
        thread_id = await cleared(wire, harness)
        await prompt(wire, thread_id, longest)
        assert longest in harness.model.requests[-1].texts()
        answer = await wire.ask(
            "turn/start", threadId=thread_id, input=[{"type": "text", "text": longest + "x"}]
        )
        assert answer["error"]["data"]["input_error_code"] == "input_too_large"


async def test_megabytes_of_items_and_files_go_through_whole(harness: Harness) -> None:
    long = "many words " * 300_000
    part = {"type": "input_text", "text": long}
    file, content = harness.worktree / "large.bin", bytes(range(256)) * 32_768
    async with speaking(harness) as wire:
        thread_id = await cleared(wire, harness)
        item = {"type": "message", "role": "user", "content": [part]}
        await wire.result("thread/inject_items", threadId=thread_id, items=[item])
        await prompt(wire, thread_id, "hello")
        assert long in harness.model.requests[-1].texts()
        encoded = base64.b64encode(content).decode()
        await wire.result("fs/writeFile", path=str(file), dataBase64=encoded)
        assert file.read_bytes() == content


async def test_a_large_prompt_that_is_a_command_or_no_text_is_refused(harness: Harness) -> None:
    megabyte = "x" * 2**20
    async with speaking(harness) as wire:
        thread_id = await cleared(wire, harness)
        before = len(harness.model.requests)
        for parts, words in (
            ([f"/compact {megabyte}"], "at most"),
            (["/compact", megabyte], "at most"),
            (["\n" * 2**20 + "/clear"], "blank characters"),
        ):
            texts = [{"type": "text", "text": text} for text in parts]
            for method in ("turn/start", "thread/queue/add"):
                error = (await wire.ask(method, threadId=thread_id, input=texts))["error"]
                assert words in error["message"], (method, parts[0][:20])
        odd = [{"type": megabyte, "text": "hello"}]
        answer = await wire.ask("turn/start", threadId=thread_id, input=odd)
        assert "beside texts" in answer["error"]["message"]
        assert len(harness.model.requests) == before


async def test_more_items_than_one_request_takes_are_refused_and_none_is_injected(
    harness: Harness,
) -> None:
    def items(count: int) -> list[Message]:
        part = {"type": "input_text", "text": "injected"}
        return [{"type": "message", "role": "user", "content": [part]}] * count

    async with speaking(harness) as wire:
        thread_id = await cleared(wire, harness)
        parts = [{"type": "input_text", "text": "injected"}] * 11_000
        many_values = [{"type": "message", "role": "user", "content": parts}]
        megabytes = [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "x" * 9_000_000}],
            }
        ]
        for refused in (items(2001), many_values, megabytes):
            answer = await wire.ask("thread/inject_items", threadId=thread_id, items=refused)
            assert answer["error"]["data"]["reason"] == "message_too_large"
        await wire.result("thread/inject_items", threadId=thread_id, items=items(2000))
        await prompt(wire, thread_id, "hello")
        assert harness.model.requests[-1].texts().count("injected") == 2000


async def test_what_no_parameter_can_be_is_refused_and_changes_nothing(harness: Harness) -> None:
    async with speaking(harness) as wire:
        thread_id = await cleared(wire, harness)
        refused: list[Message] = [
            {"effort": "x" * 200_000},
            {"unknown": ["x" * 1000] * 1500},
            {"outputSchema": [[]] * 60_000},
        ]
        for params in refused:
            error = (await wire.ask("thread/settings/update", threadId=thread_id, **params))[
                "error"
            ]
            assert error["data"]["reason"] == "message_too_large"
            assert error["data"]["hint"]
