"""Turns whose end Codex does not report end within a bounded time, with the reason. A stand-in
plays Codex, which does not do so on demand.
"""

import inspect
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from trimpoint.app import running_daemon
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.config.sections import Config
from trimpoint.operations import build
from trimpoint.operations.provider.lost_endings import (
    DENIED,
    NEVER_TOLD,
    NOT_ANSWERED,
    NOT_ENDED,
    EndingLimits,
)
from trimpoint.transport.listeners import serve_unix

from tests.deadlines import SCENARIO_S
from tests.e2e import forgetful_codex
from tests.e2e.wire import JsonRpcClient, connect_socket

BRIEF, LONG = 0.05, 3600.0


@asynccontextmanager
async def forgetful(
    folder: Path, monkeypatch: pytest.MonkeyPatch, **limits: float
) -> AsyncIterator[tuple[JsonRpcClient, str]]:
    """Yields a client and its thread, with a Codex that does not report ends."""
    program = folder / "codex"
    program.write_text(f"#!{sys.executable}\n{inspect.getsource(forgetful_codex)}")
    program.chmod(0o755)
    unless_said = {"after_rest_s": LONG, "after_interrupt_s": LONG, "answer_s": 20.0}
    monkeypatch.setattr(build, "EndingLimits", lambda: EndingLimits(**{**unless_said, **limits}))
    socket = folder / "t.sock"
    with anyio.fail_after(SCENARIO_S):
        async with (
            running_daemon(Config(), folder / "state", LaunchProfile(program)) as daemon,
            anyio.create_task_group() as tasks,
        ):
            await tasks.start(
                lambda task_status: serve_unix(socket, daemon.serve, task_status=task_status)
            )
            async with connect_socket(socket) as wire:
                await wire.initialize()
                yield wire, (await wire.result("thread/start", cwd="/"))["thread"]["id"]
            tasks.cancel_scope.cancel()


async def prompt(wire: JsonRpcClient, thread_id: str, text: str) -> str:
    answer = await wire.result(
        "turn/start", threadId=thread_id, input=[{"type": "text", "text": text}]
    )
    return str(answer["turn"]["id"])


async def ended(wire: JsonRpcClient, thread_id: str, turn_id: str) -> tuple[str, str | None]:
    """Returns how the turn ended, for clients and in the ledger. Checks that its end is reported
    once.
    """

    def is_its_end(one: object) -> bool:
        match one:
            case {"method": "turn/completed", "params": {"turn": {"id": named}}}:
                return bool(named == turn_id)
            case _:
                return False

    told = (await wire.until(is_its_end))["params"]["turn"]
    await wire.settled()
    assert len([one for one in wire.received if is_its_end(one)]) == 1
    thread = (await wire.result("orchestration/snapshot", threadId=thread_id))["thread"]
    [turn] = [one for one in thread["turns"] if one["id"] == turn_id]
    error = told["error"]["message"] if told["error"] else None
    assert (turn["status"], turn.get("error")) == (told["status"], error)
    outcome = await wire.result("commands/execute", threadId=thread_id, text="/clear")
    assert outcome.get("reason") not in ("turn_in_progress", "request_pending"), outcome
    return told["status"], error


@pytest.mark.parametrize("manner", ["rest", "word"])
async def test_a_turn_whose_end_is_never_reported_ends_when_codex_is_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manner: str
) -> None:
    async with forgetful(tmp_path, monkeypatch, after_rest_s=BRIEF) as (wire, thread_id):
        turn_id = await prompt(wire, thread_id, manner)
        assert await ended(wire, thread_id, turn_id) == ("interrupted", NEVER_TOLD)


async def test_how_it_ended_is_read_from_codex_where_codex_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with forgetful(tmp_path, monkeypatch, after_rest_s=BRIEF) as (wire, thread_id):
        turn_id = await prompt(wire, thread_id, "told")
        assert await ended(wire, thread_id, turn_id) == ("completed", None)
        entries = (await wire.result("timeline/read", threadId=thread_id, expand="all"))["entries"]
    assert "answered unheard" in str(entries)


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "whatever runs"])
async def test_an_interrupt_that_is_not_answered_ends_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    async with forgetful(tmp_path, monkeypatch, answer_s=0.5) as (wire, thread_id):
        turn_id = await prompt(wire, thread_id, "deaf")
        named = turn_id if is_named else ""
        assert await wire.result("turn/interrupt", threadId=thread_id, turnId=named) == {}
        assert await ended(wire, thread_id, turn_id) == ("interrupted", NOT_ANSWERED)


async def test_a_turn_that_ends_while_codex_is_asked_about_it_ends_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with forgetful(tmp_path, monkeypatch, answer_s=0.5) as (wire, thread_id):
        turn_id = await prompt(wire, thread_id, "late")
        assert await wire.result("turn/interrupt", threadId=thread_id, turnId=turn_id) == {}
        assert (await ended(wire, thread_id, turn_id))[0] == "interrupted"


async def test_an_interrupt_that_changes_nothing_ends_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with forgetful(tmp_path, monkeypatch, after_interrupt_s=BRIEF) as (wire, thread_id):
        turn_id = await prompt(wire, thread_id, "numb")
        assert await wire.result("turn/interrupt", threadId=thread_id, turnId=turn_id) == {}
        assert await ended(wire, thread_id, turn_id) == ("interrupted", NOT_ENDED)


@pytest.mark.parametrize("manner", ["denying", "contrary"])
async def test_a_turn_that_codex_does_not_know_any_more_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manner: str
) -> None:
    async with forgetful(tmp_path, monkeypatch, after_rest_s=BRIEF) as (wire, thread_id):
        turn_id = await prompt(wire, thread_id, manner)
        await wire.received_after("turn/started")
        answer = await wire.ask("turn/interrupt", threadId=thread_id, turnId=turn_id)
        assert answer["error"]["message"] == "no active turn"
        assert await ended(wire, thread_id, turn_id) == ("interrupted", DENIED)


async def test_a_turn_that_began_only_after_a_refused_interrupt_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with forgetful(tmp_path, monkeypatch, after_rest_s=BRIEF) as (wire, thread_id):
        turn_id = await prompt(wire, thread_id, "busy")
        await wire.ask("turn/interrupt", threadId=thread_id, turnId=turn_id)
        await wire.received_after("thread/name/updated")
        await wire.settled()
        thread = (await wire.result("orchestration/snapshot", threadId=thread_id))["thread"]
        assert [one["status"] for one in thread["turns"]] == ["running"]


@pytest.mark.parametrize("manner", forgetful_codex.ENDS)
async def test_a_turn_whose_end_does_not_name_it_ends_when_codex_rests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manner: str
) -> None:
    async with forgetful(tmp_path, monkeypatch, after_rest_s=BRIEF) as (wire, thread_id):
        turn_id = await prompt(wire, thread_id, manner)
        assert await ended(wire, thread_id, turn_id) == ("interrupted", NEVER_TOLD)
        thread = (await wire.result("orchestration/snapshot", threadId=thread_id))["thread"]
        assert [one["id"] for one in thread["turns"]] == [turn_id]


async def test_a_turn_with_an_odd_end_leaves_the_thread_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with forgetful(tmp_path, monkeypatch) as (wire, thread_id):
        await prompt(wire, thread_id, "odd")
        await wire.received_after("turn/completed")
        thread = (await wire.result("orchestration/snapshot", threadId=thread_id))["thread"]
        outcome = await wire.result("commands/execute", threadId=thread_id, text="/clear")
    assert [(turn["status"], turn["error"]) for turn in thread["turns"]] == [("failed", "boom")]
    assert outcome["status"] == "completed", outcome
