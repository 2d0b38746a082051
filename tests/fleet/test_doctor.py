"""The findings of `trimpoint doctor` about a fleet."""

from pathlib import Path

import msgspec
import pytest
from trimpoint.config.sections import Config
from trimpoint.doctor import fleet
from trimpoint.doctor.findings import Finding, Installation

from tests.fleet.servers import running_server
from tests.fleet.stage import section
from tests.ports import free_port

import anyio.to_thread  # isort: skip


def found(tmp_path: Path, url: str | None) -> Finding:
    config = Config() if url is None else msgspec.structs.replace(Config(), fleet=section(url))
    installation = Installation(config, tmp_path / "c", tmp_path, tmp_path / "s", {}, {})
    [finding] = fleet.check(installation)
    return finding


def test_without_a_fleet_nothing_is_connected(tmp_path: Path) -> None:
    assert found(tmp_path, None).text == "not configured"


def test_a_hub_that_is_away_is_found_and_does_not_stop_the_daemon(tmp_path: Path) -> None:
    finding = found(tmp_path, f"nats://127.0.0.1:{free_port()}")
    assert finding.status == "warn"
    assert "cannot be reached" in finding.text


@pytest.mark.processes
async def test_a_hub_that_is_there_is_said_to_be(tmp_path: Path) -> None:
    async with running_server(tmp_path / "hub") as server:
        finding = await anyio.to_thread.run_sync(found, tmp_path, server.url)
    assert finding.status == "ok"
