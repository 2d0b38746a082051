"""A turn that cannot reach its provider says so in every face, instead of nothing."""

import json

import pytest

from tests.chat.terminal import chat
from tests.cli.stage import CliHarness

pytestmark = pytest.mark.codex

SAID = "Reconnecting"
INITIALIZE = {"protocolVersion": 1, "clientCapabilities": {"session": {"notices": {}}}}


@pytest.fixture
def unreachable(stage: CliHarness) -> CliHarness:
    """Returns a stage whose Codex repeats calls of a model at a port where nobody listens."""
    port = stage.model.base_url.rpartition(":")[2].partition("/")[0]
    changed = [
        one.replace(f":{port}/", ":9/").replace("stream_max_retries=0", "stream_max_retries=9")
        for one in stage.overrides
    ]
    assert changed != stage.overrides
    stage.configure(f"[codex]\noverrides = {json.dumps(changed)}\n")
    return stage


async def test_at_the_command_line(unreachable: CliHarness) -> None:
    async with unreachable.running("ask", "hello") as command:
        await command.said(SAID, "err")


async def test_in_the_chat(unreachable: CliHarness) -> None:
    async with chat(unreachable) as terminal:
        await terminal.types("hello")
        await terminal.shows(SAID)


async def test_in_an_editor(unreachable: CliHarness) -> None:
    given = {"cwd": str(unreachable.worktree), "mcpServers": []}
    async with unreachable.running("acp") as command:
        assert command.process.stdin is not None

        async def ask(number: int, method: str, **params: object) -> None:
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            assert command.process.stdin is not None
            await command.process.stdin.send(json.dumps(message).encode() + b"\n")

        await ask(1, "initialize", **INITIALIZE)
        await ask(2, "session/new", **given)
        await command.said('"id":2,"result"')
        answers = [json.loads(line) for line in command.out.splitlines()]
        session_id = next(one for one in answers if one.get("id") == 2)["result"]["sessionId"]
        prompt = [{"type": "text", "text": "hello"}]
        await ask(3, "session/prompt", sessionId=session_id, prompt=prompt)
        await command.said(SAID)
