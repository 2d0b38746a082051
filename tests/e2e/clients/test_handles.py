"""Handles that clients choose, with the real Codex: each client's handles are separate, as if it
had its own Codex (docs/spec/clients.md).
"""

import base64
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from trimpoint.codex.appserver.experimental import experimental_api
from trimpoint.config.sections import CodexSection
from trimpoint.testkit import held, say

from tests.e2e.conftest import Harness
from tests.e2e.wire import DEADLINE_S, JsonRpcClient, connect_socket, connect_to_codex

pytestmark = [pytest.mark.codex, pytest.mark.usefixtures("running_harness")]

FREE = {"type": "dangerFullAccess"}


def command(script: str, handle: str | None = "p", **params: Any) -> tuple[str, dict[str, Any]]:
    """Returns a `command/exec`, whose output is streamed if it has a handle."""
    named = {} if handle is None else {"processId": handle, "streamStdoutStderr": True}
    return "command/exec", {
        "command": ["sh", "-c", script],
        "sandboxPolicy": FREE,
        "disableTimeout": True,
        **named,
        **params,
    }


def process(script: str) -> tuple[str, dict[str, Any]]:
    """Returns a `process/spawn`."""
    return "process/spawn", {
        "command": ["sh", "-c", script],
        "processHandle": "p",
        "cwd": "/",
        "streamStdin": True,
        "timeoutMs": None,
    }


async def start(
    wire: JsonRpcClient, request: tuple[str, dict[str, Any]], request_id: str = "started"
) -> None:
    method, params = request
    await wire.send({"id": request_id, "method": method, "params": params})


async def printed(wire: JsonRpcClient, after: int = 0) -> str:
    """Returns the first output of a command."""
    message = await wire.received_after("command/exec/outputDelta", after, processId="p")
    return base64.b64decode(message["params"]["deltaBase64"]).decode()


@asynccontextmanager
async def codex_beside(wire: JsonRpcClient, harness: Harness) -> AsyncIterator[JsonRpcClient]:
    """Yields a connection to another Codex without a daemon. It is started after the daemon's own,
    because two that start at once in a new home disturb each other.
    """
    await wire.initialize()
    async with connect_to_codex(harness) as codex:
        yield codex


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def all_said(fifo: Path) -> str:
    """Returns everything that is written to a FIFO until all its writers have closed it."""
    with anyio.fail_after(DEADLINE_S):
        return await anyio.to_thread.run_sync(fifo.read_text, abandon_on_cancel=True)


async def test_two_clients_use_the_same_handle_and_each_gets_the_output_of_its_own_command(
    harness: Harness,
) -> None:
    async with (
        harness.daemon(),
        connect_socket(harness.socket) as one,
        connect_socket(harness.socket) as two,
    ):
        for wire, name in ((one, "one"), (two, "two")):
            await wire.initialize(name)
            await start(wire, command(f"echo of-{name}; read line; echo $line", streamStdin=True))
            assert await printed(wire) == f"of-{name}\n"
        for wire, name in ((one, "one"), (two, "two")):
            heard = len(wire.received)
            await wire.result(
                "command/exec/write", processId="p", deltaBase64=encoded(f"told-{name}\n")
            )
            assert await printed(wire, heard) == f"told-{name}\n"
            assert (await wire.answer_to("started"))["result"]["exitCode"] == 0
        assert [wire.methods().count("command/exec/outputDelta") for wire in (one, two)] == [2, 2]


@pytest.mark.parametrize(
    ("request_", "others"),
    [
        (
            command("exec sleep 3600", streamStdin=True),
            [("write", {"processId": "p", "closeStdin": True}), ("terminate", {"processId": "p"})],
        ),
        (
            process("exec sleep 3600"),
            [
                ("writeStdin", {"processHandle": "p", "closeStdin": True}),
                ("kill", {"processHandle": "p"}),
            ],
        ),
    ],
    ids=["command/exec", "process/spawn"],
)
async def test_a_client_cannot_reach_a_process_of_another_client(
    harness: Harness, request_: tuple[str, dict[str, Any]], others: list[tuple[str, dict[str, Any]]]
) -> None:
    family = request_[0].rpartition("/")[0] if request_[0] == "process/spawn" else request_[0]
    async with (
        harness.daemon(),
        connect_socket(harness.socket) as owner,
        connect_socket(harness.socket) as other,
        codex_beside(owner, harness) as codex,
    ):
        for wire in (other, codex):
            await wire.initialize()
        await start(owner, request_)
        await owner.settled()
        for method, params in others:
            refused, expected = [
                await wire.ask(f"{family}/{method}", **params) for wire in (other, codex)
            ]
            assert refused["error"] == expected["error"]
        duplicates = [await owner.ask(request_[0], **request_[1])]
        await start(codex, request_)
        duplicates.append(await codex.ask(request_[0], **request_[1]))
        assert duplicates[0]["error"] == duplicates[1]["error"]
        for wire in (owner, codex):
            await wire.result(f"{family}/{others[1][0]}", **others[1][1])


