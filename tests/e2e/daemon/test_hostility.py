"""Other users of the machine, and misbehaving clients, can do little to a daemon, and nothing to
other clients (docs/spec/running.md).
"""

import asyncio
import os
import resource
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import msgspec
import pytest
from anyio.abc import Process
from trimpoint.config.sections import LimitsSection

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness
from tests.e2e.daemon_process import daemon_process
from tests.e2e.wire import DEADLINE_S, JsonRpcClient, connect_socket

pytestmark = pytest.mark.codex

MIB = 1024 * 1024
HELLO = b'{"id":1,"method":"initialize","params":{"clientInfo":{"name":"x","version":"1"}}}\n'


def limited(harness: Harness, **limits: float) -> None:
    harness.config = msgspec.structs.replace(harness.config, limits=LimitsSection(**limits))  # type: ignore[arg-type]


async def works(wire: JsonRpcClient) -> None:
    assert (await wire.result("sidecar/status"))["codex"]["state"] == "connected"
    assert (await wire.result("model/list"))["data"]


def memory_bytes(process: Process, field: str) -> int:
    [line] = [
        line
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines()
        if line.startswith(f"{field}:")
    ]
    return int(line.split()[1]) * 1024


@pytest.fixture
def many_descriptors() -> Iterator[int]:
    """Allows this process as many file descriptors as the system permits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# --- connections that come to nothing
# ------------------------------------------------------------------------------------


async def test_a_client_without_a_handshake_is_disconnected_after_the_deadline(
    harness: Harness,
) -> None:
    limited(harness, handshake_deadline_s=3, max_clients=4)
    async with harness.daemon(), connect_socket(harness.socket) as good:
        await good.initialize()
        async with AsyncExitStack() as stack:
            silent = [
                await stack.enter_async_context(connect_socket(harness.socket)) for _ in range(3)
            ]
            await silent[1].send_bytes(b'{"id":1,"method":"initia')
            await silent[2].ask("initialize", nothing="of use")
            for wire in silent:
                await wire.until_closed()
                last = wire.received[-1]
                assert last["id"] is None
                assert (last["error"]["code"], last["error"]["data"]["reason"]) == (
                    -32600,
                    "not_initialized",
                )
                assert "within 3 s" in last["error"]["message"]
                assert last["error"]["data"]["hint"]
        await works(good)
        assert (await good.result("sidecar/status"))["clients"] == 1


async def test_an_initialized_client_may_stay_silent(
    harness: Harness,
) -> None:
    limited(harness, handshake_deadline_s=2)
    async with (
        harness.daemon(),
        connect_socket(harness.socket) as good,
        connect_socket(harness.socket) as overdue,
    ):
        await good.initialize()
        await overdue.until_closed()
        async with connect_socket(harness.socket) as later:
            await later.until_closed()  # two deadlines have passed
        await works(good)


async def test_a_thousand_clients_are_served_and_leave_nothing_behind(
    harness: Harness, many_descriptors: int
) -> None:
    if many_descriptors < 2500:
        pytest.skip(
            f"the system allows {many_descriptors} descriptors, too few for a thousand clients"
        )
    async with daemon_process(harness) as process, connect_socket(harness.socket) as first:
        await first.initialize()
        before = _descriptors(process)
        served = await _thousand(harness)
        assert served == 1000
        await works(first)
        with anyio.fail_after(DEADLINE_S):
            while _descriptors(process) > before:
                await first.ask("sidecar/status")
        assert (await first.result("sidecar/status"))["clients"] == 1


def _descriptors(process: Process) -> int:
    return len(os.listdir(f"/proc/{process.pid}/fd"))


async def _thousand(harness: Harness) -> int:
    """Connects a thousand clients at once, and returns how many of them get two answers."""
    answered = 0
    everyone = anyio.Event()

    async def one() -> None:
        nonlocal answered
        reader, writer = await asyncio.open_unix_connection(harness.socket, limit=MIB)
        writer.write(HELLO + b'{"id":2,"method":"sidecar/status"}\n')
        while not (await reader.readline()).startswith(b'{"id":2,"result"'):
            pass
        answered += 1
        if answered == 1000:
            everyone.set()
        await everyone.wait()
        writer.close()

    with anyio.fail_after(SCENARIO_S):
        async with anyio.create_task_group() as tasks:
            for _ in range(1000):
                tasks.start_soon(one)
    return answered


# --- floods
# --------------------------------------------------------------------------------------------------------------


async def test_a_client_that_floods_without_reading_is_slowed_and_the_others_are_served(
    harness: Harness,
) -> None:
    limited(harness, max_outbox_bytes=MIB, max_requests_in_flight=64)
    async with daemon_process(harness) as process, connect_socket(harness.socket) as good:
        await good.initialize()
        before = memory_bytes(process, "VmRSS")
        with socket.socket(socket.AF_UNIX) as flood:
            flood.connect(os.fspath(harness.socket))
            flood.setblocking(False)
            flood.send(HELLO)
            sent_bytes = await _pour(
                flood, b'{"id":7,"method":"sidecar/status"}\n' * 1000, 20 * MIB, good
            )
            assert sent_bytes < 20 * MIB, "it was made to wait"
            await works(good)
        await works(good)
        assert memory_bytes(process, "VmHWM") - before < 32 * MIB


async def _pour(flood: socket.socket, data: bytes, most_bytes: int, good: JsonRpcClient) -> int:
    """Sends until the daemon has read nothing for twenty answers to another client, and returns how
    many bytes it has read.
    """
    sent, rest, stalled = 0, memoryview(data), 0
    while sent < most_bytes and stalled < 20:
        try:
            taken = flood.send(rest)
            rest, sent, stalled = rest[taken:] or memoryview(data), sent + taken, 0
        except BlockingIOError:
            stalled += 1
            await good.ask("sidecar/status")
    return sent


async def test_a_batch_too_large_is_refused_whole_and_quickly(harness: Harness) -> None:
    async with (
        harness.daemon(),
        connect_socket(harness.socket) as wire,
        connect_socket(harness.socket) as good,
    ):
        await wire.initialize()
        await good.initialize("good")
        after = len(wire.received)
        await wire.send_bytes(
            b"[" + b",".join([b'{"id":1,"method":"sidecar/status"}'] * 50_000) + b"]\n"
        )
        refusal = await wire.until(lambda message: "id" in message and message["id"] is None, after)
        assert "at most 1024 members, this one has 50000" in refusal["error"]["message"]
        await works(wire)
        await works(good)


async def test_a_message_of_too_many_values_or_bytes_is_refused_and_harms_no_other_client(
    harness: Harness,
) -> None:
    async with (
        harness.daemon(),
        connect_socket(harness.socket) as wire,
        connect_socket(harness.socket) as good,
    ):
        await wire.initialize()
        await good.initialize("good")
        await wire.send_bytes(
            b'{"id":"many","method":"model/list","params":{"x":[%b0]}}\n' % (b"[]," * MIB)
        )
        refusal = await wire.answer_to("many")
        assert "more than 250,000 values" in refusal["error"]["message"]
        after = len(wire.received)
        await wire.send_bytes(
            b'{"id":1,"method":"model/list","params":{"x":"%b"}}\n' % (b"x" * (60 * MIB))
        )
        refusal = await wire.until(lambda message: "error" in message, after)
        assert refusal["error"]["data"]["reason"] == "message_too_large"
        await works(wire)
        await works(good)


NESTED = [b"[" * 126 + b"]" * 126, b'{"a":' * 200 + b"1" + b"}" * 200, b"[" * 900 + b"]" * 900]


@pytest.mark.parametrize("params", NESTED, ids=["one too many", "objects", "many"])
async def test_a_message_too_deep_for_codex_is_refused_under_its_id(
    harness: Harness, params: bytes
) -> None:
    async with harness.daemon(), connect_socket(harness.socket) as wire:
        await wire.initialize()
        await wire.send_bytes(b'{"id":"deep","method":"model/list","params":{"x":%b}}\n' % params)
        error = (await wire.answer_to("deep"))["error"]
        assert (error["code"], "deeper than 127 levels" in error["message"]) == (-32600, True)
        await wire.send_bytes(
            b'{"id":"fits","method":"model/list","params":{"x":%b}}\n' % (b"[" * 125 + b"]" * 125)
        )
        assert (await wire.answer_to("fits"))["result"]["data"]


async def test_deeply_nested_json_harms_no_other_client(harness: Harness) -> None:
    async with (
        harness.daemon(),
        connect_socket(harness.socket) as wire,
        connect_socket(harness.socket) as good,
    ):
        await wire.initialize()
        await good.initialize("good")
        for bomb in (
            b"[" * 5 * MIB,
            b'{"a":' * MIB,
            b'{"id":1,"method":"m","params":' + b"[" * MIB + b"]" * MIB + b"}",
        ):
            after = len(wire.received)
            await wire.send_bytes(bomb + b"\n")
            await wire.until(lambda message: "error" in message, after)
            await works(good)
        await works(wire)


# --- a reader that stalls
# ------------------------------------------------------------------------------------------------

STREAM_BYTES = 100 * 1000 * 1000
OUTBOX_BYTES = 8 * MIB


async def test_a_hundred_megabytes_to_a_client_that_does_not_read_cost_no_more_than_outboxes(
    harness: Harness,
) -> None:
    limited(harness, max_outbox_bytes=OUTBOX_BYTES)
    async with daemon_process(harness) as process, connect_socket(harness.socket) as owner:
        await owner.initialize()
        answer = await owner.result(
            "thread/start",
            cwd=str(harness.worktree),
            approvalPolicy="never",
            sandbox="danger-full-access",
        )
        thread_id = str(answer["thread"]["id"])
        async with _taking_part(harness, thread_id) as (reader, _):
            await owner.result("thread/unsubscribe", threadId=thread_id)
            await _stream(owner, thread_id, reader)
            # What such a turn costs by itself, with a client that reads.
            before = memory_bytes(process, "VmHWM")
            async with _taking_part(harness, thread_id):
                received = 0
                while received < STREAM_BYTES:
                    received += await _stream(owner, thread_id, reader)
            # On a busy machine the client that reads is behind as well, and has an outbox, too.
            assert memory_bytes(process, "VmHWM") - before < 2 * OUTBOX_BYTES + 8 * MIB
        await works(owner)
        log = [
            msgspec.json.decode(line)
            for line in (harness.home / "daemon.log").read_text().splitlines()
        ]
    [dropped] = [line for line in log if line["event"] == "client_dropped"]
    assert dropped["max_outbox_bytes"] == OUTBOX_BYTES
    assert [
        line["reason"]
        for line in log
        if line.get("client") == dropped["client"] and line["event"] == "client_disconnected"
    ] == [
        f"it does not read: {dropped['queued_bytes']} bytes wait for it, the limit is {OUTBOX_BYTES}"
    ]


@asynccontextmanager
async def _taking_part(
    harness: Harness, thread_id: str
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Yields a client subscribed to the thread that reads only when the test does."""
    reader, writer = await asyncio.open_unix_connection(harness.socket, limit=MIB)
    resume = {"id": 2, "method": "thread/resume", "params": {"threadId": thread_id}}
    try:
        writer.write(HELLO + msgspec.json.encode(resume) + b"\n")
        with anyio.fail_after(DEADLINE_S):
            while not (await reader.readline()).startswith(b'{"id":2,"result"'):
                pass
        yield reader, writer
    finally:
        # Without waiting for what this end has not sent: there is nothing.
        writer.transport.abort()


async def _stream(owner: JsonRpcClient, thread_id: str, reader: asyncio.StreamReader) -> int:
    """Has a command of the thread write much, and returns how many bytes of that came to `reader`."""
    command = "yes 0123456789012345678901234567890123456789 | head -c 100000000"
    await owner.result("thread/shellCommand", threadId=thread_id, command=command)
    return await _until_turn_completed(reader)


async def _until_turn_completed(reader: asyncio.StreamReader) -> int:
    size, tail = 0, b""
    with anyio.fail_after(SCENARIO_S):
        while b'"turn/completed"' not in tail:
            data = await reader.read(256 * 1024)
            assert data, "the one that reads was dropped"
            size, tail = size + len(data), tail[-64:] + data
    return size
