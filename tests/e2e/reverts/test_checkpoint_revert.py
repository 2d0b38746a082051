"""`/revert` to any turn with the real Codex: context, ledger and files
(docs/spec/checkpoints.md).
"""

import shutil

import anyio
import pytest
from trimpoint.testkit import held, run, say

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.expectation import Piece, pieces
from tests.e2e.worktree import git, with_repository, worktree_files
from tests.testkit.codex_over_stdio import codex_over_stdio

pytestmark = pytest.mark.codex


async def edit(talk: Conversation, command: str) -> None:
    """Runs a turn in which the agent runs `command`."""
    talk.turns += 1
    talk.script.then(run(command), say(f"answer-{talk.turns}."))
    await talk.prompt(f"prompt-{talk.turns}.")


async def test_a_revert_takes_files_ledger_and_context_back_to_a_turn(harness: Harness) -> None:
    with_repository(harness.worktree)
    async with harness.conversation() as talk:
        await edit(talk, "echo one > a.txt")
        then = worktree_files(harness.worktree)
        await edit(talk, "echo two > a.txt; echo new > b.txt; rm kept.txt")
        await edit(talk, "mkdir d; mv b.txt d/c.txt")
        now = worktree_files(harness.worktree)
        outcome = await talk.type("/revert 1")
        reverted = worktree_files(harness.worktree)
        snapshot = await talk.snapshot()
        read = await talk.client.request("thread/read", threadId=talk.thread_id)
        request = await talk.turn()
        listed = await talk.client.request("thread/list")
        undone = await talk.type("/revert --undo")
        again = await talk.turn()
        status = git(harness.worktree, "status", "--porcelain")
    assert outcome["status"] == "completed", outcome
    assert reverted == then != now
    assert len(snapshot["turns"]) == 1
    assert [one["threadSource"] for one in (read["thread"], *listed["data"])] == [None, None]
    assert seen_turns(request, 4) == [1, 4]
    assert undone["status"] == "completed", undone
    assert worktree_files(harness.worktree) == now
    assert seen_turns(again, 5) == [1, 2, 3, 5]
    assert status.splitlines() == [" D kept.txt", "?? a.txt", "?? d/"]


async def test_files_come_back_with_their_permissions_also_those_that_were_deleted(
    harness: Harness,
) -> None:
    with_repository(harness.worktree)
    modes = {"key": 0o600, "group": 0o640, "frozen": 0o444, "tool": 0o750}
    for name, mode in modes.items():
        (harness.worktree / name).write_text("as it was")
        (harness.worktree / name).chmod(mode)

    def found() -> dict[str, int]:
        paths = {name: harness.worktree / name for name in modes}
        return {name: path.stat().st_mode & 0o7777 for name, path in paths.items() if path.exists()}

    async with harness.conversation() as talk:
        await talk.turn()
        await edit(talk, "rm key; mv group g; cp g group; chmod 644 group; rm g")
        await edit(talk, "chmod 666 frozen; echo changed > tool; chmod 700 tool")
        changed = found()
        outcome = await talk.type("/revert 1")
        reverted = found()
        undone = await talk.type("/revert --undo")
    assert outcome["status"] == undone["status"] == "completed", (outcome, undone)
    assert changed == {"group": 0o644, "frozen": 0o666, "tool": 0o700}
    assert reverted == modes
    assert found() == changed


