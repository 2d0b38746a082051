"""A conversation through the daemon, and what the model was shown of it."""

from pathlib import Path
from typing import Any

import anyio
from trimpoint.cli.client import Client
from trimpoint.testkit import ModelRequest, Script, ScriptedModel, run, say

TURN_DEADLINE_S = 20.0


class Conversation:
    """`prompts` and `answers` are what was said, by number of the turn, from 1."""

    def __init__(self, client: Client, thread_id: str, model: ScriptedModel, script: Script) -> None:
        self.client = client
        self.thread_id = thread_id
        self.model = model
        self.script = script
        self.turns = 0

    @classmethod
    async def begin(cls, client: Client, cwd: Path, model: ScriptedModel, script: Script) -> "Conversation":
        answer = await client.request("thread/start", cwd=str(cwd), approvalPolicy="never", sandbox="danger-full-access")
        return cls(client, answer["thread"]["id"], model, script)

    async def turn(self, *, tool: bool = False) -> ModelRequest:
        """One turn, numbered; with a tool call if wanted. Returns its last model request."""
        self.turns += 1
        replies = [run(f"echo tool-output-{self.turns}")] if tool else []
        self.script.then(*replies, say(f"answer-{self.turns}."))
        await self.prompt(f"prompt-{self.turns}.")
        return self.model.turn_requests()[-1]

    async def prompt(self, text: str) -> dict[str, Any]:
        """Send a prompt and wait for the turn's end."""
        with anyio.fail_after(TURN_DEADLINE_S):
            after = len(self.client.messages)
            started = await self.client.request("turn/start", threadId=self.thread_id, input=[{"type": "text", "text": text}])
            done = await self.client.expect(
                lambda message: message.get("method") == "turn/completed"
                and message["params"]["turn"]["id"] == started["turn"]["id"],
                after,
            )
        return dict(done["params"]["turn"])

    async def type(self, text: str) -> dict[str, Any]:
        """Type a slash command."""
        with anyio.fail_after(TURN_DEADLINE_S):
            return dict(await self.client.request("commands/execute", threadId=self.thread_id, text=text))

    async def snapshot(self) -> dict[str, Any]:
        """The thread's read model."""
        answer = await self.client.request("orchestration/snapshot", threadId=self.thread_id)
        return dict(answer["thread"])

    async def timeline(self, **params: Any) -> list[dict[str, Any]]:
        """The timeline, newest page."""
        answer = await self.client.request("timeline/read", threadId=self.thread_id, **params)
        return list(answer["entries"])


def seen_turns(request: ModelRequest, turns: int) -> list[int]:
    """Which numbered turns the model was shown anything of."""
    return [
        number
        for number in range(1, turns + 1)
        if any(request.mentions(f"{word}-{number}{end}") for word, end in (("prompt", "."), ("answer", "."), ("tool-output", "")))
        and (request.mentions(f"prompt-{number}.") or request.mentions(f"answer-{number}."))
    ]
