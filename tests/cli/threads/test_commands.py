"""`status`, `clear`, `compact`, `new`, `timeline`: for people and for scripts."""

import anyio
import pytest
from trimpoint.testkit import held, say

from tests.cli.stage import CliHarness

pytestmark = pytest.mark.codex


async def test_a_conversation_is_cleared_compacted_and_renewed_from_the_command_line(
    stage: CliHarness,
) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        for number in (1, 2, 3):
            await stage.turn(client, thread, f"prompt-{number}.")

        cleared = await stage.run("clear", "2")
        assert (cleared.code, cleared.out[0]) == (0, "✓")
        assert "2 messages in 1 turn left it, the last 2 turns kept" in " ".join(
            cleared.out.split()
        )
        assert f"thread {thread[-8:]} “prompt-1.”\n" in cleared.err

        again = await stage.run("clear", "2", "--json")
        assert (again.code, again.json()["status"], again.json()["reason"]) == (
            3,
            "skipped",
            "nothing_to_trim",
        )
        assert (again.json()["threadId"], again.err) == (thread, "")

        compacted = await stage.run(
            "compact", "--keep", "1", "--thread", thread[-6:], "mind", "the", "tests"
        )
        assert compacted.code == 0, compacted.err
        assert "The gist of it all." in compacted.out
        asked = next(
            request for request in stage.model.requests if request.kind == "inline_compaction"
        )
        assert asked.mentions("Additional summarization guidance: mind the tests")

        await stage.turn(client, thread, "prompt-4.")
        seen = stage.model.turn_requests()[-1]
        assert [seen.mentions(f"prompt-{number}.") for number in (1, 2, 3, 4)] == [
            False,
            False,
            True,
            True,
        ]
        assert seen.mentions("The gist of it all.")

        timeline = await stage.run("timeline")
        lines = [line.strip() for line in timeline.out.splitlines()]
        assert [line for line in lines if line.startswith("────")] == [
            line for line in lines if "▸ Earlier messages · 2 pruned" in line
        ]
        kept = next(at for at, line in enumerate(lines) if line.startswith("❯ prompt-3."))
        assert lines[kept].split()[2:4] == ["3", "·"]
        assert kept > max(lines.index(line) for line in lines if "▸" in line)
        assert any(line.startswith("╭─ Context compacted ") for line in lines)
        assert not any("prompt-1." in line for line in lines)

        expanded = await stage.run("timeline", "--expand", "1")
        assert "┊ ❯ prompt-1." in expanded.out
        assert "prompt-2." not in expanded.out
        document = (await stage.run("timeline", "--expand", "all", "--json")).json()
        kinds = [entry["kind"] for entry in document["entries"]]
        assert [
            kinds.count(kind)
            for kind in ("contextTrimPointDivider", "contextSummaryBanner", "message")
        ] == [2, 1, 8]
        numbers = [
            (entry["text"], entry["turn"])
            for entry in document["entries"]
            if entry["kind"] == "message" and entry["role"] == "user"
        ]
        assert numbers == [(f"prompt-{number}.", number) for number in range(1, 5)]
        dividers = [
            entry["trimPoint"]
            for entry in document["entries"]
            if entry["kind"] == "contextTrimPointDivider"
        ]
        assert dividers == [1, 2]
        exported = await stage.run("export", "--pruned", "--out", str(stage.worktree / "thread.md"))
        assert (exported.code, exported.out) == (0, ""), exported.err
        text = await anyio.Path(stage.worktree / "thread.md").read_text()
        assert [part in text for part in ("prompt-1.", "prompt-4.", "The gist of it all.")] == [
            True
        ] * 3
        taken = await stage.run("export", "--out", str(stage.worktree / "thread.md"))
        assert (taken.code, "File exists" in taken.err) == (1, True)
        kept = (await stage.run("export", "--json")).json()
        assert ["prompt-1." in str(kept), "prompt-4." in str(kept)] == [False, True]
        paged = (await stage.run("timeline", "--limit", "2", "--json")).json()
        assert (paged["entries"], paged["nextCursor"] is None) == (document["entries"][-2:], False)

        small = await stage.run("compress", "40k", "--dry-run")
        assert (small.code, "no more than the target of 40,000" in " ".join(small.out.split())) == (
            3,
            True,
        )
        low = await stage.run("compress", "100")
        assert (low.code, "Below 30,000 tokens" in " ".join(low.out.split())) == (2, True)

        new = await stage.run("new", "--json")
        assert (new.code, new.json()["status"]) == (0, "completed")
        renewed = new.json()["newThreadId"]
        status = (await stage.run("status", "--json")).json()
        assert [row["id"] for row in status["threads"]] == [renewed]
        everything = (await stage.run("status", "--all", "--json")).json()
        assert {row["id"]: row["archived"] for row in everything["threads"]} == {
            renewed: False,
            thread: True,
        }
        refused = await stage.run("clear", "--thread", thread)
        assert (refused.code, "The thread is archived" in refused.out) == (1, True)


