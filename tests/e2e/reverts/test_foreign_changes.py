"""`/revert` does not take back changes that others made to files between turns, with the real
Codex.
"""

import random

import anyio
import pytest
from trimpoint.testkit import held, run, say

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.daemon_process import daemon_process, kill
from tests.e2e.worktree import git, with_repository, worktree_files
from tests.effort import longer

pytestmark = pytest.mark.codex

SEEDS = range(longer())
STEPS = 9
WALK_DEADLINE_S = SCENARIO_S
NAMES = ("a", "b", "d/e")


async def edit(talk: Conversation, command: str) -> None:
    """Runs a turn in which the agent runs `command`, and waits until its files are captured."""
    talk.turns += 1
    talk.script.then(run(command), say(f"answer-{talk.turns}."))
    ended = await talk.prompt(f"prompt-{talk.turns}.")
    await captured(talk, ended["id"])


async def commands_run(talk: Conversation) -> int:
    """Returns how many commands are in the timeline."""
    return sum(entry.get("activity") == "commandExecution" for entry in await talk.timeline())


async def captured(talk: Conversation, turn_id: str) -> None:
    """Waits until the files after the turn are captured, because changes before that count as the
    turn's.
    """
    while True:
        checkpoints = (await talk.snapshot())["checkpoints"]
        if any(one["turnId"] == turn_id and one["moment"] == "after" for one in checkpoints):
            return


async def test_a_file_that_a_person_wrote_between_two_turns_stays(harness: Harness) -> None:
    with_repository(harness.worktree)
    async with harness.conversation() as talk:
        await edit(talk, "echo one > a.txt")
        (harness.worktree / "mine.py").write_text("mine\n")
        await edit(talk, "echo two > a.txt")
        last = await talk.type("/revert")
        after_last = worktree_files(harness.worktree)
        all_of_it = await talk.type("/revert 0")
        after_all = worktree_files(harness.worktree)
        undone = await talk.type("/revert --undo")
    assert last["status"] == all_of_it["status"] == undone["status"] == "completed", (
        last,
        all_of_it,
        undone,
    )
    assert after_last["a.txt"] == ("file", b"one\n")
    assert after_last["mine.py"] == after_all["mine.py"] == ("file", b"mine\n")
    assert "a.txt" not in after_all
    assert worktree_files(harness.worktree) == after_last


async def test_a_file_that_a_person_changed_after_the_thread_is_named_and_refused(
    harness: Harness,
) -> None:
    with_repository(harness.worktree)
    async with harness.conversation() as talk:
        await edit(talk, "echo one > a.txt")
        (harness.worktree / "a.txt").write_text("mine\n")
        await edit(talk, "echo two > b.txt")
        refused = await talk.type("/revert 0")
        untouched = worktree_files(harness.worktree)
        last = await talk.type("/revert 1")
        forced = await talk.type("/revert 0 --force")
    assert refused["reason"] == "files_changed"
    assert "a.txt" in refused["message"]
    assert "b.txt" not in refused["message"]
    assert "--force" in refused["message"]
    assert untouched["a.txt"] == ("file", b"mine\n")
    assert last["status"] == forced["status"] == "completed", (last, forced)
    assert set(worktree_files(harness.worktree)) == {"kept.txt"}


async def test_an_idle_second_threads_files_stay(harness: Harness) -> None:
    with_repository(harness.worktree)
    async with harness.conversation() as talk:
        await edit(talk, "echo one > a.txt")
        other = await Conversation.begin(
            talk.client, harness.worktree, harness.model, harness.script
        )
        await edit(other, "echo theirs > b.txt")
        await edit(talk, "echo two > a.txt")
        outcome = await talk.type("/revert 0")
        after = worktree_files(harness.worktree)
        theirs = await other.type("/revert 0")
    assert outcome["status"] == theirs["status"] == "completed", (outcome, theirs)
    assert after == {"kept.txt": ("file", b"from the start\n"), "b.txt": ("file", b"theirs\n")}
    assert set(worktree_files(harness.worktree)) == {"kept.txt"}


async def test_ignored_files_stay_when_a_turn_changes_what_is_ignored(harness: Harness) -> None:
    with_repository(harness.worktree)
    (harness.worktree / ".gitignore").write_text("*.log\n")
    (harness.worktree / "mine.log").write_text("mine\n")
    async with harness.conversation() as talk:
        await edit(talk, "echo one > a.txt; echo mine > mine.tmp")
        before = worktree_files(harness.worktree)
        await edit(talk, "echo '*.tmp' > .gitignore")
        after = worktree_files(harness.worktree)
        reverted = await talk.type("/revert")
        there = worktree_files(harness.worktree)
        undone = await talk.type("/revert --undo")
    assert reverted["status"] == undone["status"] == "completed", (reverted, undone)
    assert reverted["files"]["written"] == [".gitignore"]
    assert reverted["files"]["removed"] == []
    assert "or what git ignores has changed: mine.log, mine.tmp." in reverted["message"]
    assert there == before
    assert worktree_files(harness.worktree) == after


