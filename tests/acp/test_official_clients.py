"""Third-party clients, unchanged: acpx, both official SDKs, and acp-client. The messages that they
receive are checked against the schema.
"""

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.testkit import run, say

from tests.acp.editor import acp_command, acp_environment
from tests.acp.schema import ACPX, SDK, judge, node_environment, node_folder, npm_packages
from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness

pytestmark = pytest.mark.codex

TYPESCRIPT = """\
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const [cwd, ...command] = process.argv.slice(2);
const agent = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const kinds = new Set();
let said = "";
const app = client({ name: "typescript" })
  .onNotification(methods.client.session.update, ({ params: { update } }) => {
    kinds.add(update.sessionUpdate);
    if (update.sessionUpdate === "agent_message_chunk") said += update.content.text + "|";
  })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    console.log(JSON.stringify(["asked", ...params.options.map((one) => one.name)]));
    const always = params.options.find((one) => one.kind === "allow_always");
    return { outcome: { outcome: "selected", optionId: always.optionId } };
  });
await app.connectWith(stream, async (context) => {
  const ask = (method, params) => context.request(method, params);
  await ask(methods.agent.initialize, {
    protocolVersion: 1,
    clientCapabilities: { session: { compaction: {}, notices: {} } },
  });
  const { sessionId } = await ask(methods.agent.session.new, { cwd, mcpServers: [] });
  const prompt = (text) =>
    ask(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  for (const text of ["prompt-1.", "prompt-2.", "/clear 1", "prompt-3.", "/compact --keep 1 --force", "/new", "prompt-4."])
    console.log(JSON.stringify([text, (await prompt(text)).stopReason]));
  await ask(methods.agent.session.load, { sessionId, cwd, mcpServers: [] });
  await ask(methods.agent.session.setMode, { sessionId, modeId: "ask" });
  console.log(JSON.stringify(["prompt-5.", (await prompt("prompt-5.")).stopReason]));
});
console.log(JSON.stringify([...kinds]));
agent.stdin.end();
"""

PYTHON = """\
import asyncio, json, os, sys
from acp import PROTOCOL_VERSION, spawn_agent_process, text_block
from acp.interfaces import Client

class Editor(Client):
    async def request_permission(self, **params):
        raise AssertionError("nothing asks")
    async def session_update(self, session_id, update, **more):
        print(json.dumps(["update", update.session_update]))

async def main():
    cwd, *command = sys.argv[1:]
    async with spawn_agent_process(Editor(), *command, env=dict(os.environ)) as (agent, _):
        await agent.initialize(protocol_version=PROTOCOL_VERSION)
        session = await agent.new_session(cwd=cwd, mcp_servers=[])
        for text in ("prompt-1.", "prompt-2.", "/clear 1", "prompt-3."):
            answer = await agent.prompt(session_id=session.session_id, prompt=[text_block(text)])
            print(json.dumps([text, answer.stop_reason]))
        await agent.load_session(cwd=cwd, session_id=session.session_id, mcp_servers=[])

asyncio.run(main())
"""

SMALLEST = """\
import asyncio, json, sys
from acp_client import Agent

async def main():
    cwd, *command = sys.argv[1:]
    agent = Agent(command, cwd)
    print(json.dumps(await agent.ask("prompt-1.")))
    await agent.stop()

asyncio.run(main())
"""


async def _printed(command: list[str], harness: Harness, **environment: str) -> list[Any]:
    """Returns the JSON lines that a program prints."""
    env = acp_environment(harness) | environment
    with anyio.fail_after(SCENARIO_S):
        done = await anyio.run_process(command, env=env, cwd=harness.worktree, check=False)
    assert done.returncode == 0, done.stderr.decode()[-3000:] + done.stdout.decode()[-2000:]
    return [msgspec.json.decode(line) for line in done.stdout.splitlines() if line.strip()]


