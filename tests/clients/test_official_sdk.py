"""The official Python SDK (`openai-codex`), sync and async, with trimpoint in place of the codex
binary (docs/spec/clients.md, docs/spec/traps.md).

No part of the SDK is replaced, so the tests show what a program with the SDK gets.
"""

import asyncio
import json
import os
import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from trimpoint.testkit import held, run, say

from tests.cli.stage import CODEX, DEADLINE_S, CliHarness
from tests.clients.sdk import (
    CLEARED,
    DENY,
    FULL_ACCESS,
    configured,
    in_thread,
    is_ended,
    low_level,
    sdk,
    turns,
)

# The SDK leaves the pipes of its child to the garbage collector.
pytestmark = [pytest.mark.codex, pytest.mark.filterwarnings("ignore::ResourceWarning")]

UNKNOWN_THREAD = "00000000-0000-7000-8000-000000000000"


# --- the same as Codex itself ---

IDS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(msg|call)_\d+")
# Times; process ids; who started the Codex process, which is the daemon for all its clients.
OF_THE_MOMENT = re.compile(
    r'"(\w+_at|\w+_at_ms|duration_ms|process_id|backwards_cursor|originator|path)": ("[^"]*"|\d+)'
)


def told_apart_by_order(seen: list[Any], folder: Path) -> list[str]:
    """Returns each value as JSON, without what differs between runs; ids are numbered in order of
    appearance.
    """
    numbers: dict[str, str] = {}
    lines = (json.dumps(one, sort_keys=True).replace(str(folder), "folder") for one in seen)
    named = (
        IDS.sub(lambda found: numbers.setdefault(found[0], f"id-{len(numbers)}"), line)
        for line in lines
    )
    return [OF_THE_MOMENT.sub(r'"\1": 0', line) for line in named]


def everything_seen(stage: CliHarness, config: Any, folder: Path) -> list[str]:
    """Returns everything that the SDK passes to its program during the life of several threads."""
    seen: list[Any] = []
    folder.mkdir()
    stage.script.then(
        run("echo done"), say("Good day."), say("Twice."), say("Elsewhere."), say("Again.")
    )
    with sdk.Codex(config) as codex:
        thread = codex.thread_start(cwd=str(folder), approval_mode=DENY, sandbox=FULL_ACCESS)
        for text in ("Good morning.", "Once more."):
            seen += [
                [event.method, event.payload.model_dump(mode="json")]
                for event in thread.turn(text).stream()
            ]
        thread.set_name("greetings")
        fork = codex.thread_fork(thread.id)
        seen.append(fork.run("Somewhere else.").final_response)
        codex.thread_archive(fork.id)
        answers = [
            thread.read(),
            fork.read(include_turns=True),
            codex.thread_list(cwd=str(folder)),
            codex.models(),
        ]
        answers += [codex.thread_list(cwd=str(folder), archived=True), codex.account()]
        codex.thread_unarchive(fork.id)
        seen.append(codex.thread_resume(fork.id).run("And again.").final_response)
        answers += [
            codex.thread_list(cwd=str(folder)),
            thread.read(include_turns=True),
            fork.read(include_turns=True),
        ]
        seen += [answer.model_dump(mode="json") for answer in answers]
        for mistake in (codex.thread_resume, codex.thread_archive, codex.thread_fork):
            with pytest.raises(sdk.CodexError) as refused:
                mistake(UNKNOWN_THREAD)
            seen.append([type(refused.value).__name__, str(refused.value)])
    return told_apart_by_order(seen, folder)


async def test_all_that_it_sees_is_what_codex_itself_shows(stage: CliHarness) -> None:
    connect_to_codex = await in_thread(
        everything_seen, stage, configured(stage, str(CODEX)), stage.folder / "straight"
    )
    through = await in_thread(everything_seen, stage, configured(stage), stage.folder / "through")
    assert through == connect_to_codex
    assert len(through) > 20
    assert await is_ended(stage)


# --- what it gains ---


async def test_a_prompt_that_is_clear_1_leaves_one_turn_in_the_context_and_all_in_the_history(
    stage: CliHarness,
) -> None:
    def program() -> None:
        with sdk.Codex(configured(stage)) as codex:
            thread = codex.thread_start(cwd=str(stage.worktree))
            thread.run("hello 1")
            thread.run("hello 2")
            result = thread.run("/clear 1")
            assert result.final_response.startswith(CLEARED)
            events = [event.method for event in thread.turn("/clear 1").stream()]
            assert events[0] == "turn/started"
            assert events[-1] == "turn/completed"
            assert "item/agentMessage/delta" in events
            thread.run("hello 3")
            assert (
                turns(thread)
                == turns(codex.thread_resume(thread.id))
                == ["hello 1", "hello 2", "hello 3"]
            )

    await in_thread(program)
    model_saw = stage.model.turn_requests()[-1]
    assert [model_saw.mentions(f"hello {turn}") for turn in (1, 2, 3)] == [False, True, True]
    assert await is_ended(stage)


def until_idle(client: Any, thread_id: str) -> None:
    """Reads notifications until the thread is idle again."""
    while True:
        heard = client.next_notification()
        if (
            heard.method == "thread/status/changed"
            and heard.payload.thread_id == thread_id
            and heard.payload.status.root.type == "idle"
        ):
            return


