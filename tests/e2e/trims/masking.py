"""What the model is sent where output is masked."""

from typing import Any

from trimpoint.core.context.active_context import is_preamble
from trimpoint.testkit import ModelRequest, say

from tests.e2e.conversation import Conversation


async def sent(talk: Conversation, prompt: str) -> list[dict[str, Any]]:
    """Returns the conversation that the model is sent with a prompt, without that prompt."""
    talk.script.then(say(f"answer to {prompt}"))
    await talk.prompt(prompt)
    request: ModelRequest = talk.model.turn_requests()[-1]
    return [item for item in request.input if not is_preamble(item)][:-1]


def masked(items: list[dict[str, Any]], *words: str) -> list[dict[str, Any]]:
    """Returns the items with a placeholder, of any number of tokens, in the place of these outputs."""
    return [
        {**item, "output": "MASKED"}
        if "output" in item and any(f"-of-{word}" in str(item["output"]) for word in words)
        else item
        for item in items
    ]


def counted(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the items with each placeholder as `MASKED`."""
    return [
        {**item, "output": "MASKED"}
        if str(item.get("output", "")).endswith("tokens left the context]")
        else item
        for item in items
    ]
