"""The window that the context meter measures against: Codex's, the configured one, or none."""

from functools import partial
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.app import running_daemon
from trimpoint.config.sections import ModelSection
from trimpoint.testkit import overflow, say
from trimpoint.transport.listeners import serve_unix

from tests.e2e.conftest import CODEX_BIN, Harness
from tests.e2e.conversation import Conversation
from tests.e2e.gauge import WINDOW, MeterProbe, spending

pytestmark = pytest.mark.codex


async def test_an_overflow_shows_a_full_window_where_codex_makes_numbers_up(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        await gauge.turn(200_000)
        await gauge.turn(200_000)
        talk.script.then(overflow())
        failed = await talk.prompt("too much")
        full = await gauge.meter()
        made_up = gauge.codex["last"]["totalTokens"]
        snapshot = await talk.snapshot()
        await talk.client.request(
            "thread/revert", threadId=talk.thread_id, beforeTurnId=failed["id"]
        )
        reverted = await gauge.meter()
    assert (failed["status"], failed["error"]["codexErrorInfo"]) == (
        "failed",
        "contextWindowExceeded",
    )
    assert made_up == 0  # what Codex's own `last` says of a context that is too full
    assert (full["usedTokens"], full["percent"], full["level"]) == (WINDOW, 100.0, "critical")
    assert (full["estimated"], full["unknown"], full["leftPercent"]) == (True, False, 0)
    assert full["totalTokens"] == gauge.spent
    assert snapshot["turns"][-1]["status"] == "failed"
    assert (reverted["usedTokens"], reverted["estimated"]) == (200_010, False)


async def test_another_model_has_no_window_until_codex_says_it_and_what_is_configured_holds_meanwhile(
    harness: Harness,
) -> None:
    models = {"gpt-5.1": ModelSection(max_context_tokens=64_000)}
    harness.config = msgspec.structs.replace(harness.config, models=models)
    async with harness.conversation() as talk:
        gauge = MeterProbe(talk)
        await gauge.turn(32_000)
        await talk.client.request(
            "thread/settings/update", threadId=talk.thread_id, model="gpt-5.2"
        )
        unknown = await gauge.meter()
        await talk.client.request(
            "thread/settings/update", threadId=talk.thread_id, model="gpt-5.1"
        )
        configured = await gauge.meter()
        after = await gauge.turn(33_000)
    assert (unknown["model"], unknown["windowTokens"], unknown["percent"], unknown["level"]) == (
        "gpt-5.2",
        None,
        None,
        None,
    )
    assert unknown["usedTokens"] == 32_010
    assert (configured["model"], configured["windowTokens"], configured["percent"]) == (
        "gpt-5.1",
        64_000,
        50.0,
    )
    assert after["windowTokens"] == WINDOW


NO_WINDOW = """#!/bin/bash
# Codex, but for what it says of the model's window.
exec > >(exec sed -u 's/"modelContextWindow":[0-9]*/"modelContextWindow":null/g')
exec {codex} "$@"
"""


async def test_the_configured_window_is_used_when_codex_reports_none(
    harness: Harness,
) -> None:
    wrapper = harness.home / "codex"
    wrapper.write_text(NO_WINDOW.format(codex=CODEX_BIN))
    wrapper.chmod(0o755)
    profile = msgspec.structs.replace(harness.profile, codex=wrapper)
    meters: list[dict[str, Any]] = []
    for models in ({}, {"gpt-5": ModelSection(max_context_tokens=100_000)}):
        harness.config = msgspec.structs.replace(harness.config, models=models)
        async with (
            running_daemon(harness.config, harness.state_dir, profile) as daemon,
            anyio.create_task_group() as tasks,
        ):
            await tasks.start(partial(serve_unix, harness.socket, daemon.serve))
            async with harness.client() as client:
                talk = await Conversation.begin(
                    client, harness.worktree, harness.model, harness.script
                )
                harness.script.then(say("answer", usage=spending(75_000)))
                await talk.prompt("how full is it?")
                gauge = MeterProbe(talk)
                meters.append(await gauge.meter())
                assert gauge.codex["modelContextWindow"] is None
            tasks.cancel_scope.cancel()
    unknown, configured = meters
    assert (unknown["usedTokens"], unknown["unknown"], unknown["estimated"]) == (
        75_010,
        False,
        False,
    )
    assert (
        unknown["windowTokens"],
        unknown["percent"],
        unknown["leftPercent"],
        unknown["level"],
    ) == (None, None, None, None)
    assert (configured["usedTokens"], configured["windowTokens"], configured["level"]) == (
        75_010,
        100_000,
        "warning",
    )
