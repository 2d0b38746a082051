"""`trimpoint stdio` and `app-server`: one client at stdin and stdout, alone, joined by others, or joining."""

import json
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from subprocess import DEVNULL
from typing import Any

import anyio
import pytest
from trimpoint.cli.connection.client import connect
from trimpoint.testkit import held, say

from tests.cli.stage import DEADLINE_S, CliHarness, Running

pytestmark = pytest.mark.codex
INITIALIZE = {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "shell", "version": "1"}}}


class Shell:
    """A client at the other end of a command's stdin and stdout."""

    def __init__(self, command: Running) -> None:
        self.command = command
        self._last_id = 0

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask and await the whole answer."""
        self._last_id += 1
        await self.send({"id": self._last_id, "method": method, "params": params})
        await self.command.said(f'{{"id":{self._last_id},')
        return next(message for message in self.messages() if message.get("id") == self._last_id)

    async def send(self, message: dict[str, Any]) -> None:
        """Send any message."""
        assert self.command.process.stdin is not None
        await self.command.process.stdin.send(json.dumps(message).encode() + b"\n")

    def messages(self) -> list[dict[str, Any]]:
        """All that was received so far."""
        *lines, _ = self.command.out.split("\n")
        return [json.loads(line) for line in lines]

    async def end(self) -> int:
        """End the input; the exit code."""
        assert self.command.process.stdin is not None
        await self.command.process.stdin.aclose()
        return await self.command.ended()

    def logged(self) -> list[str]:
        """Which events it logged."""
        return [json.loads(line)["event"] for line in self.command.err.splitlines() if line.startswith("{")]


@asynccontextmanager
async def shell(stage: CliHarness, *words: str) -> AsyncGenerator[Shell]:
    """A client that has spawned trimpoint and shaken hands."""
    async with stage.running(*words) as command:
        client = Shell(command)
        answer = await client.ask("initialize", clientInfo={"name": "shell", "version": "1"})
        assert answer["result"]["userAgent"].startswith("shell/")
        await client.send({"method": "initialized"})
        yield client


async def test_alone_it_is_the_daemon_and_others_can_join_until_its_input_ends(stage: CliHarness) -> None:
    async with shell(stage, *stage.flags, "app-server", "--listen", "stdio://") as first:
        thread = (await first.ask("thread/start", cwd=str(stage.worktree)))["result"]["thread"]["id"]
        async with connect(stage.socket) as other:
            await other.initialize()
            status = await other.request("sidecar/status")
            assert status["pid"] == first.command.process.pid
            assert status["codex"]["overrides"] == stage.overrides
            await other.request("orchestration/snapshot", threadId=thread)
        assert await first.end() == 0
    assert {"serving_stdio", "listening"} <= set(first.logged())
    assert stage.codex_children() == []
    assert not stage.socket.exists()


async def test_where_a_daemon_runs_it_joins_and_both_see_the_same_thread(stage: CliHarness) -> None:
    async with stage.serving() as serve, shell(stage, "stdio") as joined:
        assert (await joined.ask("sidecar/status"))["result"]["pid"] == serve.process.pid
        thread = (await joined.ask("thread/start", cwd=str(stage.worktree)))["result"]["thread"]["id"]
        async with connect(stage.socket) as other:
            await other.initialize()
            await other.request("thread/resume", threadId=thread)
            await joined.ask("turn/start", threadId=thread, input=[{"type": "text", "text": "hello"}])
            await other.received("turn/completed")
            await joined.command.said("turn/completed")
        assert await joined.end() == 0
        assert "attached" in joined.logged()
        assert (await stage.run("status")).code == 0


async def test_a_client_that_ends_its_input_still_gets_the_answers_it_is_owed(stage: CliHarness) -> None:
    asked = json.dumps(INITIALIZE) + "\n" + json.dumps({"id": 2, "method": "thread/list"}) + "\n"
    async with stage.serving():
        done = await stage.run("stdio", stdin=asked.encode())
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert (done.code, [answer["id"] for answer in answers if "id" in answer]) == (0, [1, 2])


async def test_two_that_start_at_the_same_moment_share_one_daemon(stage: CliHarness) -> None:
    pids: list[int] = []

    async def start(go_on: anyio.Event, ready: anyio.Event) -> None:
        async with shell(stage, *stage.flags, "app-server") as client:
            pids.append((await client.ask("sidecar/status"))["result"]["pid"])
            ready.set()
            await go_on.wait()
            # The other may have been the daemon, and be gone.
            assert await client.end() in {0, 4}

    go_on, ready = anyio.Event(), [anyio.Event(), anyio.Event()]
    async with anyio.create_task_group() as tasks:
        for event in ready:
            tasks.start_soon(start, go_on, event)
        for event in ready:
            await event.wait()
        go_on.set()
    assert len(pids) == 2
    assert len(set(pids)) == 1


async def test_a_daemon_that_ends_ends_those_who_joined_with_a_word(stage: CliHarness) -> None:
    async with stage.serving() as serve, shell(stage, "stdio") as joined:
        serve.process.send_signal(signal.SIGTERM)
        assert await joined.command.ended() == 4
    assert "has ended" in joined.command.err


@pytest.mark.parametrize(
    ("words", "environment", "said"),
    [
        (["-c", 'model="other"', "app-server"], {}, 'without -c model="other"'),
        (["stdio", "-c", "a=b"], {}, "without -c a=b"),
        (["app-server"], {"CODEX_HOME": "/nowhere"}, "and /nowhere was asked for"),
        (["stdio", "--codex", "/bin/true"], {}, "and /usr/bin/true was asked for"),
        (["stdio", "--state-dir", "another"], {}, "another process is serving this socket"),
    ],
)
async def test_a_client_that_wants_another_codex_is_refused_in_its_first_answer(
    stage: CliHarness, words: list[str], environment: dict[str, str], said: str
) -> None:
    async with stage.serving():
        done = await stage.run(*words, stdin=json.dumps(INITIALIZE).encode() + b"\n", **environment)
        assert done.code == 1
        assert said in done.err
        answer = json.loads(done.out)
        assert (answer["id"], said in answer["error"]["message"]) == (1, True)
        assert "Traceback" not in done.err
        assert (await stage.run("status", "--json")).json()["daemon"]["codex"]["overrides"] == stage.overrides


async def test_the_same_overrides_join(stage: CliHarness) -> None:
    async with stage.serving(), shell(stage, *stage.flags, "app-server") as joined:
        assert await joined.end() == 0
        assert "attached" in joined.logged()


async def test_sigterm_ends_it_with_its_child_in_the_middle_of_a_turn(stage: CliHarness) -> None:
    never = anyio.Event()
    stage.script.then(held(say("never"), never))
    async with shell(stage, *stage.flags, "app-server") as client:
        thread = (await client.ask("thread/start", cwd=str(stage.worktree)))["result"]["thread"]["id"]
        await client.ask("turn/start", threadId=thread, input=[{"type": "text", "text": "hello"}])
        await stage.model.wait_for_request()
        client.command.process.send_signal(signal.SIGTERM)
        assert await client.command.ended() == 0
    assert stage.codex_children() == []


async def test_without_a_stdin_it_says_so(stage: CliHarness) -> None:
    command = ["bash", "-c", 'exec 0<&-; exec "$@"', "bash", *stage.command("stdio")]
    done = await anyio.run_process(command, env=stage.environment, check=False, stdin=DEVNULL)
    assert (done.returncode, b"file descriptor 0: is closed" in done.stderr) == (1, True)


async def test_what_is_codexs_own_business_is_done_by_codex(stage: CliHarness) -> None:
    folder = stage.folder / "schema"
    done = await stage.run("-c", "a=1", "app-server", "generate-json-schema", "--experimental", "--out", str(folder))
    assert done.code == 0, done.err
    assert (folder / "v2" / "TurnStartParams.json").is_file()


CONVERSATION = """
import json, sys
from openai_codex import Codex
from openai_codex.client import CodexConfig
with Codex(CodexConfig(codex_bin=sys.argv[1], config_overrides=tuple(sys.argv[2:]))) as codex:
    thread = codex.thread_start()
    result = thread.run("Good morning.")
    print(json.dumps([codex.metadata.userAgent, thread.id, result.final_response]))
"""


async def test_the_official_python_sdk_runs_a_turn_through_it_unchanged(stage: CliHarness) -> None:
    pytest.importorskip("openai_codex")
    launcher = stage.folder / "trimpoint"
    launcher.write_text("#!/bin/bash\nexec " + " ".join(stage.command('"$@"')) + "\n")
    launcher.chmod(0o755)
    stage.script.then(say("Good day."))
    command = [sys.executable, "-c", CONVERSATION, str(launcher), *stage.overrides]
    with anyio.fail_after(DEADLINE_S):
        done = await anyio.run_process(command, env=stage.environment, cwd=stage.worktree, check=False)
    assert done.returncode == 0, done.stderr.decode()
    user_agent, thread_id, said = json.loads(done.stdout)
    assert (user_agent.startswith("codex_python_sdk/"), len(thread_id), said) == (True, 36, "Good day.")
    assert stage.codex_children() == []