@pytest.mark.parametrize(
    "request_of",
    [command, lambda script: command(script, None), process],
    ids=["named", "nameless", "process/spawn"],
)
async def test_processes_of_a_client_end_with_its_connection(
    harness: Harness, request_of: Callable[[str], tuple[str, dict[str, Any]]]
) -> None:
    leaving_fifo, staying_fifo, end_fifo = (
        harness.worktree / name for name in ("leaving", "staying", "end")
    )
    for fifo in (leaving_fifo, staying_fifo, end_fifo):
        os.mkfifo(fifo)
    async with (
        harness.daemon(),
        connect_socket(harness.socket) as staying,
        anyio.create_task_group() as tasks,
    ):
        said: list[str] = []
        await staying.initialize("staying")
        await start(
            staying,
            request_of(
                f"exec 3> {staying_fifo}; echo runs >&3; read line < {end_fifo}; echo goes-on >&3"
            ),
        )

        async def listen() -> None:
            said.append(await all_said(staying_fifo))

        tasks.start_soon(listen)
        async with connect_socket(harness.socket) as leaving:
            await leaving.initialize("leaving")
            await start(
                leaving, request_of(f"exec 3> {leaving_fifo}; echo runs >&3; exec sleep 3600")
            )
            opened = await anyio.to_thread.run_sync(leaving_fifo.open, abandon_on_cancel=True)
            with opened:
                assert await anyio.to_thread.run_sync(opened.readline) == "runs\n"
                await leaving.abort()
                with anyio.fail_after(DEADLINE_S):
                    assert await anyio.to_thread.run_sync(opened.read, abandon_on_cancel=True) == ""
        await anyio.to_thread.run_sync(end_fifo.write_text, "go\n")
    assert said == ["runs\ngoes-on\n"]


async def test_watches_with_the_same_handle_are_distinguished(harness: Harness) -> None:
    folders = [harness.worktree / "a", harness.worktree / "b"]
    async with (
        harness.daemon(),
        connect_socket(harness.socket) as one,
        connect_socket(harness.socket) as two,
    ):
        for wire, folder in zip((one, two), folders, strict=True):
            folder.mkdir()
            await wire.initialize()
            await wire.result("fs/watch", watchId="w", path=str(folder))
        (folders[1] / "new").write_text("x")
        changed = await two.received_after("fs/changed", watchId="w")
        assert all(path.startswith(str(folders[1])) for path in changed["params"]["changedPaths"])
        await one.settled()
        assert "fs/changed" not in one.methods()
        await two.result("fs/unwatch", watchId="w")
        (folders[0] / "new").write_text("x")
        await one.received_after("fs/changed", watchId="w")


async def test_search_sessions_with_the_same_handle_are_distinguished(harness: Harness) -> None:
    async with (
        harness.daemon(),
        connect_socket(harness.socket) as one,
        connect_socket(harness.socket) as two,
    ):
        for wire, name in ((one, "one"), (two, "two")):
            await wire.initialize()
            folder = harness.worktree / name
            folder.mkdir()
            (folder / f"needle-{name}").write_text("x")
            await wire.result("fuzzyFileSearch/sessionStart", sessionId="s", roots=[str(folder)])
            await wire.result("fuzzyFileSearch/sessionUpdate", sessionId="s", query="needle")
            await wire.until(
                lambda message, name=name: (
                    f"needle-{name}" in str(message) and message["params"]["sessionId"] == "s"
                )
            )
            await wire.received_after("fuzzyFileSearch/sessionCompleted", sessionId="s")
        await one.abort()
        # Ended in Codex too, where a session that goes on would answer to anybody who knows its
        # name there.
        await two.result("fuzzyFileSearch/sessionUpdate", sessionId="s", query="needle-t")
        await two.received_after("fuzzyFileSearch/sessionUpdated", query="needle-t")
        assert "needle-one" not in str(two.received)


