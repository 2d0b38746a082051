"""`checkpoints` and `diff` in a real conversation whose agent edits files in a repository."""

import os

import pytest
from trimpoint.cli.connection.client import Client
from trimpoint.testkit import run, say

from tests.cli.stage import CliHarness, Terminal
from tests.e2e.worktree import git, with_repository

pytestmark = pytest.mark.codex


async def edit(stage: CliHarness, client: Client, thread: str, command: str) -> None:
    """Runs a turn in which the agent runs `command`, and waits for its checkpoint."""
    stage.script.then(run(command), say("Done."))
    await stage.turn(client, thread, f"please: {command}")


async def test_checkpoints_are_listed_compared_and_let_go(
    stage: CliHarness, terminal: Terminal
) -> None:
    with_repository(stage.worktree)
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        await edit(stage, client, thread, "echo one > a.txt")
        await edit(stage, client, thread, "echo two > a.txt; rm kept.txt")

        listed = await stage.run("checkpoints")
        assert listed.code == 0, listed.err
        lines = [" ".join(line.split()) for line in listed.out.splitlines()]
        assert lines[0].startswith("turn changed captured commit")
        assert lines[1].startswith("0 ")
        assert lines[1].endswith("before the first turn")
        assert lines[2].startswith("1 1 file +1 ")
        assert lines[3].startswith("2 2 files +1 -2 ")
        assert lines[3].endswith("please: echo two > a.txt; rm kept.txt")
        document = (await stage.run("checkpoints", "--json", "--limit", "1")).json()
        assert ([row["number"] for row in document["turns"]], document["older"]) == ([2], 2)

        last = await stage.run("diff")
        assert last.code == 0, last.err
        assert "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n" in last.out
        git(stage.worktree, "apply", "--check", "-R", "-", stdin=last.out)
        first = await stage.run("diff", "1", "--stat")
        assert [" ".join(line.split()) for line in first.out.splitlines()] == [
            "before turn 1 → after turn 1 1 file +1",
            "A a.txt +1",
        ]
        (stage.worktree / "mine").write_text("x\n")
        since = (await stage.run("diff", "0", "now", "--json", "--path", "mine")).json()
        assert [(file["path"], file["status"]) for file in since["files"]] == [("mine", "added")]

        cut = await stage.run("diff", "--max-bytes", "20")
        assert (len(cut.out), "cut here" in cut.err) == (20, True)
        missing = await stage.run("diff", "7")
        assert (missing.code, "names no turn" in missing.err) == (1, True)
        assert (await stage.run("diff", "1", "2", "3")).code == 2

        async with stage.running(
            "diff", "2", stdout=terminal.fd, env=stage.environment | {"TERM": "xterm-256color"}
        ) as shown:
            assert await shown.ended() == 0
        screen = await terminal.rest()
        assert "\x1b[32m+two" in screen
        assert "diff --git" not in screen

        storage = (await stage.run("checkpoints", "--storage", "--json")).json()
        assert [row["known"] for row in storage["repositories"][0]["threads"]] == [True]
        told = await stage.run("checkpoints", "--storage")
        assert thread in told.out
        assert (await stage.run("checkpoints", "--prune")).code == 3
        commit = document["turns"][0]["commit"]
        store = "--git-dir=.git/trimpoint-checkpoints.git"
        git(stage.worktree, store, "update-ref", "refs/trimpoint/checkpoints/gone/turn", commit)
        preview = await stage.run("checkpoints", "--prune")
        assert (preview.code, "--yes does it" in preview.err) == (0, True)
        assert "refs/trimpoint/checkpoints/gone/" in git(stage.worktree, store, "for-each-ref")
        done = await stage.run("checkpoints", "--prune", "--yes", "--repository", os.curdir)
        assert "Deleted 1 checkpoint." in done.out
        refs = git(stage.worktree, store, "for-each-ref")
        assert "checkpoints/gone/" not in refs
        assert f"checkpoints/{thread}/" in refs
        assert (await stage.run("checkpoints", "--yes")).code == 2
        assert (await stage.run("checkpoints", "--all")).code == 2
        dry = await stage.run("revert", "--dry-run")
        assert (dry.code, "Nothing was changed." in dry.out) == (0, True)
        reverted = await stage.run("revert")
        assert reverted.out.splitlines()[-1].strip() == "To undo: trimpoint revert --undo"
        preview = await stage.run("checkpoints", "--prune", "--all")
        assert (preview.code, "No file could be reverted any more" in preview.err) == (0, True)
        removed = await stage.run("checkpoints", "--prune", "--all", "--yes")
        assert (removed.code, "Removed" in removed.out) == (0, True)
        assert not [
            path for path in (stage.worktree / ".git").rglob("*") if "trimpoint" in path.name
        ]


async def test_a_thread_outside_of_a_repository_says_so(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        await edit(stage, client, thread, "echo one > a.txt")
        listed = await stage.run("checkpoints")
        assert "is not in a git repository" in " ".join(listed.out.split())
        refused = await stage.run("diff")
        assert (refused.code, "is not in a git repository" in refused.err) == (1, True)
        assert (
            "There is no thread in a git repository yet."
            in (await stage.run("checkpoints", "--storage")).out
        )
