"""Commands that need a newer Codex are refused with a message that names the version, and change
nothing.

The stand-in for Codex implements as much of its protocol as one turn needs; its error for an
unknown method is in Codex's own words (measured: 0.133 to 0.171).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec import Raw
from trimpoint.app import running_daemon
from trimpoint.cli.connection.client import Client, connect
from trimpoint.codex.appserver.errors import ProviderError, ProviderTimeout
from trimpoint.codex.appserver.versions import lacking, missing_method
from trimpoint.config.sections import Config
from trimpoint.operations.provider.version_requirements import refuse_if_too_old
from trimpoint.threads.errors import CommandRefused
from trimpoint.transport.listeners import serve_unix
from trimpoint_protocol.commands import (
    ArchiveAndNew,
    ArchiveThread,
    CompactContext,
    RenameThread,
    TrimContext,
)

from tests.codex.children import scripted
from tests.deadlines import STEP_S

THREAD = "01900000-0000-7000-8000-000000000001"
STAND_IN = """
    def say(**message):
        print(json.dumps(message), flush=True)

    def turn(number):
        params = {"threadId": THREAD, "turnId": f"turn-{number}"}
        say(method="turn/started", params={**params, "turn": {"id": f"turn-{number}", "status": "inProgress", "items": []}})
        for item in (
            {"type": "userMessage", "id": f"user-{number}", "content": [{"type": "text", "text": "hi"}]},
            {"type": "agentMessage", "id": f"agent-{number}", "text": "ho"},
        ):
            say(method="item/completed", params={**params, "item": item})
        say(method="turn/completed", params={**params, "turn": {"id": f"turn-{number}", "status": "completed", "items": []}})

    turns = 0
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if method in LACKS:
            error = f"Invalid request: unknown variant `{method}`, expected one of `initialize`, `thread/start`"
            say(id=number, error={"code": -32600, "message": error})
        elif method == "initialize":
            say(id=number, result={"userAgent": f"trimpoint/{VERSION} (Linux)"})
        elif method == "turn/start":
            turns += 1
            say(id=number, result={"turn": {"id": f"turn-{turns}", "status": "inProgress", "items": []}})
            turn(turns)
        elif number is not None:
            say(id=number, result={"thread": {"id": THREAD, "cwd": "/", "turns": []}})