async def test_its_compact_leaves_a_summary_in_the_context_and_all_in_the_history(
    stage: CliHarness,
) -> None:
    def program() -> None:
        with low_level.CodexClient(configured(stage)) as client:
            client.initialize()
            thread_id = client.thread_start({"cwd": str(stage.worktree)}).thread.id
            assert (
                "".join(delta.delta for delta in client.stream_text(thread_id, "hello 1"))
                == "reply 1"
            )
            until_idle(client, thread_id)
            client.thread_compact(thread_id)
            until_idle(client, thread_id)
            client.wait_for_turn_completed(client.turn_start(thread_id, "hello 2").turn.id)
            read = client.thread_read(thread_id, include_turns=True).thread
            assert read.id == thread_id
            assert [turn.status.value for turn in read.turns] == ["completed"] * len(read.turns)
            assert "hello 1" in read.turns[0].model_dump_json()

    await in_thread(program)
    model_saw = stage.model.turn_requests()[-1]
    assert model_saw.mentions("The gist of it all.")
    assert not model_saw.mentions("reply 1")
    assert await is_ended(stage)


async def test_the_async_client_does_all_that_the_sync_one_does(stage: CliHarness) -> None:
    with anyio.fail_after(DEADLINE_S):
        async with sdk.AsyncCodex(configured(stage)) as codex:
            thread, other = [await codex.thread_start(cwd=str(stage.worktree)) for _ in range(2)]
            results = await asyncio.gather(thread.run("hello 1"), other.run("elsewhere"))
            assert {result.final_response for result in results} == {"reply 1", "reply 2"}
            turn = await thread.turn("hello 2")
            events = [event.method async for event in turn.stream()]
            assert (events[0], events[-1]) == ("turn/started", "turn/completed")
            assert (await thread.run("/clear 1")).final_response.startswith(CLEARED)
            await thread.run("hello 3")
            await thread.set_name("greetings")
            fork = await codex.thread_fork(thread.id)
            await codex.thread_archive(fork.id)
            assert {found.id for found in (await codex.thread_list()).data} == {thread.id, other.id}
            await codex.thread_unarchive(fork.id)
            resumed = await codex.thread_resume(fork.id)
            assert (await resumed.run("forked")).final_response == "reply 5"
            read = (await thread.read(include_turns=True)).thread
            assert (read.name, len(read.turns)) == ("greetings", 3)
    requests = stage.model.turn_requests()
    assert [requests[3].mentions(f"hello {turn}") for turn in (1, 2, 3)] == [False, True, True]
    assert [requests[4].mentions(f"hello {turn}") for turn in (1, 2, 3)] == [False, True, True]
    assert await is_ended(stage)


# --- questions ---


@pytest.mark.parametrize(("decision", "is_made"), [("accept", True), ("decline", False)])
async def test_its_approval_handler_decides(
    stage: CliHarness, decision: str, is_made: bool
) -> None:
    asked: list[tuple[str, str]] = []

    def handler(method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        asked.append((method, (params or {})["command"]))
        return {"decision": decision}

    def program() -> None:
        with low_level.CodexClient(configured(stage), approval_handler=handler) as client:
            client.initialize()
            settings = {
                "cwd": str(stage.worktree),
                "approvalPolicy": "untrusted",
                "sandbox": "danger-full-access",
            }
            thread_id = client.thread_start(settings).thread.id
            client.wait_for_turn_completed(client.turn_start(thread_id, "Make it.").turn.id)

    stage.script.then(run("touch made.txt"))
    await in_thread(program)
    assert len(asked) == 1
    assert asked[0][0] == "item/commandExecution/requestApproval"
    assert "touch made.txt" in asked[0][1]
    assert (stage.worktree / "made.txt").exists() is is_made
    assert await is_ended(stage)


# --- processes ---


async def begun(stage: CliHarness) -> tuple[Any, Any]:
    """Returns an SDK with a turn that the model never answers."""
    stage.script.then(held(say("never"), anyio.Event()))

    def begin() -> tuple[Any, Any]:
        codex = sdk.Codex(configured(stage))
        return codex, codex.thread_start(cwd=str(stage.worktree)).turn("hello")

    codex, turn = await in_thread(begin)
    await stage.model.wait_for_request()
    return codex, turn


async def test_closing_in_the_middle_of_a_turn_leaves_the_daemon_alone(stage: CliHarness) -> None:
    codex, _ = await begun(stage)
    await in_thread(codex.close)
    assert await is_ended(stage)


async def test_a_turn_can_be_steered_and_interrupted(stage: CliHarness) -> None:
    codex, turn = await begun(stage)

    def stop() -> str:
        with codex:
            assert turn.steer("go left").turn_id == turn.id
            turn.interrupt()
            return str(turn.run().status.value)

    assert await in_thread(stop) == "interrupted"
    assert await is_ended(stage)


@pytest.mark.linux("looks at other processes")
async def test_without_a_folder_the_agent_works_in_the_one_that_the_sdk_was_started_in(
    stage: CliHarness,
) -> None:
    here = stage.folder / "here"
    (here / "below").mkdir(parents=True)

    def program() -> None:
        with sdk.Codex(replace(configured(stage), cwd=str(here))) as codex:
            folders = [
                codex.thread_start(**named).read().thread.cwd.root
                for named in ({}, {"cwd": "."}, {"cwd": "below"})
            ]
            assert folders == [str(here), str(here), str(here / "below")]

    async with stage.serving():
        await in_thread(program)


async def test_an_sdk_is_notified_when_the_daemon_ends(stage: CliHarness) -> None:
    def program() -> None:
        with low_level.CodexClient(configured(stage)) as client:
            client.initialize()
            [pid] = stage.background_daemons()
            os.kill(pid, signal.SIGTERM)
            with pytest.raises(sdk.TransportClosedError, match="has ended"):
                until_idle(client, "no thread")

    await in_thread(program)
    assert await is_ended(stage)
