"""Requests that are sent in one piece before the daemon, or its Codex, has started are answered as
by one that runs: `initialize` first, and each with a result.
"""

import json
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from websockets.asyncio.client import unix_connect

from tests.cli.daemon.shells import INITIALIZE
from tests.cli.stage import DEADLINE_S, CliHarness, Running

pytestmark = pytest.mark.codex

Message = dict[str, Any]


def requests(stage: CliHarness) -> list[Message]:
    started = {"cwd": str(stage.worktree)}
    return [
        INITIALIZE,
        {"method": "initialized"},
        {"id": 2, "method": "thread/start", "params": started},
        {"id": 3, "method": "thread/list", "params": {}},
        {"id": 4, "method": "sidecar/status", "params": {}},
        {"id": 5, "method": "thread/start", "params": started},
    ]


def in_one_piece(messages: Sequence[Message]) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def answers_in(received: Sequence[Message]) -> list[Message]:
    return [one for one in received if "id" in one and "method" not in one]


def assert_answered(received: Sequence[Message], count: int) -> None:
    """Asserts that there is a result for each id from 1 to `count`, the first one first."""
    answers = answers_in(received)
    assert sorted(one["id"] for one in answers) == [*range(1, count + 1)], answers
    assert answers[0]["id"] == 1
    assert all("result" in one for one in answers), answers


async def said(command: Running, messages: bytes, count: int) -> list[Message]:
    """Writes messages to a command's stdin, and returns its output up to the last answer."""
    assert command.process.stdin is not None
    await command.process.stdin.send(messages)
    with anyio.fail_after(DEADLINE_S):
        while True:
            received = [json.loads(line) for line in command.out.split("\n")[:-1]]
            if len(answers_in(received)) == count:
                return received
            await anyio.sleep(0.01)


async def test_at_stdin_of_the_program_that_starts_the_daemon(stage: CliHarness) -> None:
    async with stage.running(*stage.flags, "app-server") as command:
        received = await said(command, in_one_piece(requests(stage)), 5)
    assert_answered(received, 5)


async def test_at_the_socket_of_a_daemon_whose_codex_starts(stage: CliHarness) -> None:
    async with stage.running("serve", *stage.flags), await connected(stage) as stream:
        await stream.send(in_one_piece(requests(stage)))
        lines, received = b"", list[Message]()
        with anyio.fail_after(DEADLINE_S):
            while len(answers_in(received)) < 5:
                lines += await stream.receive()
                received = [json.loads(line) for line in lines.split(b"\n")[:-1]]
    assert_answered(received, 5)


async def test_over_a_websocket_to_a_daemon_whose_codex_starts(stage: CliHarness) -> None:
    async with stage.running("serve", *stage.flags):
        await (await connected(stage)).aclose()
        async with unix_connect(str(stage.socket), "ws://localhost/rpc") as frames:
            for message in requests(stage):
                await frames.send(json.dumps(message))
            received: list[Message] = []
            with anyio.fail_after(DEADLINE_S):
                while len(answers_in(received)) < 5:
                    received.append(json.loads(await frames.recv()))
    assert_answered(received, 5)


async def test_by_an_editor_whose_agent_starts_the_daemon(stage: CliHarness) -> None:
    given = {"cwd": str(stage.worktree), "mcpServers": []}
    asked = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
        {"id": 2, "method": "session/new", "params": given},
        {"id": 3, "method": "session/new", "params": given},
    ]
    messages = in_one_piece([{"jsonrpc": "2.0", **one} for one in asked])
    stage.configure(f"[codex]\noverrides = {json.dumps(stage.overrides)}\n")
    async with stage.running("acp") as command:
        received = await said(command, messages, 3)
    assert_answered(received, 3)


async def connected(stage: CliHarness) -> anyio.abc.SocketStream:
    """Connects as soon as the daemon listens."""
    with anyio.fail_after(DEADLINE_S):
        while True:
            try:
                return await anyio.connect_unix(str(stage.socket))
            except OSError:
                await anyio.sleep(0.01)