"""


def refused(message: str) -> ProviderError:
    return ProviderError(-32600, message, None, Raw(b"{}"))


@asynccontextmanager
async def thread_on(version: str, *lacks: str, folder: Path) -> AsyncIterator[Client]:
    """Yields a client of a daemon whose Codex has this version and lacks the methods in `lacks`.
    The client's thread has had two turns.
    """
    constants = f"THREAD, VERSION, LACKS = {THREAD!r}, {version!r}, {lacks!r}\n"
    (folder / "bin").mkdir()
    profile = scripted(folder / "bin", "\n    " + constants + STAND_IN)
    socket = folder / "s" / "t.sock"
    with anyio.fail_after(STEP_S):
        async with (
            running_daemon(Config(), folder / "state", profile) as daemon,
            anyio.create_task_group() as tasks,
        ):
            await tasks.start(
                lambda task_status: serve_unix(socket, daemon.serve, task_status=task_status)
            )
            async with connect(socket) as client:
                await client.initialize("test")
                await client.request("thread/start", cwd="/")
                for _ in range(2):
                    heard = len(client.messages)
                    await client.request(
                        "turn/start", threadId=THREAD, input=[{"type": "text", "text": "hi"}]
                    )
                    await client.received("turn/completed", heard)
                yield client
            tasks.cancel_scope.cancel()


async def type_in(client: Client, text: str) -> dict[str, Any]:
    outcome: dict[str, Any] = await client.request("commands/execute", threadId=THREAD, text=text)
    return outcome


async def trim_points(client: Client) -> list[Any]:
    snapshot = await client.request("orchestration/snapshot", threadId=THREAD)
    points: list[Any] = snapshot["thread"]["contextTrimPoints"]
    return points


@pytest.mark.each_case(reason="each row lacks another method")
@pytest.mark.processes
@pytest.mark.parametrize("text", ["/clear", "/clear 1", "/compact --force", "/new"])
async def test_a_codex_that_is_too_old_is_refused_before_anything_changes(
    text: str, tmp_path: Path
) -> None:
    async with thread_on("0.120.4", folder=tmp_path) as client:
        outcome = await type_in(client, text)
        points = await trim_points(client)
    assert (outcome["status"], outcome["reason"]) == ("failed", "not_supported")
    assert outcome["message"] == "The command needs Codex 0.133.0 or newer; this one is 0.120.4."
    assert points == []


@pytest.mark.processes
async def test_a_compaction_without_forks_fails_with_the_versions_that_have_them(
    tmp_path: Path,
) -> None:
    async with thread_on("0.199.0", "thread/fork", folder=tmp_path) as client:
        outcome = await type_in(client, "/compact --force")
        points = await trim_points(client)
    assert (outcome["status"], outcome["reason"]) == ("failed", "not_supported")
    assert (
        "nothing has changed: Codex 0.199.0 has no thread/fork; trimpoint is tested with"
        in outcome["message"]
    )
    assert points == []


@pytest.mark.processes
async def test_a_session_that_cannot_be_given_its_context_says_what_is_missing(
    tmp_path: Path,
) -> None:
    async with thread_on("0.199.0", "thread/inject_items", folder=tmp_path) as client:
        outcome = await type_in(client, "/clear 1")
    assert (outcome["status"], outcome["reason"]) == ("failed", "not_supported")
    assert "Codex 0.199.0 has no thread/inject_items" in outcome["message"]


@pytest.mark.parametrize(
    ("message", "method"),
    [
        (
            "Invalid request: unknown variant `thread/sample`, expected one of `initialize`",
            "thread/sample",
        ),
        ("unknown variant `thread/inject_items`", "thread/inject_items"),
        (
            "Invalid request: unknown variant `nope`, expected one of `read-only`, `workspace-write`",
            None,
        ),
        ("thread not found: 0190", None),
    ],
)
def test_a_method_that_is_missing_is_distinguished_from_a_value_that_is_wrong(
    message: str, method: str | None
) -> None:
    assert missing_method(refused(message)) == method


def test_a_codex_that_did_not_answer_lacks_nothing() -> None:
    assert missing_method(ProviderTimeout("thread/fork", 1.0)) is None


def test_a_version_that_is_not_known_is_not_refused() -> None:
    refuse_if_too_old(TrimContext(command_id="c", thread_id="t"), None)


@pytest.mark.parametrize("command", [TrimContext, CompactContext, ArchiveAndNew])
def test_the_oldest_supported_version_is_not_refused(command: type[TrimContext]) -> None:
    refuse_if_too_old(command(command_id="c", thread_id="t"), (0, 133, 0))
    with pytest.raises(
        CommandRefused, match=r"needs Codex 0\.133\.0 or newer; this one is 0\.132\.9"
    ):
        refuse_if_too_old(command(command_id="c", thread_id="t"), (0, 132, 9))


def test_commands_without_a_new_context_need_no_minimum_version_of_codex() -> None:
    refuse_if_too_old(ArchiveThread(command_id="c", thread_id="t"), (0, 1, 0))
    refuse_if_too_old(RenameThread(command_id="c", thread_id="t", name="n"), (0, 1, 0))


@pytest.mark.parametrize("version", [None, (0, 120, 0)])
def test_the_error_for_an_old_or_unknown_codex_names_the_version_that_is_needed(
    version: tuple[int, int, int] | None,
) -> None:
    assert lacking("thread/fork", version).endswith(
        "has no thread/fork; Codex 0.133.0 or newer is needed"
    )
