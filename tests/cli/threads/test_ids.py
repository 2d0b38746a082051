"""An id that one command shows can be given to every other, from any folder, and means the same."""

import re
import shutil

import anyio
import pytest

from tests.cli.conftest import Typed
from tests.cli.stage import CliHarness
from tests.sessionlogs.sessions import FIXTURES

pytestmark = pytest.mark.codex

CLAUDE = FIXTURES / "claude-code-2.1.332" / "cleared" / "projects"
# Each takes a thread, and answers with its id. None of them changes the conversation.
OF_A_THREAD = (
    "timeline --json -t",
    "timeline --json",
    "checkpoints --json",
    "pins --json",
    "stats --json",
    "export --format json",
    "threads rename --json",
    "timeline --json --expand all -t",
    "checkpoints --json -t",
    "clear 1 --dry-run --json -t",
    "compact --dry-run --force --json -t",
    "compress --dry-run --json -t",
    "revert 1 --dry-run --json -t",
    "undo --json --dry-run -t",
    "pins --json -t",
    "context --json -t",
    "context --json",
    "diff 1 --json -t",
    "search --json --limit 1 alpha -t",
    "export --format json -t",
    "sessions show --json",
    "sessions export",
)
# Each takes a turn, and belongs to the thread that the id names. None of them changes files.
OF_A_TURN = (
    "diff {} --json",
    "diff {} now --json",
    "revert {} --dry-run --json",
    "revert {} --context --dry-run --json",
    "threads fork --json --at {}",
)


async def test_every_id_that_is_shown_can_be_given_to_every_command(
    stage: CliHarness, typed: Typed
) -> None:
    await anyio.run_process(["git", "init", "--quiet"], cwd=stage.worktree)
    async with stage.daemon() as client:
        thread_id = await stage.thread(client)
        for words in ("alpha one", "beta two"):
            await stage.turn(client, thread_id, words)
        other = await stage.thread(client)
        await stage.turn(client, other, "gamma")
        await client.request("commands/execute", threadId=thread_id, text="/clear 1")
        await stage.turn(client, thread_id, "delta three")

        listed = (await typed("threads", "--all")).out
        assert thread_id[-8:] in listed
        sessions = await typed("sessions")
        rows = [line for line in sessions.out.splitlines() if thread_id[-8:] in line]
        assert (len(rows), "alpha one" in rows[0]) == (1, True), sessions.out
        assert "<" not in sessions.out
        assert len((await typed("sessions", "--json")).json()["sessions"]) == 2

        problems = []
        [hit] = re.findall(rf"{thread_id[-8:]}:h\d+\.\d+", (await typed("search", "alpha")).out)[:1]
        few = ("timeline --json -t", "sessions show --json", "export --format json")
        for named, commands in (
            (thread_id[-8:], OF_A_THREAD),
            (hit, OF_A_THREAD),
            (thread_id, few),
            (thread_id[-8:-4], few),
        ):
            for command in commands:
                name = ["alpha"] if "rename" in command else []
                done = await typed(*command.split(), named, *name)
                about = done.out if done.code == 0 else done.err + done.out
                if done.code not in (0, 3) or other in about:
                    problems.append(f"{command} {named}: {done.code} {about[:200]}")
                elif re.search(r'"(?:threadId|sessionId|id)"', about) and thread_id not in about:
                    problems.append(f"{command} {named}: is about another: {about[:200]}")
        assert problems == []

        # A thread is shown whole, not only what Codex has of it since the clear.
        shown = await typed("sessions", "show", thread_id[-8:], "--expand", "all")
        assert all(words in shown.out for words in ("alpha one", "beta two", "delta three"))
        assert "alpha one" in (await typed("search", "--read", hit)).out
        in_chat = await client.request("commands/execute", threadId=thread_id, text="/search alpha")
        assert hit in in_chat["message"]
        commits = re.findall(r"\b[0-9a-f]{10}\b", (await typed("checkpoints", "-t", thread_id)).out)
        assert commits
        await stage.turn(client, thread_id, "epsilon")
        last = f"{thread_id[-8:]}:h4.1"
        newest = re.findall(r"\b[0-9a-f]{10}\b", (await typed("checkpoints", thread_id)).out)[-1]
        for turn in (last, newest):
            for command in OF_A_TURN:
                done = await typed(*command.format(turn).split())
                assert done.code in (0, 3), (command, turn, done)
                assert other not in done.out
        assert (await typed("pin", last, "--json")).json()["threadId"] == thread_id
        assert "turn 4" in (await typed("pins", last)).out
        for commit in commits:
            assert (await typed("diff", commit, "now", "-t", thread_id)).code == 0
            assert (await typed("revert", commit, "-n", "-t", thread_id)).code in (0, 3)
        # A checkpoint names its thread, and so does a hit.
        compared = await typed("diff", commits[-1], "now", "--json")
        assert (compared.code, compared.json()["older"]["label"]) == (0, commits[-1])
        unknown = await typed("diff", "abcdef0123")
        assert (unknown.code, "No thread has the checkpoint abcdef0123" in unknown.err) == (1, True)
        assert thread_id in (await typed("pins", "--json", "-t", hit)).out
        going_on = await typed("sessions", "continue", thread_id[-8:])
        assert going_on.code == 1
        assert f"trimpoint ask -t {thread_id[-8:]} TEXT" in " ".join(going_on.err.split())
        assert "unarchive" not in going_on.err
        await typed("threads", "archive", thread_id[-8:])
        back = f"trimpoint threads unarchive {thread_id[-8:]}"
        assert back in " ".join((await typed("sessions", "continue", thread_id[-8:])).err.split())


async def test_a_session_of_another_agent_is_distinguished_from_a_thread(
    stage: CliHarness, typed: Typed
) -> None:
    shutil.copytree(CLAUDE, stage.folder / "home" / ".claude" / "projects")
    async with stage.daemon() as client:
        await stage.turn(client, await stage.thread(client), "alpha")
        found = (await typed("sessions", "--agent", "claude", "--json")).json()["sessions"]
        named = found[0]["id"][-8:]
        assert (await typed("sessions", "show", named)).code == 0
        refused = await typed("timeline", "-t", named)
        assert refused.code == 2
        assert f"trimpoint sessions show {named}" in " ".join(refused.err.split())
