"""What a person's Codex hooks are told of our operations (docs/codex-versions.md)."""

import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest
from trimpoint.cli.connection.client import Client
from trimpoint.testkit import say

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation

pytestmark = [pytest.mark.codex, pytest.mark.own_daemon]
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "PostCompact")


class Hooks:
    """The hooks of a `CODEX_HOME`: each writes down what it is told, a line a call."""

    def __init__(self, harness: Harness, told: Path) -> None:
        self._told, self._folder = told, str(harness.worktree)
        command = f'told=$(cat); printf "%s\\n" "$told" >> {shlex.quote(str(told))}'
        handlers = [{"hooks": [{"type": "command", "command": command}]}]
        hooks = {"hooks": dict.fromkeys(EVENTS, handlers)}
        (harness.codex_home / "hooks.json").write_bytes(msgspec.json.encode(hooks))

    async def trust(self, client: Client) -> None:
        """Trusts them, as a person does in Codex's own terminal UI."""
        found = (await client.request("hooks/list", cwds=[self._folder]))["data"][0]["hooks"]
        trusted = {one["key"]: {"trusted_hash": one["currentHash"]} for one in found}
        edit = {"keyPath": "hooks.state", "value": trusted, "mergeStrategy": "upsert"}
        await client.request("config/batchWrite", edits=[edit], reloadUserConfig=True)

    def take(self) -> list[dict[str, Any]]:
        """Returns what they were told since the last call."""
        lines = self._told.read_bytes().splitlines() if self._told.exists() else []
        self._told.unlink(missing_ok=True)
        return [msgspec.json.decode(line) for line in lines]


def names(told: list[dict[str, Any]]) -> list[str]:
    return [one["hook_event_name"] for one in told]


async def test_hooks_are_told_of_trims_as_of_clears_and_not_of_hidden_turns(
    harness: Harness, tmp_path: Path
) -> None:
    hooks = Hooks(harness, tmp_path / "told")
    async with harness.daemon(), harness.client() as client:
        await hooks.trust(client)
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)

        async def command(text: str) -> None:
            done = await client.request("commands/execute", threadId=talk.thread_id, text=text)
            assert done["status"] == "completed", done

        async def turn(prompt: str) -> list[dict[str, Any]]:
            talk.script.then(say("Yes."))
            await talk.prompt(prompt)
            return hooks.take()

        first = await turn("one?")
        assert names(first) == ["SessionStart", "UserPromptSubmit", "Stop"]
        assert {one["session_id"] for one in first} == {talk.thread_id}
        assert first[0]["source"] == "startup"

        await command("/compact --force")
        compacted = hooks.take()
        assert names(compacted) == ["PreCompact", "PostCompact"]
        assert {one["trigger"] for one in compacted} == {"manual"}
        [fork] = {one["session_id"] for one in compacted}

        started, *prompted = await turn("two?")
        assert (started["hook_event_name"], started["source"]) == ("SessionStart", "clear")
        assert names(prompted) == ["UserPromptSubmit", "Stop"]
        session = started["session_id"]
        assert len({fork, session, talk.thread_id}) == 3
        # What a hook is told names the thread in every command of ours.
        status = await client.request("context/status", threadId=session)
        assert status["threadId"] == talk.thread_id

        talk.script.then(say("A brief."))
        await command("/handoff")
        assert hooks.take() == []
