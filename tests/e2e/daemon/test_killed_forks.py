"""A daemon that is killed when Codex has made a fork, before it knows the fork's id: the next one
deletes that fork, and no other.
"""

import sys
from contextlib import suppress
from pathlib import Path

import anyio
import msgspec
import pytest
from trimpoint.cli.connection.client import Client
from trimpoint.core.model.operations import is_open
from trimpoint.testkit import say

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import CODEX_BIN, Harness, opened_harness
from tests.e2e.conversation import AnswersByPrompt, Conversation
from tests.e2e.daemon import fatal_forks
from tests.e2e.daemon_process import daemon_process

pytestmark = pytest.mark.codex

COMMANDS = (
    {"type": "thread.context.compact", "force": True},
    {"type": "thread.checkpoint.revert", "turnCount": 1, "scope": "context"},
)


def forks_in(harness: Harness) -> dict[str, str]:
    """Returns the `threadSource` of each fork in Codex's files, by its id."""
    metas = [
        msgspec.json.decode(path.read_bytes().splitlines()[0])["payload"]
        for path in harness.codex_home.glob("*sessions/**/*.jsonl")
    ]
    return {
        meta["id"]: str(meta.get("thread_source")) for meta in metas if meta.get("forked_from_id")
    }


def fatal_codex(harness: Harness) -> Path:
    """Returns a Codex that kills the daemon when it has made a fork."""
    script = harness.home / "codex"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {fatal_forks.__file__} {CODEX_BIN} "$@"\n')
    script.chmod(0o700)
    return script


async def ended(client: Client, thread_id: str) -> str:
    """Waits until no operation is open on the thread, and returns how the last one has ended."""
    with anyio.fail_after(SCENARIO_S):
        while True:
            snapshot = await client.request("orchestration/subscribeThread", threadId=thread_id)
            operation = snapshot["thread"]["operation"]
            if not is_open(operation["phase"]):
                return str(operation["phase"])
            await anyio.sleep(0.05)


@pytest.mark.parametrize("command", COMMANDS, ids=["compact", "revert"])
async def test_a_fork_whose_id_no_journal_has_is_deleted(command: dict[str, object]) -> None:
    script = AnswersByPrompt()
    async with opened_harness(script=script) as harness:
        async with daemon_process(harness), harness.client() as client:
            talk = await Conversation.begin(client, harness.worktree, harness.model, script)
            for number in (1, 2):
                script.when(f"prompt-{number}.", say(f"answer-{number}."))
                await talk.prompt(f"prompt-{number}.")
            # Another program's, of the same thread.
            forked = await client.request("thread/fork", threadId=talk.thread_id)
        theirs = str(forked["thread"]["id"])
        assert set(forks_in(harness)) == {theirs}

        options = ("--codex", str(fatal_codex(harness)))
        async with daemon_process(harness, *options) as daemon, harness.client() as client:
            full = {**command, "commandId": "struck", "threadId": talk.thread_id}
            with suppress(Exception):
                await client.request("orchestration/dispatch", command=full)
                with anyio.fail_after(SCENARIO_S):
                    await daemon.wait()
        left = set(forks_in(harness)) - {theirs}
        assert len(left) == 1

        async with daemon_process(harness), harness.client() as client:
            await ended(client, talk.thread_id)
            assert not left & set(forks_in(harness))
            assert theirs in forks_in(harness)