async def test_without_threads_commands_say_how_to_start_one(stage: CliHarness) -> None:
    async with stage.daemon():
        status = await stage.run("status")
        assert (status.code, "no threads" in status.out, "0.163.0" in status.out) == (0, True, True)
        for words in (["clear"], ["compact"], ["compress"], ["new"], ["timeline"], ["watch"]):
            done = await stage.run(*words)
            assert (done.code, "There is no thread yet" in done.err, done.out) == (1, True, "")
        document = (await stage.run("clear", "--json")).json()
        assert document["error"]["reason"] == "thread_not_found"


async def test_a_thread_is_named_by_any_end_of_its_id_and_wrong_ones_are_helped(
    stage: CliHarness,
) -> None:
    async with stage.daemon() as client:
        first, second = await stage.thread(client), await stage.thread(client)
        await client.request("thread/name/set", threadId=first, name="spam")
        empty = await stage.run("timeline", "--thread", second[-8:])
        assert (empty.code, empty.out) == (0, "There are no messages yet.\n")
        unknown = await stage.run("timeline", "--thread", "nope")
        assert (unknown.code, unknown.err.splitlines()[0]) == (
            2,
            "trimpoint: There is no thread 'nope'.",
        )
        assert f"{first[-8:]} “spam”" in unknown.err
        gone = await stage.run("timeline", "01a22180-0000-7000-8000-0000bbbb0002")
        assert (gone.code, "trimpoint: There is no thread '01a22180-" in gone.err) == (2, True)
        either = await stage.run("timeline", "--thread", first[:6], "--json")
        assert (either.code, either.json()["error"]["reason"]) == (2, "ambiguous")
        wrong = await stage.run("timeline", "--thread", second, "--expand", "1")
        assert (wrong.code, "Nothing was pruned on this thread yet" in wrong.err) == (2, True)


async def test_a_busy_thread_is_skipped_and_the_blocker_is_named(stage: CliHarness) -> None:
    release = anyio.Event()
    async with stage.daemon() as client, anyio.create_task_group() as tasks:
        thread = await stage.thread(client)
        stage.script.then(held(say("done"), release))
        tasks.start_soon(stage.turn, client, thread, "prompt-1.")
        await stage.model.wait_for_request()
        for words in (["clear"], ["compact"], ["new"]):
            done = await stage.run(*words, "--json")
            assert (done.code, done.json()["reason"], done.json()["blocker"]["kind"]) == (
                3,
                "turn_in_progress",
                "turn",
            )
        assert "working" in (await stage.run("status")).out
        release.set()


async def test_a_command_about_threads_starts_a_daemon_where_none_runs(stage: CliHarness) -> None:
    listed = await stage.run("threads", "--json")
    assert (listed.code, listed.err) == (0, "")
    [pid] = stage.background_daemons()
    assert (await stage.run("status", "--json")).json()["daemon"]["pid"] == pid
    stopped = (await stage.run("shutdown", "--json")).json()
    assert stopped == {"pid": pid, "stopped": True, "interruptedThreads": []}
    assert stage.background_daemons() == []


async def test_without_a_daemon_a_command_about_the_daemon_says_so_with_code_4(
    stage: CliHarness,
) -> None:
    for words in (["metrics"], ["interrupt"]):
        done = await stage.run(*words)
        assert (done.code, done.out) == (4, "")
        assert done.err.splitlines() == [
            f"trimpoint: No daemon answers at {stage.socket}.",
            "Start one with `trimpoint serve`, or name its socket with --socket.",
        ]


async def test_without_a_daemon_status_says_so_and_shutdown_is_done(stage: CliHarness) -> None:
    status = await stage.run("status")
    assert (status.code, status.out) == (4, "")
    assert status.err.splitlines() == [
        "trimpoint: No daemon runs.",
        f"No daemon answers at {stage.socket}. The first command that needs one starts it.",
    ]
    stopped = await stage.run("shutdown")
    assert (stopped.code, stopped.out.strip(), stopped.err) == (0, "No daemon runs.", "")


async def test_a_named_state_directory_is_not_that_of_the_daemon_at_the_default_socket(
    stage: CliHarness,
) -> None:
    # Both would be found at the default socket, if nothing but the socket counted.
    default = {"TRIMPOINT_SOCKET": "", "XDG_RUNTIME_DIR": str(stage.folder / "run")}
    other = str(stage.folder / "other")
    assert (await stage.run("threads", **default)).code == 0
    try:
        stopped = await stage.run("shutdown", "--state-dir", other, **default)
        assert stopped.code != 0
        assert "keeps its state in another folder" in stopped.err
        threads = await stage.run("threads", "--state-dir", other, **default)
        assert threads.code == 0, threads.err
        assert len(stage.background_daemons()) == 2
        for words, state in (((), stage.state_dir), (("--state-dir", other), other)):
            status = await stage.run("status", "--json", *words, **default)
            assert status.json()["daemon"]["stateDir"] == str(state)
    finally:
        await stage.end_background_daemons()
