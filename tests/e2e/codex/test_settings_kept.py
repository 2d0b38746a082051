"""What a thread was set to holds after Codex, the daemon or the thread's place in memory has gone:
what the model is sent next, and what a command may write.
"""

import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest
from trimpoint.cli.connection.client import Client
from trimpoint.config.sections import ThreadsSection
from trimpoint.testkit import ModelRequest, Reply, run, say
from trimpoint.threads import loaded_threads

from tests.deadlines import STEP_S
from tests.e2e.conftest import DaemonLives, Harness

pytestmark = pytest.mark.codex

_OUTSIDE_OF_TMP = {
    "sandbox_workspace_write.exclude_slash_tmp": True,
    "sandbox_workspace_write.exclude_tmpdir_env_var": True,
}
# Settings of the thread, and those that its first turn brings.
Settings = tuple[dict[str, Any], dict[str, Any]]
_MODEL_AND_APPROVALS = {"model": "gpt-5-codex", "approvalPolicy": "on-request"}


def settings(home: str) -> dict[str, Settings]:
    """Returns settings by where they come from. With most of them a command may write to `home`,
    which is beside the worktree.
    """
    policy = {
        "type": "workspaceWrite",
        "writableRoots": [home],
        "networkAccess": True,
        "excludeSlashTmp": True,
        "excludeTmpdirEnvVar": True,
    }
    configured = {
        **_OUTSIDE_OF_TMP,
        "model_reasoning_effort": "high",
        "web_search": "disabled",
        "sandbox_workspace_write.network_access": True,
        "sandbox_workspace_write.writable_roots": [home],
    }
    workspace = {"sandbox": "workspace-write", "config": _OUTSIDE_OF_TMP}
    instructed = {"baseInstructions": "You are Bob.", "developerInstructions": "Be brief."}
    turned = {**_MODEL_AND_APPROVALS, "effort": "high", "sandboxPolicy": policy}
    return {
        "the start": (
            {"sandbox": "workspace-write", **_MODEL_AND_APPROVALS, **instructed}
            | {"config": configured},
            {},
        ),
        "a turn": ({**workspace, **instructed}, turned),
        "a turn, without a configuration": ({}, turned),
        "a mode alone": ({"sandbox": "workspace-write", "approvalPolicy": "never"}, {}),
        "a profile": ({"permissions": ":workspace", "approvalPolicy": "never"}, {}),
        "everything": (
            {"sandbox": "danger-full-access", "approvalPolicy": "never"}
            | {"config": {"web_search": "disabled"}},
            {},
        ),
        "less than at the start": (workspace, {"sandboxPolicy": {"type": "readOnly"}}),
        "more than at the start": (
            {"sandbox": "read-only"},
            {"sandboxPolicy": {"type": "dangerFullAccess"}},
        ),
    }


async def turn(
    client: Client, harness: Harness, thread_id: str, *replies: Reply, **params: Any
) -> ModelRequest:
    after = len(client.messages)
    harness.script.then(*replies, say("done"))
    prompt = [{"type": "text", "text": "go"}]
    await client.request("turn/start", threadId=thread_id, input=prompt, **params)
    await client.received("turn/completed", after, threadId=thread_id)
    return harness.model.turn_requests()[-1]


async def in_force(client: Client, harness: Harness, thread_id: str) -> dict[str, Any]:
    """Runs a turn, and returns what is seen of the thread's settings in it."""
    written = [harness.worktree / "inside", harness.home / "root", harness.state_dir.parent / "out"]
    for path in written:
        path.unlink(missing_ok=True)
    commands = "; ".join(f"touch {path}" for path in written)
    request = await turn(client, harness, thread_id, run(commands))
    told = [text for text in request.texts() if "sandbox_mode" in text]
    answer = await client.request("thread/resume", threadId=thread_id, excludeTurns=True)
    return {
        "permissions": told[-1],
        "output": str(request.input),
        "written": [path.name for path in written if path.exists()],
        "tools": sorted(str(tool.get("name", tool["type"])) for tool in request.body["tools"]),
        "instructions": [
            request.mentions(text) or text in request.body.get("instructions", "")
            for text in ("You are Bob.", "Be brief.")
        ],
        **{name: request.body.get(name) for name in ("model", "reasoning", "text")},
        **{name: answer[name] for name in ("sandbox", "approvalPolicy", "reasoningEffort")},
    }


Dies = Callable[[Harness, DaemonLives, list[str]], Awaitable[None]]


async def codex_dies(harness: Harness, lives: DaemonLives, thread_ids: list[str]) -> None:
    epoch = (await lives.client.request("sidecar/status"))["codex"]["epoch"]
    os.kill(harness.child_pid(), signal.SIGKILL)
    while (await lives.client.request("sidecar/status"))["codex"]["epoch"] == epoch:
        await anyio.lowlevel.checkpoint()


