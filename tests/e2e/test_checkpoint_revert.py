"""`/revert`: the context, the ledger and the files of any turn, on the real Codex (spec §5)."""

import shutil

import pytest
from trimpoint.testkit import run, say

from tests.e2e.conftest import House
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.expectation import pieces
from tests.e2e.worktree import git, with_repository, worktree_files

pytestmark = pytest.mark.codex


async def edit(talk: Conversation, command: str) -> None:
    """A turn whose agent runs `command`."""
    talk.turns += 1
    talk.script.then(run(command), say(f"answer-{talk.turns}."))
    await talk.prompt(f"prompt-{talk.turns}.")


async def test_a_revert_takes_files_ledger_and_context_back_to_a_turn(house: House) -> None:
    with_repository(house.worktree)
    async with house.conversation() as talk:
        await edit(talk, "echo one > a.txt")
        then = worktree_files(house.worktree)
        await edit(talk, "echo two > a.txt; echo new > b.txt; rm kept.txt")
        await edit(talk, "mkdir d; mv b.txt d/c.txt")
        now = worktree_files(house.worktree)
        outcome = await talk.type("/revert 1")
        reverted = worktree_files(house.worktree)
        snapshot = await talk.snapshot()
        request = await talk.turn()
        undone = await talk.type("/revert --undo")
        again = await talk.turn()
        status = git(house.worktree, "status", "--porcelain")
    assert outcome["status"] == "completed", outcome
    assert reverted == then != now
    assert len(snapshot["turns"]) == 1
    assert seen_turns(request, 4) == [1, 4]
    assert undone["status"] == "completed", undone
    assert worktree_files(house.worktree) == now
    assert seen_turns(again, 5) == [1, 2, 3, 5]
    assert status.splitlines() == [" D kept.txt", "?? a.txt", "?? d/"]


async def test_a_turn_that_was_cleared_away_comes_back_with_exactly_its_context(house: House) -> None:
    async with house.conversation() as talk:
        requests = [await talk.turn(tool=True) for _ in range(3)]
        await talk.type("/clear 1")
        requests.append(await talk.turn(tool=True))
        await talk.type("/compact")
        requests.append(await talk.turn())
        outcome = await talk.type("/revert 4 --context")
        snapshot = await talk.snapshot()
        request = await talk.turn()
        back = await talk.type("/revert 2 --context")
        earlier = await talk.turn()
    assert outcome["status"] == "completed", outcome
    assert [point["trigger"] for point in snapshot["contextTrimPoints"]] == ["clear"]
    assert pieces(request.input)[:-1] == [*pieces(requests[3].input), ("assistant", "answer-4.")]
    assert back["status"] == "completed", back
    assert seen_turns(earlier, 7) == [1, 2, 7]


async def test_a_reverted_context_survives_the_child_and_the_daemon(house: House) -> None:
    async with house.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        await talk.type("/clear")
        await talk.turn()
        assert (await talk.type("/revert 2 --context"))["status"] == "completed"
        thread_id = talk.thread_id
    async with house.daemon(), house.client() as client:
        talk = Conversation(client, thread_id, house.model, house.script)
        talk.turns = 4
        request = await talk.turn()
        assert (await talk.type("/clear 2"))["status"] == "completed"
        kept = await talk.turn()
    assert seen_turns(request, 5) == [1, 2, 5]
    assert seen_turns(kept, 6) == [2, 5, 6]


async def test_without_a_repository_only_the_context_can_be_taken_back_and_that_is_said(house: House) -> None:
    async with house.conversation() as talk:
        await talk.turn()
        await talk.turn()
        refused = await talk.type("/revert 1")
        request = await talk.turn()
        taken = await talk.type("/revert 1 --context")
    assert refused["status"] == "failed"
    assert refused["reason"] == "checkpoint_not_found"
    assert "git repository" in refused["message"]
    assert seen_turns(request, 3) == [1, 2, 3]
    assert taken["status"] == "completed"


async def test_files_that_somebody_else_changed_are_not_overwritten_unless_forced(house: House) -> None:
    with_repository(house.worktree)
    async with house.conversation() as talk:
        await edit(talk, "echo one > a.txt")
        await edit(talk, "echo two > a.txt")
        (house.worktree / "a.txt").write_text("mine\n")
        (house.worktree / "unseen.txt").write_text("mine too\n")
        refused = await talk.type("/revert 1")
        untouched = worktree_files(house.worktree)
        request = await talk.turn()
        shutil.copy(house.worktree / "a.txt", house.worktree / "b.txt")
        forced = await talk.type("/revert 1 --force")
    assert refused["reason"] == "files_changed"
    assert "a.txt" in refused["message"]
    assert untouched["a.txt"] == ("file", b"mine\n")
    assert seen_turns(request, 3) == [1, 2, 3]
    assert forced["status"] == "completed", forced
    assert worktree_files(house.worktree)["a.txt"] == ("file", b"one\n")
