"""SIGKILL of the daemon at random instants of a revert (docs/spec/checkpoints.md): afterwards
files, ledger and context are completely those from before or after the revert.
`TRIMPOINT_E2E_LONG=n` kills n times as often.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from trimpoint.cli.connection.client import ConnectionLost, RemoteError
from trimpoint.testkit import run, say

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness, longer
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.daemon_process import daemon_process, kill
from tests.e2e.worktree import with_repository, worktree_files

pytestmark = pytest.mark.codex

KILLS = 8 * longer()
# A little longer than a revert of so many files takes on a machine that is not busy.
LONGEST_S = 0.6
FILES = 400
ROUND_DEADLINE_S = SCENARIO_S


async def edit_everything(talk: Conversation) -> None:
    """Runs a turn that changes, adds and removes many files."""
    talk.turns += 1
    n = talk.turns
    script = f"mkdir -p d; for i in $(seq {FILES}); do echo {n}-$i > d/f$i; done; find . -name 'only-*' -delete; echo {n} > only-{n}; echo {n} > kept.txt"
    talk.script.then(run(script), say(f"answer-{n}."))
    turn = await talk.prompt(f"prompt-{n}.")
    while not any(
        one["turnId"] == turn["id"] and one["moment"] == "after"
        for one in (await talk.snapshot())["checkpoints"]
    ):
        pass  # a daemon that dies before it has captured what the turn did can only refuse


async def until_idle(talk: Conversation) -> dict[str, Any]:
    """Waits for the end of the thread's operation, in whichever daemon, and returns the read
    model.
    """
    while True:
        snapshot = await talk.snapshot()
        if snapshot["operation"] is None or snapshot["operation"]["phase"] in ("ready", "failed"):
            return snapshot


@contextmanager
def told_by_the_daemon(harness: Harness) -> Iterator[None]:
    """Adds the daemon's log to a failure."""
    try:
        yield
    except BaseException as error:
        error.add_note((harness.home / "daemon.log").read_text()[-6000:])
        raise


async def revert_unheard(talk: Conversation, text: str) -> None:
    try:
        outcome = await talk.type(text)
        assert outcome["status"] == "completed", (text, outcome)
    except (RemoteError, ConnectionLost):
        return  # the daemon was killed


async def until_files_are_written(talk: Conversation) -> None:
    """Waits until the daemon restores files, or the operation has ended."""
    seen = 0
    while True:
        step = await talk.client.received("commands/progress", after=seen)
        if step["params"]["phase"] in ("restoring", "ready", "failed"):
            return
        seen = talk.client.messages.index(step, seen) + 1


async def test_a_daemon_killed_in_a_revert_leaves_one_side_or_the_other(harness: Harness) -> None:
    chance = random.Random(7)
    with_repository(harness.worktree)
    copies: list[dict[str, tuple[str, bytes]]] = []
    async with daemon_process(harness), harness.client() as client:
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
        thread_id = talk.thread_id
        for _ in range(3):
            await edit_everything(talk)
            copies.append(worktree_files(harness.worktree))
    assert len(copies[0]) > FILES
    assert copies[0] != copies[1] != copies[2]
    present, turns, sides = 3, 3, set[bool]()
    for number in range(KILLS):
        target = 1 if present == 3 else 3
        command = f"/revert {target}" if target < present else "/revert --undo"
        with told_by_the_daemon(harness), anyio.fail_after(ROUND_DEADLINE_S):
            async with (
                daemon_process(harness) as daemon,
                harness.client() as client,
                anyio.create_task_group() as tasks,
            ):
                talk = Conversation(client, thread_id, harness.model, harness.script)
                await until_idle(
                    talk
                )  # the one before may have been killed between the record and the disk
                tasks.start_soon(revert_unheard, talk, command)
                if number % 2:
                    await until_files_are_written(talk)
                await anyio.sleep(chance.random() * (LONGEST_S / 4 if number % 2 else LONGEST_S))
                await kill(daemon)
                tasks.cancel_scope.cancel()
            async with daemon_process(harness), harness.client() as client:
                talk = Conversation(client, thread_id, harness.model, harness.script)
                snapshot = await until_idle(talk)
                sides.add(len(snapshot["turns"]) == target)
                assert len(snapshot["turns"]) in (present, target)
                present = len(snapshot["turns"])
                assert worktree_files(harness.worktree) == copies[present - 1], (
                    command,
                    snapshot["operation"],
                )
    async with daemon_process(harness), harness.client() as client:
        talk = Conversation(client, thread_id, harness.model, harness.script)
        talk.turns = turns
        request = await talk.turn()
    assert seen_turns(request, 4) == [*range(1, present + 1), 4]
    assert True in sides, "no revert was ever finished"