async def codex_dies_in_a_turn(harness: Harness, lives: DaemonLives, thread_ids: list[str]) -> None:
    asked, over = anyio.Event(), anyio.Event()

    async def answered_late(request: ModelRequest) -> Reply:
        asked.set()
        await over.wait()
        return say("late")

    harness.script.then(answered_late)
    prompt = [{"type": "text", "text": "go"}]
    await lives.client.request("turn/start", threadId=thread_ids[0], input=prompt)
    await asked.wait()
    after = len(lives.client.messages)
    await codex_dies(harness, lives, thread_ids)
    over.set()
    await lives.client.received("turn/completed", after, threadId=thread_ids[0])


async def daemon_restarts(harness: Harness, lives: DaemonLives, thread_ids: list[str]) -> None:
    await lives.begin_anew()


async def daemon_restarts_and_its_client_resumes(
    harness: Harness, lives: DaemonLives, thread_ids: list[str]
) -> None:
    client = await lives.begin_anew()
    for thread_id in thread_ids:
        await client.request("thread/resume", threadId=thread_id)


async def codex_dies_after_a_trim(
    harness: Harness, lives: DaemonLives, thread_ids: list[str]
) -> None:
    for thread_id in thread_ids:
        await lives.client.request("commands/execute", threadId=thread_id, text="/clear 1")
    await codex_dies(harness, lives, thread_ids)


async def threads_leave_memory(harness: Harness, lives: DaemonLives, thread_ids: list[str]) -> None:
    client = await lives.begin_anew()
    while any(row["loaded"] for row in (await client.request("orchestration/snapshot"))["threads"]):
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize(
    "dies",
    [
        codex_dies, codex_dies_in_a_turn, daemon_restarts, daemon_restarts_and_its_client_resumes,
        codex_dies_after_a_trim, threads_leave_memory,
    ],
)  # fmt: skip
async def test_a_thread_keeps_its_settings(
    harness: Harness, dies: Dies, monkeypatch: pytest.MonkeyPatch
) -> None:
    before: dict[str, dict[str, Any]] = {}
    after: dict[str, dict[str, Any]] = {}
    ids: dict[str, str] = {}
    monkeypatch.setattr(loaded_threads, "SWEEP_S", 0.02)
    if dies is threads_leave_memory:
        harness.config = msgspec.structs.replace(
            harness.config, threads=ThreadsSection(evict_after_s=0.01)
        )
    async with anyio.create_task_group() as tasks:
        lives = DaemonLives(harness, tasks)
        await lives.begin()
        with anyio.fail_after(4 * STEP_S):
            for name, (of_thread, of_turn) in settings(str(harness.home)).items():
                started = await lives.client.request(
                    "thread/start", cwd=str(harness.worktree), **of_thread
                )
                ids[name] = started["thread"]["id"]
                await turn(lives.client, harness, ids[name], **of_turn)
                before[name] = await in_force(lives.client, harness, ids[name])
            await dies(harness, lives, [*ids.values()])
            for name, thread_id in ids.items():
                after[name] = await in_force(lives.client, harness, thread_id)
        await lives.end()
    outputs = {name: facts.pop("output") for name, facts in before.items()}
    for facts in after.values():
        del facts["output"]
    assert after == before
    if "bubblewrap is unavailable" in outputs["a mode alone"]:
        return  # Packages of old versions come without the sandbox's program.
    assert before["the start"]["written"] == before["a turn"]["written"] == ["inside", "root"]
    assert before["a mode alone"]["written"][0] == "inside"
    assert before["less than at the start"]["written"] == []


@pytest.mark.parametrize("trims", [None, "/clear 1"], ids=["as it is", "after a trim"])
async def test_a_fork_has_the_approvals_and_instructions_of_its_origin_in_every_version(
    harness: Harness, trims: str | None
) -> None:
    given = {"approvalPolicy": "never", "sandbox": "danger-full-access"}
    async with harness.daemon(), harness.client() as client:
        started = await client.request(
            "thread/start",
            cwd=str(harness.worktree),
            baseInstructions="You are Bob.",
            developerInstructions="Be brief.",
            **given,
        )
        thread_id = started["thread"]["id"]
        for _ in range(2):
            await turn(client, harness, thread_id)
        if trims is not None:
            await client.request("commands/execute", threadId=thread_id, text=trims)
        fork = await client.request("thread/fork", threadId=thread_id)
        assert fork["approvalPolicy"] == "never"
        for text in ("", "/clear"):
            if text:
                await client.request("commands/execute", threadId=fork["thread"]["id"], text=text)
            request = await turn(client, harness, fork["thread"]["id"])
            told = str(request.input) + request.body.get("instructions", "")
            assert "You are Bob." in told
            assert "Be brief." in told
