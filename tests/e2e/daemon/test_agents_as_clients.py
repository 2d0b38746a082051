"""An agent is not the person: what Codex runs cannot be a client of the daemon that asks for its
approvals, by whatever way it comes.
"""

import json
import shlex
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.app import running_daemon
from trimpoint.cli.connection.client import Client
from trimpoint.config.sections import HttpSection
from trimpoint.http.access.credentials import Credentials
from trimpoint.http.access.token_file import token_at
from trimpoint.testkit import run, say
from trimpoint.transport.listeners import serve_unix

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.daemon import doors

pytestmark = pytest.mark.codex

WITH_NETWORK = {"config": {"sandbox_workspace_write": {"network_access": True}}}
# What lets a program be another than the person's own, without Codex.
NAMESPACES = ["unshare", "--user", "--map-current-user", "--pid", "--fork", "--mount-proc"]


class Doors:
    """The daemon's ways in, and a program that tries them."""

    def __init__(self, harness: Harness, port: int, new_code: Callable[[], str]) -> None:
        self.harness, self.port, self._new_code = harness, port, new_code
        self.found = harness.worktree / "found.json"

    def command(self) -> list[str]:
        token = token_at(self.harness.state_dir)
        credentials = Credentials(token)
        login = credentials.new_login(int(time.time()))
        script = self.harness.worktree / "doors.py"
        script.write_bytes(Path(doors.__file__).read_bytes())
        place = [str(self.harness.socket), str(self.port)]
        return [
            sys.executable,
            str(script),
            str(self.found),
            *place,
            token,
            login,
            self._new_code(),
        ]

    def answers(self) -> dict[str, str]:
        return dict(json.loads(self.found.read_text()))


@asynccontextmanager
async def opened(harness: Harness) -> AsyncGenerator[tuple[Client, Doors]]:
    config = msgspec.structs.replace(harness.config, http=HttpSection(listen="127.0.0.1:0"))
    async with (
        running_daemon(config, harness.state_dir, harness.profile) as daemon,
        anyio.create_task_group() as tasks,
    ):
        await tasks.start(serve_unix, harness.socket, daemon.serve)
        addresses = daemon.http.addresses
        port = int(str(addresses.first).rpartition(":")[2])
        async with harness.client() as client:
            yield client, Doors(harness, port, lambda: addresses.codes.new(time.monotonic()))
        tasks.cancel_scope.cancel()


async def tried_by_agent(
    client: Client, harness: Harness, way: Doors, **settings: Any
) -> dict[str, str]:
    """Has the agent of a thread try every door, and returns what it was answered."""
    answer = await client.request(
        "thread/start", cwd=str(harness.worktree), approvalPolicy="never", **settings
    )
    talk = Conversation(client, answer["thread"]["id"], harness.model, harness.script)
    talk.script.then(run(shlex.join(way.command())), say("done"))
    await talk.prompt("Try the doors.")
    return way.answers()


def assert_refused(answers: dict[str, str], why: str) -> None:
    assert {name for name, answer in answers.items() if "untrusted_client" not in answer} == set()
    assert {name for name, answer in answers.items() if why not in answer} == set()
    assert not any("HTTP/1.1" in answer and " 403 " not in answer for answer in answers.values())


@pytest.mark.linux("tells agents from other programs")
async def test_an_agent_in_the_sandbox_with_the_network_is_refused_at_every_door(
    harness: Harness,
) -> None:
    async with opened(harness) as (client, way):
        settings = {"sandbox": "workspace-write", **WITH_NETWORK}
        answers = await tried_by_agent(client, harness, way, **settings)
        threads = (await client.request("thread/list"))["data"]
    assert len(answers) == 12
    assert_refused(answers, "A Codex of this daemon started it")
    assert len(threads) == 1


async def test_an_agent_in_the_sandbox_without_the_network_reaches_no_door(
    harness: Harness,
) -> None:
    async with opened(harness) as (client, way):
        answers = await tried_by_agent(client, harness, way, sandbox="workspace-write")
    assert set(answers.values()) <= {"PermissionError", "ConnectionRefusedError"}, answers


@pytest.mark.linux("tells agents from other programs")
async def test_an_agent_without_a_sandbox_is_refused_too(harness: Harness) -> None:
    async with opened(harness) as (client, way):
        answers = await tried_by_agent(client, harness, way, sandbox="danger-full-access")
    assert_refused(answers, "A Codex of this daemon started it")


@pytest.mark.linux("tells agents from other programs")
async def test_a_command_that_an_agent_runs_says_why_it_is_refused(harness: Harness) -> None:
    async with opened(harness) as (client, _):
        answer = await client.request(
            "thread/start",
            cwd=str(harness.worktree),
            approvalPolicy="never",
            sandbox="danger-full-access",
        )
        talk = Conversation(client, answer["thread"]["id"], harness.model, harness.script)
        command = [sys.executable, "-m", "trimpoint", "threads", "--socket", str(harness.socket)]
        said = harness.worktree / "said"
        path = f"PYTHONPATH={shlex.quote(':'.join(entry for entry in sys.path if entry))}"
        talk.script.then(run(f"{path} {shlex.join(command)} > {said} 2>&1; echo $? >> {said}"))
        await talk.prompt("Which threads are there?")
    assert "Run the command in a terminal of your own." in said.read_text()
    assert said.read_text().splitlines()[-1] == "1"


@pytest.mark.linux("tells agents from other programs")
async def test_a_program_in_a_container_is_refused_but_for_a_browser_that_is_logged_in(
    harness: Harness,
) -> None:
    async with opened(harness) as (_, way):
        await anyio.run_process([*NAMESPACES, *way.command()])
        answers = way.answers()
    logins = {name for name in answers if "login" in name or "code" in name}
    assert_refused(
        {name: answer for name, answer in answers.items() if name not in logins},
        "It runs in another pid namespace than the daemon.",
    )
    assert {answers[name].split()[1] for name in logins} == {"200", "101"}