async def test_a_commit_and_another_branch_stay(harness: Harness) -> None:
    with_repository(harness.worktree)
    async with harness.conversation() as talk:
        await edit(talk, "echo one > a.txt")
        (harness.worktree / "kept.txt").write_text("committed by hand\n")
        git(harness.worktree, "switch", "-qc", "feature")
        git(harness.worktree, "add", "kept.txt")
        git(harness.worktree, "commit", "-qm", "by hand")
        await edit(talk, "echo two > a.txt; echo new > b.txt")
        outcome = await talk.type("/revert 0")
        status = git(harness.worktree, "status", "--porcelain")
        branch = git(harness.worktree, "branch", "--show-current")
    assert outcome["status"] == "completed", outcome
    assert worktree_files(harness.worktree) == {"kept.txt": ("file", b"committed by hand\n")}
    assert (status, branch) == ("", "feature\n")


async def test_files_that_a_context_revert_left_alone_stay_when_a_later_turn_goes(
    harness: Harness,
) -> None:
    with_repository(harness.worktree)
    async with harness.conversation() as talk:
        await edit(talk, "echo one > a.txt")
        await edit(talk, "echo two > a.txt")
        await talk.type("/revert 1 --context")
        await edit(talk, "echo new > b.txt")
        outcome = await talk.type("/revert")
    assert outcome["status"] == "completed", outcome
    assert {
        name: content
        for name, (_, content) in worktree_files(harness.worktree).items()
        if name != "kept.txt"
    } == {"a.txt": b"two\n"}


async def test_a_dry_run_says_what_a_revert_does_and_does_nothing(harness: Harness) -> None:
    with_repository(harness.worktree)
    async with harness.conversation() as talk:
        await edit(talk, "echo one > a.txt")
        (harness.worktree / "mine.py").write_text("mine\n")
        await edit(talk, "echo two > b.txt; rm kept.txt")
        files, before = worktree_files(harness.worktree), await talk.snapshot()
        dry = await talk.type("/revert 0 --dry-run")
        asked = await talk.client.request(
            "checkpoint/preview", threadId=talk.thread_id, turnCount=0
        )
        untouched, after = worktree_files(harness.worktree), await talk.snapshot()
        nothing = await talk.type("/revert --undo --dry-run")
        context = await talk.type("/revert 1 --context --dry-run")
        (harness.worktree / "b.txt").write_text("mine\n")
        refused = await talk.type("/revert 0 --dry-run")
        forced = await talk.type("/revert 0 --dry-run --force")
        (harness.worktree / "b.txt").write_text("two\n")
        done = await talk.type("/revert 0")
        undone = await talk.type("/revert --undo")
    assert untouched == files
    assert after == before
    assert dry == asked
    assert (dry["status"], dry["dryRun"]) == ("completed", True), dry
    assert dry["files"] == {
        "written": ["kept.txt"],
        "removed": ["a.txt", "b.txt"],
        "kept": ["mine.py"],
        "refusals": [],
    }
    assert done["files"] == dry["files"]
    assert "Nothing was changed." in dry["message"]
    assert (nothing["status"], nothing["reason"]) == ("skipped", "nothing_to_revert")
    assert (context["files"], context["status"]) == (
        {"written": [], "removed": [], "kept": [], "refusals": []},
        "completed",
    )
    assert (refused["status"], refused["reason"]) == ("failed", "files_changed")
    assert "b.txt" in refused["files"]["refusals"][0]
    assert forced["files"]["removed"] == ["a.txt", "b.txt"]
    assert (
        done["message"].splitlines()[-1]
        == undone["message"].splitlines()[-1]
        == "To undo: /revert --undo"
    )
    for name in ("kept.txt", "a.txt", "b.txt", "mine.py"):
        assert name in done["message"]
    assert done["undo"] == "/revert --undo"
    assert worktree_files(harness.worktree) == files