async def test_a_turn_that_was_cleared_away_comes_back_with_exactly_its_context(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
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


async def test_a_reverted_context_survives_the_child_and_the_daemon(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        await talk.type("/clear")
        await talk.turn()
        assert (await talk.type("/revert 2 --context"))["status"] == "completed"
        thread_id = talk.thread_id
    async with harness.daemon(), harness.client() as client:
        talk = Conversation(client, thread_id, harness.model, harness.script)
        talk.turns = 4
        request = await talk.turn()
        assert (await talk.type("/clear 2"))["status"] == "completed"
        kept = await talk.turn()
    assert seen_turns(request, 5) == [1, 2, 5]
    assert seen_turns(kept, 6) == [2, 5, 6]


async def test_without_a_repository_only_the_context_can_be_taken_back_and_that_is_reported(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
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


async def test_files_that_others_changed_are_not_overwritten_unless_forced(
    harness: Harness,
) -> None:
    with_repository(harness.worktree)
    async with harness.conversation() as talk:
        await edit(talk, "echo one > a.txt")
        await edit(talk, "echo two > a.txt")
        (harness.worktree / "a.txt").write_text("mine\n")
        (harness.worktree / "unseen.txt").write_text("mine too\n")
        refused = await talk.type("/revert 1")
        untouched = worktree_files(harness.worktree)
        request = await talk.turn()
        shutil.copy(harness.worktree / "a.txt", harness.worktree / "b.txt")
        forced = await talk.type("/revert 1 --force")
    assert refused["reason"] == "files_changed"
    assert "a.txt" in refused["message"]
    assert untouched["a.txt"] == ("file", b"mine\n")
    assert seen_turns(request, 3) == [1, 2, 3]
    assert forced["status"] == "completed", forced
    assert worktree_files(harness.worktree)["a.txt"] == ("file", b"one\n")


async def test_a_turn_behind_a_summary_that_only_codex_can_read_can_be_had_back(
    sealed_harness: Harness,
) -> None:
    async with sealed_harness.conversation() as talk:
        await talk.turn()
        await talk.turn()
        # The sample that would read the summary is answered with nothing.
        sealed_harness.script.then(say(""))
        compacted = await talk.type("/compact")
        await talk.turn()
        await talk.type("/clear")
        await talk.turn()
        outcome = await talk.type("/revert 3 --context")
        request = await talk.turn()
    assert compacted["summaryUnavailable"] is True
    assert outcome["status"] == "completed", outcome
    assert Piece("sealed", "SEALED") in pieces(request.input)
    assert request.mentions("prompt-3.")
    assert not request.mentions("prompt-4.")


async def test_a_thread_from_before_trimpoint_goes_back_to_a_turn_of_that_time(
    harness: Harness,
) -> None:
    async with codex_over_stdio(harness.overrides, harness.codex_home) as codex:
        thread_id = await codex.start_thread(harness.worktree)
        for number in (1, 2, 3):
            harness.script.then(run(f"echo tool-output-{number}"), say(f"answer-{number}."))
            await codex.turn(thread_id, f"prompt-{number}.")
    with_repository(harness.worktree)
    async with harness.daemon(), harness.client() as client:
        await client.request("thread/resume", threadId=thread_id)
        talk = Conversation(client, str(thread_id), harness.model, harness.script)
        talk.turns = 3
        await talk.type("/clear 1")
        await edit(talk, "echo four > a.txt")
        refused = await talk.type("/revert 2")
        outcome = await talk.type("/revert 2 --context")
        request = await talk.turn()
    assert refused["reason"] == "checkpoint_not_found"
    assert outcome["status"] == "completed", outcome
    assert seen_turns(request, 5) == [1, 2, 5]


async def test_a_thread_that_was_replaced_is_not_reverted_before_it_is_brought_back(
    harness: Harness,
) -> None:
    with_repository(harness.worktree)
    async with harness.conversation() as talk:
        await edit(talk, "echo one > a.txt")
        await edit(talk, "echo two > a.txt")
        replaced = await talk.type("/new")
        refused = await talk.type("/revert 1")
        successor = Conversation(
            talk.client, replaced["newThreadId"], harness.model, harness.script
        )
        successor.turns = 2
        await edit(successor, "echo three > a.txt")
        await talk.client.request("thread/unarchive", threadId=talk.thread_id)
        changed = await talk.type("/revert 1")
        forced = await talk.type("/revert 1 --force")
        request = await talk.turn()
    assert refused["reason"] == "thread_archived"
    assert changed["reason"] == "files_changed"
    assert forced["status"] == "completed", forced
    assert worktree_files(harness.worktree)["a.txt"] == ("file", b"one\n")
    assert seen_turns(request, 1) == [1]


async def test_a_revert_is_refused_while_another_thread_works_in_the_worktree(
    harness: Harness,
) -> None:
    with_repository(harness.worktree)
    async with harness.conversation() as talk:
        await edit(talk, "echo one > a.txt")
        await edit(talk, "echo two > a.txt")
        other = await Conversation.begin(
            talk.client, harness.worktree, harness.model, harness.script
        )
        await edit(other, "true")
        go_on = anyio.Event()
        harness.script.then(held(say("done."), go_on))
        with talk.no_restart():
            prompt = [{"type": "text", "text": "go on"}]
            await talk.client.request("turn/start", threadId=other.thread_id, input=prompt)
            refused = await talk.type("/revert 1")
        go_on.set()
    assert refused["reason"] == "files_changed"
    assert other.thread_id in refused["message"]
    assert worktree_files(harness.worktree)["a.txt"] == ("file", b"two\n")


@pytest.mark.linux("looks at other processes")
async def test_a_file_that_is_open_for_writing_is_named_and_left_alone(harness: Harness) -> None:
    with_repository(harness.worktree)
    async with harness.conversation() as talk:
        await edit(talk, "echo one > a.txt")
        await edit(talk, "echo two > a.txt")
        async with await anyio.open_process(
            ["sh", "-c", "exec 3<>a.txt; echo open; read line"], cwd=harness.worktree
        ) as editor:
            assert editor.stdout is not None
            await editor.stdout.receive()
            refused = await talk.type("/revert 1")
            editor.kill()
        outcome = await talk.type("/revert 1")
    assert refused["reason"] == "files_changed"
    assert "a.txt" in refused["message"]
    assert "open for writing" in refused["message"]
    assert outcome["status"] == "completed"


async def test_a_revert_beside_an_editor_that_keeps_writing_loses_none_of_its_words(
    harness: Harness,
) -> None:
    with_repository(harness.worktree)
    async with harness.conversation() as talk:
        await edit(talk, "for i in $(seq 200); do echo 1 > f$i; done")
        await edit(talk, "for i in $(seq 200); do echo 2 > f$i; done")
        written: list[str] = []
        stop = anyio.Event()

        async def keep_writing() -> None:
            while not stop.is_set():
                written.append(f"mine {len(written)}\n")
                (harness.worktree / "f150").write_text(written[-1])
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep_writing)
            while not written:
                await anyio.lowlevel.checkpoint()
            outcomes = [await talk.type("/revert 1") for _ in range(3)]
            stop.set()
        after = worktree_files(harness.worktree)
    assert {outcome["reason"] for outcome in outcomes} == {"files_changed"}
    assert after["f150"] == ("file", written[-1].encode())
    assert {after[f"f{number}"] for number in range(1, 150)} == {("file", b"2\n")}


async def test_a_codex_that_cannot_fork_at_a_turn_gets_the_context_from_the_ledger(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimpoint.operations.provider.forking.FORKS_WITHOUT_INJECTED", (999, 0, 0))
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        await talk.inject("injected behind turn 3")
        first, second = [turn["id"] for turn in (await talk.snapshot())["turns"]][:2]
        fork = await talk.fork(lastTurnId=second)
        in_fork = await fork.turn()
        outcome = await talk.type("/revert 1 --context")
        request = await talk.turn()
        turns = [turn["id"] for turn in (await talk.snapshot())["turns"]]
    assert outcome["status"] == "completed", outcome
    assert [in_fork.mentions(f"prompt-{number}.") for number in (1, 2, 3)] == [True, True, False]
    assert seen_turns(request, 4) == [1, 4]
    assert not request.mentions("injected behind")
    assert (turns[0], len(turns)) == (first, 2)


async def test_a_sealed_context_that_this_codex_cannot_bring_back_is_refused(
    sealed_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "trimpoint.operations.provider.provider_threads.FORKS_AT_TURNS", (999, 0, 0)
    )
    async with sealed_harness.conversation() as talk:
        await talk.turn()
        await talk.turn()
        sealed_harness.script.then(say(""))  # the answer to the sample that reads the summary
        await talk.type("/compact")
        await talk.turn()
        await talk.turn()
        before = await talk.snapshot()
        outcome = await talk.type("/revert 3 --context")
        after = await talk.snapshot()
    assert (outcome["status"], outcome["reason"]) == ("failed", "not_supported")
    assert "fork at a turn" in outcome["message"]
    assert after["turns"] == before["turns"]
