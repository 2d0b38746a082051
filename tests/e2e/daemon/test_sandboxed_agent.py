"""An agent in Codex's sandbox, without a network, does not get out of it through the daemon's git,
and finds nothing of the daemon's in its environment.

The sandbox is Codex's own. The agent may write into its folder, and the daemon, which is outside of
the sandbox, looks at that folder with git before and after each turn.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from trimpoint.app import running_daemon
from trimpoint.codex.appserver.launch import SERVICE_VARIABLES
from trimpoint.codex.appserver.orphans import CHILD_MARK
from trimpoint.config.loading import ENVIRONMENT
from trimpoint.testkit import run, say
from trimpoint.transport.listeners import serve_unix

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.worktree import with_repository

pytestmark = pytest.mark.codex

_SANDBOX = {
    "sandbox": "workspace-write",
    "approvalPolicy": "never",
    "config": {
        "sandbox_workspace_write.network_access": False,
        # The test's folders are there.
        "sandbox_workspace_write.exclude_slash_tmp": True,
        "sandbox_workspace_write.exclude_tmpdir_env_var": True,
    },
}
# A "bare" repository of plain files: a ref to an object that is missing, and a remote that has it.
_FAKE = """
mkdir -p objects refs/heads refs/trimpoint/checkpoints/t
echo 'ref: refs/heads/main' > HEAD
echo 1111111111111111111111111111111111111111 > refs/trimpoint/checkpoints/t/n
cat > config <<END
[core]
    repositoryformatversion = 1
    bare = false
    worktree = $PWD
    fsmonitor = "touch {witness}; false"
[extensions]
    partialClone = evil
[remote "evil"]
    promisor = true
    url = .
    uploadpack = "touch {witness}; false"
END
"""
# A real repository, in which a later thread begins.
_OF_ITS_OWN = """
mkdir lib
git init -q lib
cd lib
echo '* filter=evil' > .gitattributes
git config core.fsmonitor 'touch {witness}; false'
git config filter.evil.clean 'touch {witness}; cat'
git config hook.evil.command 'touch {witness}'
git config hook.evil.event post-index-change
git config extensions.partialClone evil
git config remote.evil.promisor true
git config remote.evil.url .
git config remote.evil.uploadpack 'touch {witness}; false'
mkdir -p .git/refs/trimpoint/checkpoints/t
echo 1111111111111111111111111111111111111111 > .git/refs/trimpoint/checkpoints/t/n
mkdir -p .git/trimpoint
echo ../../lie > .git/trimpoint/commondir
"""


class Prisoner:
    """A thread of an agent in the sandbox."""

    def __init__(self, talk: Conversation, witness: Path) -> None:
        self._talk = talk
        self._witness = witness

    async def does(self, command: str) -> None:
        """Runs a turn in which the agent runs a command."""
        talk = self._talk
        talk.turns += 1
        talk.script.then(
            run(command.replace("{witness}", str(self._witness))), say(f"answer-{talk.turns}.")
        )
        await talk.prompt(f"prompt-{talk.turns}.")

    async def goes_on(self) -> None:
        """Runs turns, each of which is captured before and after it."""
        for number in range(3):
            await self.does(f"echo {number} > note")
            await self._talk.client.request("checkpoint/list", threadId=self._talk.thread_id)


@asynccontextmanager
async def _agent(harness: Harness, folder: Path, witness: Path) -> AsyncGenerator[Prisoner]:
    async with harness.daemon(), harness.client() as client:
        answer = await client.request("thread/start", cwd=str(folder), **_SANDBOX)
        talk = Conversation(client, answer["thread"]["id"], harness.model, harness.script)
        yield Prisoner(talk, witness)


@pytest.mark.parametrize("inside", [False, True], ids=["no repository", "below a repository"])
async def test_four_plain_files_run_no_command(harness: Harness, inside: bool) -> None:
    witness, folder = harness.home / "witness", harness.worktree / "sub"
    if inside:
        with_repository(harness.worktree)
    folder.mkdir()
    async with _agent(harness, folder, witness) as agent:
        await agent.does("touch {witness}")
        assert not witness.exists(), "the agent is not in a sandbox"
        await agent.does(_FAKE)
        await agent.goes_on()
    async with _agent(harness, folder, witness) as agent:
        await agent.goes_on()
    assert (folder / "config").exists()
    assert (folder / "note").exists()
    assert not witness.exists()


async def test_a_repository_that_an_agent_made_runs_no_command(harness: Harness) -> None:
    witness, folder = harness.home / "witness", harness.worktree / "lib"
    with_repository(harness.worktree)
    async with _agent(harness, harness.worktree, witness) as agent:
        await agent.does("touch {witness}")
        assert not witness.exists(), "the agent is not in a sandbox"
        await agent.does(_OF_ITS_OWN)
    assert (folder / ".git" / "trimpoint" / "commondir").exists()
    async with _agent(harness, folder, witness) as agent:
        await agent.goes_on()
    assert (folder / "note").exists()
    assert not witness.exists()


async def test_the_environment_of_a_command_has_nothing_of_the_service_and_of_trimpoint(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile, printed = harness.profile, harness.worktree / "environment"
    before = {name for name, _ in profile.environment}
    withheld = {*SERVICE_VARIABLES, *ENVIRONMENT, "TRIMPOINT_SECRET"}
    for name in (*withheld, "TOOLCHAIN_OF_MINE", "TOKEN_OF_MINE"):
        monkeypatch.setenv(name, "set")
    async with (
        running_daemon(harness.config, harness.state_dir, profile) as daemon,
        anyio.create_task_group() as tasks,
    ):
        await tasks.start(serve_unix, harness.socket, daemon.serve)
        async with harness.client() as client:
            answer = await client.request("thread/start", cwd=str(harness.worktree), **_SANDBOX)
            talk = Conversation(client, answer["thread"]["id"], harness.model, harness.script)
            await Prisoner(talk, harness.home / "witness").does(f"env -0 > {printed}")
        tasks.cancel_scope.cancel()
    names = {line.partition("=")[0] for line in printed.read_text().split("\0")}
    assert {"PATH", "HOME", "TOOLCHAIN_OF_MINE", "TOKEN_OF_MINE"} <= names
    assert not names & (withheld - before)
    assert {name for name in names if name.startswith("TRIMPOINT_")} - before == {CHILD_MARK}