@pytest.fixture
def recorded(harness: Harness) -> Iterator[str]:
    """Yields the path of an agent that records the messages that pass through it. They are checked
    against the schema at the end.
    """
    folder = harness.home / "acp"
    folder.mkdir()
    agent = folder / "agent"
    command = shlex.join(acp_command(harness))
    agent.write_text(f"#!/bin/sh\ntee {folder}/sent.$$ | {command} | tee {folder}/received.$$\n")
    agent.chmod(0o755)
    yield str(agent)
    processes = [path.suffix for path in folder.glob("sent.*")]
    assert processes
    for suffix in processes:
        sent, received = (_messages(folder / f"{name}{suffix}") for name in ("sent", "received"))
        assert received
        assert judge().problems(sent, received) == []


def _messages(path: Path) -> list[Any]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def _numbered(harness: Harness, count: int) -> None:
    for number in range(1, count + 1):
        harness.script.then(say(f"answer-{number}."))


async def test_the_typescript_sdk_takes_all_that_it_is_sent(
    harness: Harness, recorded: str
) -> None:
    script = npm_packages(SDK).parent / "client.mjs"
    script.write_text(TYPESCRIPT)
    _numbered(harness, 4)
    harness.script.then(run("touch made.txt"), say("Made."))
    command = [str(node_folder() / "node"), str(script), str(harness.worktree)]
    *printed, kinds = await _printed([*command, recorded], harness)
    questions = [names for word, *names in printed if word == "asked"]
    assert [reason for word, reason, *_ in printed if word != "asked"] == ["end_turn"] * 8
    rule = 'prefix_rule(pattern=["touch", "made.txt"], decision="allow")'
    assert [rule in " ".join(names) for names in questions] == [False, True]
    assert (harness.worktree / "made.txt").exists()
    assert {"agent_message_chunk", "usage_update", "compaction_update"} <= set(kinds)
    assert {"user_message_chunk", "available_commands_update"} <= set(kinds)
    third = next(one for one in harness.model.requests if one.mentions("prompt-3."))
    assert third.mentions("answer-2.")
    assert not third.mentions("answer-1.")
    fourth = next(one for one in harness.model.requests if one.mentions("prompt-4."))
    assert not fourth.mentions("answer-3.")


async def test_the_python_sdk_takes_all_that_it_is_sent(harness: Harness, recorded: str) -> None:
    _numbered(harness, 3)
    command = [sys.executable, "-c", PYTHON, str(harness.worktree), recorded]
    printed = await _printed(command, harness)
    prompts = [one for one in printed if one[0] != "update"]
    assert [reason for _, reason in prompts] == ["end_turn"] * 4
    assert ["update", "usage_update"] in printed
    assert harness.model.requests[-1].mentions("answer-2.")
    assert not harness.model.requests[-1].mentions("answer-1.")


async def test_the_smallest_client_gets_its_answer(harness: Harness, recorded: str) -> None:
    _numbered(harness, 1)
    command = [sys.executable, "-c", SMALLEST, str(harness.worktree), recorded]
    [said] = await _printed(command, harness)
    assert "answer-1." in said


async def test_acpx_runs_a_command_and_sees_its_output(harness: Harness, recorded: str) -> None:
    harness.script.then(run("echo from-the-shell"), say("It ran."))
    acpx = npm_packages(ACPX) / ".bin" / "acpx"
    options = ["--format", "json", "--approve-all", "--agent", recorded]
    command = [str(node_folder() / "node"), str(acpx.resolve()), *options, "exec", "Run it."]
    lines = await _printed(command, harness, PATH=node_environment()["PATH"])
    updates = [one["params"]["update"] for one in lines if one.get("method") == "session/update"]
    kinds = [one["sessionUpdate"] for one in updates]
    assert "tool_call" in kinds
    assert "from-the-shell" in str(updates)
    assert {"stopReason": "end_turn"} in [one.get("result") for one in lines]