class Walk:
    """A random walk with turns of the agent and changes by a person. `log` records who changed each
    path to which content; the expectation uses nothing else.
    """

    def __init__(self, talk: Conversation, harness: Harness, seed: int) -> None:
        self.talk = talk
        self.harness = harness
        self.random = random.Random(seed)
        self.states = [worktree_files(harness.worktree)]
        self.authors: list[str] = []

    async def turn(self) -> None:
        """Lets the agent change some files."""
        await edit(self.talk, "; ".join(self._change() for _ in range(self.random.randint(1, 2))))
        self._note("agent")

    async def hands(self) -> None:
        """Changes some files as a person does."""
        for _ in range(self.random.randint(1, 2)):
            await anyio.run_process(["sh", "-c", self._change()], cwd=self.harness.worktree)
        if self.random.random() < 0.4:
            git(self.harness.worktree, "add", "--all")
            git(self.harness.worktree, "commit", "-qm", "theirs", "--allow-empty")
        elif self.random.random() < 0.4:
            git(self.harness.worktree, "checkout", "-qf", self.random.choice(["main", "other"]))
        self._note("person")

    async def revert(self) -> None:
        """Reverts everything, and checks that only the agent's changes are gone, or that the
        refusal names the paths.
        """
        expected, lost = self.expected()
        outcome = await self.talk.type("/revert 0")
        if lost:
            assert outcome["reason"] == "files_changed", (outcome, lost)
            assert all(name in outcome["message"] for name in lost)
            assert worktree_files(self.harness.worktree) == self.states[-1]
            outcome = await self.talk.type("/revert 0 --force")
        assert outcome["status"] == "completed", outcome
        assert worktree_files(self.harness.worktree) == expected

    def expected(self) -> tuple[dict[str, object], set[str]]:
        files: dict[str, object] = {}
        lost: set[str] = set()
        for name in {name for state in self.states for name in state}:
            base = self.states[0].get(name)
            mixed: list[object] = []
            for before, after, author in zip(
                self.states, self.states[1:], self.authors, strict=False
            ):
                was, is_now = before.get(name), after.get(name)
                if was == is_now:
                    continue
                if author == "person" and was == base:
                    base = is_now
                elif is_now != base and (author == "person" or was in mixed):
                    mixed.append(is_now)
            if base is not None:
                files[name] = base
            if self.states[-1].get(name) != base and self.states[-1].get(name) in mixed:
                lost.add(name)
        return files, lost

    def _note(self, author: str) -> None:
        self.states.append(worktree_files(self.harness.worktree))
        self.authors.append(author)

    def _change(self) -> str:
        name = self.random.choice(NAMES)
        word = self.random.randint(1, 4)
        return self.random.choice(
            [
                f"rm -f {name}",
                f"mkdir -p d; echo {word} > {name}",
                f"mkdir -p d; echo {word} > {name}",
            ]
        )


@pytest.mark.parametrize("seed", SEEDS)
async def test_only_what_the_agent_did_is_taken_back(harness: Harness, seed: int) -> None:
    with_repository(harness.worktree)
    git(harness.worktree, "branch", "-m", "main")
    git(harness.worktree, "branch", "other")
    with anyio.fail_after(WALK_DEADLINE_S):
        async with harness.conversation() as talk:
            walk = Walk(talk, harness, seed)
            await walk.turn()
            for _ in range(STEPS):
                await (walk.turn if walk.random.random() < 0.5 else walk.hands)()
            await walk.revert()


async def test_changes_found_after_a_killed_daemon_are_reverted_only_by_force(
    harness: Harness,
) -> None:
    with_repository(harness.worktree)
    async with daemon_process(harness) as daemon, harness.client() as client:
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
        await edit(talk, "echo one > a.txt")
        harness.script.then(
            run("echo two > a.txt; echo new > b.txt"), held(say("done."), anyio.Event())
        )
        await client.request(
            "turn/start", threadId=talk.thread_id, input=[{"type": "text", "text": "go on"}]
        )
        # The model is asked again when the command has ended, and what it did is in the journal
        # then.
        while len(harness.model.turn_requests()) < 4 or await commands_run(talk) < 2:
            await anyio.lowlevel.checkpoint()
        await kill(daemon)
    (harness.worktree / "mine.py").write_text("mine\n")
    async with daemon_process(harness), harness.client() as client:
        await client.request("thread/resume", threadId=talk.thread_id)
        again = Conversation(client, talk.thread_id, harness.model, harness.script)
        refused = await again.type("/revert 1")
        untouched = worktree_files(harness.worktree)
        forced = await again.type("/revert 1 --force")
        checkpoints = (await again.snapshot())["checkpoints"]
    assert refused["status"] == "failed", refused
    assert "mine.py" in refused["message"]
    assert untouched["mine.py"] == ("file", b"mine\n")
    assert untouched["a.txt"] == ("file", b"two\n")
    assert forced["status"] == "completed", forced
    assert worktree_files(harness.worktree) == {
        "kept.txt": ("file", b"from the start\n"),
        "a.txt": ("file", b"one\n"),
    }
    assert [one["moment"] for one in checkpoints][-4:] == ["after", "found", "safety", "reverted"]