@pytest.mark.own_daemon
async def test_a_program_may_run_longer_than_any_other_request(harness: Harness) -> None:
    harness.config = type(harness.config)(
        codex=CodexSection(request_deadline_s=0.5), compaction=harness.config.compaction
    )
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        await wire.initialize()
        result = await wire.result("command/exec", command=["sh", "-c", "sleep 0.8; echo late"])
        assert result["stdout"] == "late\n"


async def test_a_sample_is_cancelled_by_its_own_client_alone(harness: Harness) -> None:
    if "thread/sample/cancel" not in (await experimental_api(harness.profile)).methods:
        pytest.skip("this Codex cannot cancel a sample")
    release = anyio.Event()
    async with (
        harness.conversation() as talk,
        connect_socket(harness.socket) as mine,
        connect_socket(harness.socket) as other,
    ):
        await talk.turn()
        for wire in (mine, other):
            await wire.initialize()
        read = await mine.result("thread/read", threadId=talk.thread_id, includeTurns=True)
        harness.script.then(held(say("sampled"), release))
        sample = {
            "threadId": talk.thread_id,
            "expectedTurnId": read["thread"]["turns"][-1]["id"],
            "prompt": "sample-prompt.",
        }
        await start(mine, ("thread/sample", sample))
        with anyio.fail_after(DEADLINE_S):
            await harness.model.wait_for_request(lambda request: request.mentions("sample-prompt."))
        await other.result("thread/sample/cancel", requestId="started")
        await mine.settled()
        assert "started" not in [message.get("id") for message in mine.received]
        await mine.result("thread/sample/cancel", requestId="started")
        assert (await mine.answer_to("started"))["error"]["message"] == "sample canceled"
        release.set()


EXPERIMENTAL_REQUESTS: list[tuple[str, Any]] = [
    ("thread/search", {"searchTerm": "x"}),
    ("thread/search", {}),
    ("thread/settings/update", {"threadId": "x"}),
    ("process/spawn", {"command": ["true"], "cwd": "/", "processHandle": "p"}),
    ("thread/backgroundTerminals/list", {"threadId": "00000000-0000-7000-8000-000000000000"}),
    ("thread/start", {"dynamicTools": []}),
    ("thread/start", {"experimentalRawEvents": True}),
    ("thread/start", {"permissions": None, "cwd": 7}),
    ("thread/list", {"projectId": None}),
    ("thread/fork", {"threadId": "00000000-0000-7000-8000-000000000000", "path": None}),
    (
        "thread/start",
        {
            "approvalPolicy": {
                "granular": {"sandbox_approval": True, "rules": True, "mcp_elicitations": True}
            }
        },
    ),
]


async def test_a_client_without_the_experimental_api_is_refused_as_codex_refuses_it(
    harness: Harness,
) -> None:
    async with (
        harness.daemon(),
        connect_socket(harness.socket) as full,
        connect_socket(harness.socket) as ours,
        codex_beside(full, harness) as codex,
    ):
        for wire in (ours, codex):
            await wire.initialize(experimentalApi=False)
        for method, params in EXPERIMENTAL_REQUESTS:
            answers = [(await wire.ask(method, **params)).get("error") for wire in (ours, codex)]
            assert answers[0] == answers[1], (method, params)
        assert "error" not in await full.ask("thread/start", experimentalRawEvents=True)


async def test_a_client_without_the_experimental_api_is_not_told_of_it(harness: Harness) -> None:
    async with (
        harness.daemon(),
        connect_socket(harness.socket) as plain,
        connect_socket(harness.socket) as full,
    ):
        await plain.initialize(experimentalApi=False)
        await full.initialize()
        thread_id = (await plain.result("thread/start", cwd=str(harness.worktree)))["thread"]["id"]
        await full.result("thread/resume", threadId=thread_id)
        await full.result("thread/settings/update", threadId=thread_id, effort="low")
        await full.received_after("thread/settings/updated", threadId=thread_id)
        await plain.settled()
        assert "thread/settings/updated" not in plain.methods()
