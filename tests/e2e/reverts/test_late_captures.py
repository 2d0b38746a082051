"""The files of a turn are captured late: a person's changes meanwhile are not taken for the
agent's.
"""

import fcntl
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.config.sections import CheckpointsSection
from trimpoint.git.capture.upkeep import collect
from trimpoint.git.plumbing.repository import Repository, discover
from trimpoint.testkit import held, overflow, run, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import DaemonLives, Harness
from tests.e2e.context.overflowing import TURNS, long_talk_with_long_end
from tests.e2e.conversation import Conversation
from tests.e2e.worktree import with_repository, worktree_files

pytestmark = [pytest.mark.codex, pytest.mark.never_restarted]


class Late:
    """A conversation whose second turn has ended, and whose files were not captured since."""

    def __init__(self, lives: DaemonLives, talk: Conversation, worktree: Path) -> None:
        self.lives = lives
        self.talk = talk
        self.worktree = worktree

    async def restart(self) -> None:
        """Ends the daemon as a signal does, and starts the next one."""
        self.talk.client = await self.lives.begin_anew()


@contextmanager
def captures_waiting(worktree: Path) -> Generator[None]:
    """Holds up captures of the worktree until the block ends."""
    with (worktree / ".git" / "trimpoint" / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


async def edit(talk: Conversation, command: str) -> None:
    talk.turns += 1
    talk.script.then(run(command), say(f"answer-{talk.turns}."))
    await talk.prompt(f"prompt-{talk.turns}.")


@asynccontextmanager
async def turn_under_way(
    harness: Harness, command: str
) -> AsyncGenerator[tuple[Late, anyio.Event]]:
    """Yields a conversation whose second turn has run `command`, and ends when the event is set."""
    with_repository(harness.worktree)
    checkpoints = CheckpointsSection(completion_grace_s=0)
    harness.config = msgspec.structs.replace(harness.config, checkpoints=checkpoints)
    async with anyio.create_task_group() as tasks:
        lives = DaemonLives(harness, tasks)
        await lives.begin()
        talk = await Conversation.begin(
            lives.client, harness.worktree, harness.model, harness.script
        )
        await edit(talk, "echo one > a.txt")
        go_on = anyio.Event()
        harness.script.then(run(command), held(say("answer-2."), go_on))
        talk.turns = 2
        prompt = [{"type": "text", "text": "prompt-2."}]
        await talk.client.request("turn/start", threadId=talk.thread_id, input=prompt)
        with anyio.fail_after(STEP_S):
            await talk.client.expect(_has_run_a_command, len(talk.client.messages))
        yield Late(lives, talk, harness.worktree), go_on
        await lives.end()


def _has_run_a_command(message: dict[str, Any]) -> bool:
    item = message.get("params", {}).get("item", {})
    return message.get("method") == "item/completed" and item.get("type") == "commandExecution"


async def has_ended(talk: Conversation, go_on: anyio.Event) -> None:
    """Lets the turn end, and waits for the notification of its end."""
    after = len(talk.client.messages)
    go_on.set()
    with anyio.fail_after(STEP_S):
        await talk.client.expect(_is_end_of_turn, after)


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_change_between_the_word_of_the_end_and_the_capture_is_never_taken_back_unasked(
    harness: Harness, restarted: bool
) -> None:
    async with turn_under_way(harness, "echo two > a.txt; echo new > b.txt") as (late, go_on):
        with captures_waiting(late.worktree):
            await has_ended(late.talk, go_on)
            (late.worktree / "a.txt").write_text("mine\n")
            (late.worktree / "mine.txt").write_text("mine too\n")
            if restarted:
                await late.restart()
        refused = await late.talk.type("/revert 1")
        untouched = worktree_files(late.worktree)
        forced = await late.talk.type("/revert 1 --force")
        undone = await late.talk.type("/revert --undo")
    assert refused["reason"] == "files_changed", refused
    assert "a.txt (it was changed after the turn had ended" in refused["message"]
    assert "mine.txt (it was changed after the turn had ended" in refused["message"]
    assert "b.txt" not in refused["message"]
    assert (untouched["a.txt"], untouched["mine.txt"]) == (
        ("file", b"mine\n"),
        ("file", b"mine too\n"),
    )
    assert forced["status"] == "completed", forced
    assert undone["status"] == "completed", undone
    assert worktree_files(late.worktree) == untouched


async def test_a_revert_takes_back_a_turn_that_was_captured_late(
    harness: Harness,
) -> None:
    command = "echo two > a.txt; rm kept.txt; mkdir d; echo new > d/b.txt"
    async with turn_under_way(harness, command) as (late, go_on):
        with captures_waiting(late.worktree):
            await has_ended(late.talk, go_on)
        outcome = await late.talk.type("/revert 1")
    assert outcome["status"] == "completed", outcome
    assert worktree_files(late.worktree) == {
        "kept.txt": ("file", b"from the start\n"),
        "a.txt": ("file", b"one\n"),
    }


async def test_a_revert_to_a_turn_waits_until_its_files_are_captured(harness: Harness) -> None:
    outcome: dict[str, Any] = {}

    async def revert(talk: Conversation) -> None:
        outcome.update(await talk.type("/revert 2"))

    async with (
        turn_under_way(harness, "echo two > a.txt") as (late, go_on),
        anyio.create_task_group() as tasks,
    ):
        with captures_waiting(late.worktree):
            await has_ended(late.talk, go_on)
            tasks.start_soon(revert, late.talk)
            await anyio.wait_all_tasks_blocked()
    assert outcome["status"] == "completed", outcome
    assert worktree_files(late.worktree)["a.txt"] == ("file", b"two\n")


async def test_a_daemon_that_ends_waits_for_the_capture_of_a_turn(harness: Harness) -> None:
    async with turn_under_way(harness, "echo two > a.txt") as (late, go_on):
        async with anyio.create_task_group() as tasks:
            with captures_waiting(late.worktree):
                await has_ended(late.talk, go_on)
                tasks.start_soon(late.restart)
                await anyio.wait_all_tasks_blocked()
        (late.worktree / "mine.txt").write_text("mine\n")
        outcome = await late.talk.type("/revert 1")
    assert outcome["status"] == "completed", outcome
    assert outcome["files"]["kept"] == ["mine.txt"]
    assert worktree_files(late.worktree)["a.txt"] == ("file", b"one\n")


async def test_a_turn_that_a_daemon_ends_with_itself_is_captured_by_it(harness: Harness) -> None:
    async with turn_under_way(harness, "echo two > a.txt") as (late, _):
        await late.lives.end()
        (late.worktree / "a.txt").write_text("mine\n")
        (late.worktree / "mine.txt").write_text("mine too\n")
        await late.lives.begin()
        late.talk.client = late.lives.client
        refused = await late.talk.type("/revert 1")
    assert refused["reason"] == "files_changed", refused
    assert "a.txt (others changed it after the thread did)" in refused["message"]
    assert "mine.txt" not in refused["message"]
    assert worktree_files(late.worktree)["a.txt"] == ("file", b"mine\n")


async def test_the_files_of_a_failed_try_are_not_captured_once_the_turn_goes_on(
    harness: Harness,
) -> None:
    with_repository(harness.worktree)
    async with harness.conversation() as talk:
        client, thread_id = talk.client, talk.thread_id
        await long_talk_with_long_end(talk)
        await client.request("orchestration/subscribeThread", threadId=thread_id)
        does_not_fit, go_on = anyio.Event(), anyio.Event()
        first_try = run("echo one > a.txt"), held(overflow(), does_not_fit)
        talk.script.then(*first_try, run("echo two > a.txt"), held(say("It fits."), go_on))
        prompt = [{"type": "text", "text": "too much"}]
        after = len(client.messages)
        with anyio.fail_after(STEP_S):
            await client.request("turn/start", threadId=thread_id, input=prompt)
            await client.expect(_has_run_a_command, after)
            after = len(client.messages)
            with captures_waiting(harness.worktree):
                does_not_fit.set()
                await client.expect(_has_run_a_command, after)
            # What must not come is not waited for any longer than that.
            with anyio.move_on_after(0.5):
                await client.expect(_has_captured, after)
            await has_ended(talk, go_on)
        outcome = await talk.type(f"/revert {TURNS}")
    assert outcome["status"] == "completed", outcome
    assert "a.txt" not in worktree_files(harness.worktree)


async def test_the_files_of_a_failed_try_stay_when_unneeded_checkpoints_are_pruned(
    harness: Harness,
) -> None:
    with_repository(harness.worktree)
    async with harness.conversation() as talk:
        client, thread_id = talk.client, talk.thread_id
        await long_talk_with_long_end(talk)
        await client.request("orchestration/subscribeThread", threadId=thread_id)
        does_not_fit, after = anyio.Event(), len(client.messages)
        # The try is captured when it fails, before the turn goes on.
        talk.script.then(run("echo one > a.txt"), overflow())
        talk.script.at_compaction(held(say("The gist of it all."), does_not_fit))
        talk.script.then(run("echo two > a.txt"), say("It fits."))
        prompt = [{"type": "text", "text": "too much"}]
        with anyio.fail_after(STEP_S):
            await client.request("turn/start", threadId=thread_id, input=prompt)
            await client.expect(_has_captured, after)
            does_not_fit.set()
            await client.expect(_is_end_of_turn, after)
        await edit(talk, "echo three > a.txt")
        repository = await discover(harness.worktree)
        assert isinstance(repository, Repository)
        await collect(repository)
        outcome = await talk.type(f"/revert {TURNS}")
    assert outcome["status"] == "completed", outcome
    assert "a.txt" not in worktree_files(harness.worktree)


async def test_a_try_that_was_not_captured_before_the_turn_went_on_is_captured_with_it(
    harness: Harness,
) -> None:
    with_repository(harness.worktree)
    async with harness.conversation() as talk:
        await long_talk_with_long_end(talk)
        go_on, after = anyio.Event(), len(talk.client.messages)
        talk.script.then(run("echo one > a.txt"), held(overflow(), go_on))
        talk.script.then(run("echo two > a.txt"), say("It fits."))
        prompt = [{"type": "text", "text": "too much"}]
        with anyio.fail_after(STEP_S):
            await talk.client.request("turn/start", threadId=talk.thread_id, input=prompt)
            await talk.client.expect(_has_run_a_command, after)
            with captures_waiting(harness.worktree):
                go_on.set()
                ended = await talk.client.expect(_is_end_of_turn, after)
        await edit(talk, "echo three > a.txt")
        checkpoints = (await talk.snapshot())["checkpoints"]
        outcome = await talk.type(f"/revert {TURNS}")
    turn_id = ended["params"]["turn"]["id"]
    assert [one["moment"] for one in checkpoints if one["turnId"] == turn_id].count("after") == 1
    assert outcome["status"] == "completed", outcome
    assert "a.txt" not in worktree_files(harness.worktree)


def _has_captured(message: dict[str, Any]) -> bool:
    return message.get("params", {}).get("type") == "thread.checkpoint-captured"


def _is_end_of_turn(message: dict[str, Any]) -> bool:
    return message.get("method") == "turn/completed"
