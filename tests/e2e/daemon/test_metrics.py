"""Metrics and log entries of a real conversation, a trim, and a Codex that was killed."""

import os
import signal
from typing import Any

import pytest
import structlog
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs
from trimpoint.cli.connection.client import Client
from trimpoint.testkit import http_error

from tests.e2e.conftest import Harness

pytestmark = pytest.mark.codex


async def counted(client: Client) -> dict[tuple[str, ...], float]:
    """Returns every value, by its name and the values of its labels."""
    answer = await client.request("sidecar/metrics")
    assert answer["text"] is None
    samples = [sample for family in answer["families"] for sample in family["samples"]]
    return {(sample["name"], *sample["labels"].values()): sample["value"] for sample in samples}


@pytest.mark.linux("shows the memory of a process")
async def test_a_conversation_and_its_trim_are_counted(harness: Harness) -> None:
    async with harness.conversation() as talk:
        before = await counted(talk.client)
        await talk.turn()
        await talk.turn()
        await talk.type("/clear 1")
        after = await counted(talk.client)
        assert after["trimpoint_turns_total", "completed"] == 2
        assert after["trimpoint_operations_total", "clear", "ready"] == 1
        phases = {
            key[2]: value
            for key, value in after.items()
            if key[0] == "trimpoint_operation_phase_seconds_count"
        }
        assert phases == {"requested": 1, "stopping": 1, "starting": 1, "bootstrapping": 1}
        assert after["trimpoint_operation_phase_seconds_sum", "clear", "starting"] > 0
        assert (after["trimpoint_clients",], after["trimpoint_clients_connected_total",]) == (1, 1)
        assert (after["trimpoint_threads",], after["trimpoint_threads_loaded",]) == (1, 1)
        for name in (
            "requests_total",
            "sent_bytes_total",
            "journal_syncs_total",
            "journal_written_bytes_total",
            "codex_messages_total",
            "codex_bytes_total",
        ):
            assert after[f"trimpoint_{name}",] > before[f"trimpoint_{name}",], name
        assert after["process_resident_memory_bytes",] > 1024 * 1024


async def test_prometheus_reads_the_same_numbers(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        await talk.type("/clear")
        answer = await talk.client.request("sidecar/metrics", format="prometheus")
    read = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer["text"])
        for sample in family.samples
    }
    told = {
        (sample["name"], *sorted(sample["labels"].items())): sample["value"]
        for family in answer["families"]
        for sample in family["samples"]
    }
    assert read == told


async def test_a_codex_that_died_is_counted(harness: Harness) -> None:
    async with harness.conversation() as talk:
        assert (await counted(talk.client))["trimpoint_codex_up",] == 1
        os.kill(harness.child_pid(), signal.SIGKILL)
        await talk.until_codex_answers()
        assert (await counted(talk.client))["trimpoint_codex_starts_total",] == 2


async def test_an_operations_log_event_has_its_thread_and_duration(
    harness: Harness,
) -> None:
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logs:
        async with harness.conversation() as talk:
            await talk.turn()
            harness.script.at_compaction(http_error(400, "too long"))
            await talk.type("/compact --force")
            await talk.type("/clear")
    [failed] = named("operation_failed", logs)
    ended = named("operation_ended", logs)
    assert [(entry["kind"], entry["outcome"], entry["thread_id"]) for entry in ended] == [
        ("compact", "failed", talk.thread_id),
        ("clear", "ready", talk.thread_id),
    ]
    assert (failed["thread_id"], failed["operation_id"], failed["generation"]) == (
        talk.thread_id,
        ended[0]["operation_id"],
        1,
    )
    assert all(entry["total_ms"] == sum(entry["phases_ms"].values()) for entry in ended)
    assert not any("client" in entry for entry in (failed, *ended))


def named(event: str, logs: Any) -> list[dict[str, Any]]:
    """Returns the log entries with this event."""
    return [entry for entry in logs if entry["event"] == event]
