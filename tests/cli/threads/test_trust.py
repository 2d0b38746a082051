"""`trimpoint trust`, and what `ask` says when Codex has begun to trust a folder."""

import subprocess

import pytest
from trimpoint.testkit import say

from tests.cli.stage import CliHarness

pytestmark = pytest.mark.codex


def make_repository(stage: CliHarness) -> None:
    subprocess.run(["git", "init", "-q", str(stage.worktree)], check=True)


async def test_a_folder_is_trusted_and_forgotten_without_a_thread(stage: CliHarness) -> None:
    make_repository(stage)
    async with stage.daemon():
        shown = await stage.run("trust")
        assert shown.code == 0
        assert f"Codex does not trust {stage.worktree}" in shown.out
        assert "trimpoint trust yes writes [projects." in " ".join(shown.out.split())
        assert (await stage.run("trust", "--json")).json()["level"] is None
        done = await stage.run("trust", "yes")
        assert (done.code, "To undo: trimpoint trust no" in done.out) == (0, True)
        assert (await stage.run("trust", "--json")).json()["level"] == "trusted"
        stage.script.then(say("answer-1."))
        asked = await stage.run("ask", "prompt-1.")
        assert "read-only" not in asked.err
        assert (await stage.run("trust", "no")).code == 0
        assert (await stage.run("trust", "--json")).json()["level"] is None


async def test_ask_says_that_codex_has_begun_to_trust_the_folder(stage: CliHarness) -> None:
    make_repository(stage)
    stage.script.then(say("answer-1."))
    async with stage.daemon():
        asked = await stage.run("ask", "--new", "-s", "workspace-write", "prompt-1.")
        warned = " ".join(asked.err.split())
        assert f"Codex trusts {stage.worktree} from now on" in warned
        assert "trimpoint trust no" in warned
        assert asked.out == "answer-1.\n"
