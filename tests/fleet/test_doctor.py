"""The findings of `trimpoint doctor` about a fleet."""

from pathlib import Path
from typing import Literal

import msgspec
import pytest
from trimpoint.config.sections import Config, FleetSection
from trimpoint.doctor import fleet
from trimpoint.doctor.findings import Finding, Installation
from trimpoint.fleet.service import unencrypted

from tests.fleet.servers import running_server
from tests.fleet.stage import section
from tests.ports import free_port

import anyio.to_thread  # isort: skip


def findings(tmp_path: Path, url: str | None, **settings: str) -> list[Finding]:
    configured = FleetSection() if url is None else section(url, **settings)
    config = msgspec.structs.replace(Config(), fleet=configured)
    installation = Installation(config, tmp_path / "c", tmp_path, tmp_path / "s", {}, {})
    return [*fleet.check(installation)]


def found(tmp_path: Path, url: str | None, **settings: str) -> Finding:
    [finding] = findings(tmp_path, url, **settings)
    return finding


def test_without_a_fleet_nothing_is_connected(tmp_path: Path) -> None:
    assert found(tmp_path, None).text == "not configured"


def test_a_hub_that_is_away_is_found_and_does_not_stop_the_daemon(tmp_path: Path) -> None:
    finding = found(tmp_path, f"nats://127.0.0.1:{free_port()}")
    assert finding.status == "warn"
    assert "cannot be reached" in finding.text


def test_credentials_that_others_can_read_are_not_used(tmp_path: Path) -> None:
    path = tmp_path / "host.creds"
    path.write_text("SUAKEY")
    path.chmod(0o640)
    finding = found(tmp_path, "nats://127.0.0.1:1", credentials=str(path))
    assert (finding.status, finding.hint) == ("fail", f"chmod 600 {path}")
    assert "mode 0640" in finding.text


@pytest.mark.parametrize(
    ("url", "content", "is_warned"),
    [
        ("nats://hub.invalid:4222", "full", True),
        ("hub.invalid", "full", True),
        ("ws://hub.invalid", "full", True),
        ("nats://hub.invalid", "titles", False),
        ("tls://hub.invalid", "full", False),
        ("wss://hub.invalid", "full", False),
        ("nats://127.0.0.1:4222", "full", False),
        ("nats://[::1]", "full", False),
        ("localhost:4222", "full", False),
    ],
)
def test_conversations_that_need_not_be_encrypted_are_warned_of(
    url: str, content: Literal["titles", "full"], is_warned: bool
) -> None:
    assert unencrypted(FleetSection(servers=(url,), content=content)) == [url] * is_warned


def test_doctor_says_where_conversations_need_not_be_encrypted(tmp_path: Path) -> None:
    first, *_ = findings(tmp_path, "nats://hub.invalid:4222", content="full")
    assert (first.status, first.facts) == ("warn", {"notEncrypted": ["nats://hub.invalid:4222"]})


@pytest.mark.processes
async def test_a_reachable_hub_is_reported_as_reachable(tmp_path: Path) -> None:
    async with running_server(tmp_path / "hub") as server:
        finding = await anyio.to_thread.run_sync(found, tmp_path, server.url)
    assert finding.status == "ok"
