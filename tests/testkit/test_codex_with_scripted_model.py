"""The real Codex against the scripted model: every kind of reply does to Codex what its name
says.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from trimpoint.testkit import (
    Script,
    ScriptedModel,
    Usage,
    codex_overrides,
    cut_off,
    hang,
    held,
    http_error,
    log_in,
    openai_overrides,
    overflow,
    reasoning,
    remote_overrides,
    run,
    say,
    throwaway_codex_home,
)

from tests.deadlines import STEP_S
from tests.testkit.codex_over_stdio import CODEX_BIN, CodexOverStdio, codex_over_stdio

pytestmark = pytest.mark.codex


@asynccontextmanager
async def setup(script: Script) -> AsyncGenerator[tuple[ScriptedModel, CodexOverStdio], None]:
    with anyio.fail_after(STEP_S):
        async with (
            ScriptedModel(script) as model,
            throwaway_codex_home() as home,
            codex_over_stdio(codex_overrides(model), home) as codex,
        ):
            yield model, codex


async def test_a_plain_turn_says_what_the_script_says(tmp_path: Path) -> None:
    text = "Hello from the script, in more than one delta."
    reply = say(text, usage=Usage(input_tokens=5_000, output_tokens=7))
    async with setup(Script().then(reply)) as (model, codex):
        thread = await codex.start_thread(tmp_path)
        turn = await codex.turn(thread, "greet me")
        usage = await codex.notified("thread/tokenUsage/updated")
    deltas = [
        n["params"]["delta"]
        for n in codex.notifications
        if n["method"] == "item/agentMessage/delta"
    ]
    assert turn["status"] == "completed"
    assert "".join(deltas) == text
    assert len(deltas) > 1
    assert usage["tokenUsage"]["last"]["totalTokens"] == 5_007
    assert (model.requests[0].kind, model.requests[0].thread_id) == ("turn", thread)
    assert model.requests[0].texts()[-1] == "greet me"


async def test_a_command_runs_and_its_output_is_in_the_next_request(tmp_path: Path) -> None:
    async with setup(Script().then(run("echo from-$((40 + 2))"))) as (model, codex):
        turn = await codex.turn(await codex.start_thread(tmp_path), "run it")
        done = await codex.notified(
            "item/completed", lambda p: p["item"]["type"] == "commandExecution"
        )
    assert turn["status"] == "completed"
    assert done["item"]["exitCode"] == 0
    assert [request.kind for request in model.requests] == ["turn", "turn"]
    assert any("from-42" in text for text in model.requests[1].texts())
    assert not model.requests[0].mentions("from-42")


async def test_several_items_of_one_reply_all_arrive(tmp_path: Path) -> None:
    reply = (
        reasoning("Thinking it over.", encrypted_content="SEALED")
        + say("First words.")
        + run("echo ok")
    )
    async with setup(Script().then(reply)) as (model, codex):
        await codex.turn(await codex.start_thread(tmp_path), "go")
        completed = [
            n["params"]["item"] for n in codex.notifications if n["method"] == "item/completed"
        ]
    kinds = [item["type"] for item in completed]
    assert kinds == ["userMessage", "reasoning", "agentMessage", "commandExecution", "agentMessage"]
    assert completed[1]["summary"] == ["Thinking it over."]
    assert model.requests[1].mentions("SEALED")


async def test_an_inline_compaction_replaces_the_history_by_the_summary(tmp_path: Path) -> None:
    async with setup(Script(summary="SHORT ACCOUNT")) as (model, codex):
        thread = await codex.start_thread(tmp_path)
        await codex.turn(thread, "first prompt")
        assert (await codex.compact(thread))["status"] == "completed"
        await codex.turn(thread, "second prompt")
    assert [request.kind for request in model.requests] == ["turn", "inline_compaction", "turn"]
    assert model.requests[1].mentions("reply 1")
    assert model.turn_requests()[1].mentions("SHORT ACCOUNT")
    assert not model.turn_requests()[1].mentions("reply 1")


async def compact_remotely(
    model: ScriptedModel, overrides: list[str], home: Path, cwd: Path, *, certificates: bool = False
) -> None:
    async with codex_over_stdio(overrides, home, certificates=certificates) as codex:
        thread = await codex.start_thread(cwd)
        await codex.turn(thread, "first prompt")
        assert (await codex.compact(thread))["status"] == "completed"
        await codex.turn(thread, "second prompt")
        assert not any(n["method"] == "error" for n in codex.notifications)
    assert [request.kind for request in model.requests] == ["turn", "remote_compaction", "turn"]
    assert not model.requests[2].mentions("reply 1")
    assert model.requests[2].mentions("BLOB")


async def test_the_built_in_provider_leaves_the_websocket_at_once_and_compacts_encrypted(
    tmp_path: Path,
) -> None:
    with anyio.fail_after(STEP_S):
        async with (
            ScriptedModel(Script(encrypted_summary="BLOB")) as model,
            throwaway_codex_home() as home,
        ):
            await log_in(CODEX_BIN, home, api_key="sk-dummy")
            overrides = openai_overrides(model)
            await compact_remotely(model, overrides, home, tmp_path, certificates=True)
    assert model.websocket_attempts == 1
    assert model.requests[0].headers["authorization"] == "Bearer sk-dummy"


async def test_a_custom_provider_named_openai_compacts_encrypted_without_login(
    tmp_path: Path,
) -> None:
    with anyio.fail_after(STEP_S):
        async with (
            ScriptedModel(Script(encrypted_summary="BLOB")) as model,
            throwaway_codex_home() as home,
        ):
            await compact_remotely(model, remote_overrides(model), home, tmp_path)
    assert model.websocket_attempts == 0
    assert "authorization" not in model.requests[0].headers


async def test_an_overflow_is_reported_as_an_exceeded_context_window(tmp_path: Path) -> None:
    async with setup(Script().then(overflow())) as (model, codex):
        turn = await codex.turn(await codex.start_thread(tmp_path), "too much")
    assert turn["status"] == "failed"
    assert turn["error"]["codexErrorInfo"] == "contextWindowExceeded"
    assert turn["error"]["message"].startswith(
        "Codex ran out of room in the model's context window."
    )
    assert len(model.requests) == 1


async def test_an_http_error_fails_the_turn_at_the_first_attempt(tmp_path: Path) -> None:
    async with setup(Script().then(http_error(500, {"error": {"message": "boom"}}))) as (
        model,
        codex,
    ):
        thread = await codex.start_thread(tmp_path)
        turn = await codex.turn(thread, "go")
        again = await codex.turn(thread, "again")
    assert (turn["status"], turn["error"]["codexErrorInfo"]) == ("failed", "internalServerError")
    assert again["status"] == "completed"
    assert len(model.requests) == 2


async def test_a_failed_compaction_leaves_the_history_as_it_was(tmp_path: Path) -> None:
    async with setup(Script().at_compaction(http_error(500))) as (model, codex):
        thread = await codex.start_thread(tmp_path)
        await codex.turn(thread, "first prompt")
        assert (await codex.compact(thread))["status"] == "failed"
        await codex.turn(thread, "second prompt")
    assert "reply 1" in model.requests[-1].texts()


async def test_a_stream_that_is_cut_off_fails_the_turn(tmp_path: Path) -> None:
    async with setup(Script().then(cut_off("half a sen"))) as (_, codex):
        turn = await codex.turn(await codex.start_thread(tmp_path), "go")
    assert turn["status"] == "failed"
    assert "stream" in turn["error"]["message"], turn


async def test_a_hanging_turn_shows_its_text_and_can_be_interrupted(tmp_path: Path) -> None:
    async with setup(Script().then(hang("as far as it goes"))) as (_, codex):
        thread = await codex.start_thread(tmp_path)
        turn_id = await codex.begin_turn(thread, "go")
        delta = await codex.notified("item/agentMessage/delta")
        await codex.request("turn/interrupt", threadId=thread, turnId=turn_id)
        turn = await codex.turn_end(thread, since=0)
        later = await codex.turn(thread, "go on")
    assert delta["delta"] == "as far as it goes"
    assert (turn["status"], later["status"]) == ("interrupted", "completed")


async def test_a_held_turn_ends_only_after_its_event(tmp_path: Path) -> None:
    release = anyio.Event()
    async with setup(Script().then(held(say("at last"), release))) as (model, codex):
        thread = await codex.start_thread(tmp_path)
        await codex.begin_turn(thread, "go")
        await model.wait_for_request()
        running = await codex.request("thread/read", threadId=thread)
        release.set()
        turn = await codex.turn_end(thread, since=0)
    assert running["thread"]["status"]["type"] == "active"
    assert turn["items"][-1]["text"] == "at last"
