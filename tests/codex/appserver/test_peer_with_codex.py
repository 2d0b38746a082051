"""The peer with the real Codex, and Codex's answer to `initialize`."""

import importlib.metadata
import os
import signal
from collections.abc import Generator
from pathlib import Path

import anyio
import msgspec
import pytest
from trimpoint.codex.appserver.errors import ProviderError, ProviderExited
from trimpoint.codex.appserver.initialize import parse_version
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.process import ChildExit

from tests.codex.children import REAL_CODEX, fresh_codex_home, scripted
from tests.codex.stage import CLIENT_INFO, DEADLINE_S, expect_gone, peer_session

pytestmark = pytest.mark.processes


@pytest.fixture
def real(tmp_path: Path) -> Generator[LaunchProfile]:
    with fresh_codex_home() as home:
        yield LaunchProfile(REAL_CODEX, ("features.plugins=false",), home, cwd=tmp_path)


async def test_the_real_codex_tells_its_version(real: LaunchProfile) -> None:
    async with peer_session(real) as stage:
        identity = await stage.peer.initialize(CLIENT_INFO)
    installed = importlib.metadata.version("openai-codex-cli-bin")
    assert identity.version == tuple(int(part) for part in installed.split("."))
    assert identity.user_agent.startswith("peer-test/")
    assert b"codexHome" in bytes(identity.raw)


async def test_the_real_codex_starts_a_thread_and_lists_models(real: LaunchProfile) -> None:
    async with peer_session(real) as stage:
        await stage.peer.initialize(CLIENT_INFO)
        started = await stage.peer.request("thread/start", {}, deadline_s=DEADLINE_S)
        await stage.timeline.until("thread/started")
        models = await stage.peer.request("model/list", {}, deadline_s=DEADLINE_S)
    assert msgspec.json.decode(started)["thread"]["id"]
    assert msgspec.json.decode(models)["data"]


async def test_a_line_of_many_megabytes_from_the_real_codex_arrives_whole(
    real: LaunchProfile, tmp_path: Path
) -> None:
    large = tmp_path / "large"
    large.write_bytes(bytes(6_000_000))
    async with peer_session(real) as stage:
        await stage.peer.initialize(CLIENT_INFO)
        read = await stage.peer.request("fs/readFile", {"path": str(large)}, deadline_s=DEADLINE_S)
    assert len(msgspec.json.decode(read)["dataBase64"]) == 8_000_000


async def test_an_unknown_method_is_refused_by_the_real_codex(real: LaunchProfile) -> None:
    async with peer_session(real) as stage:
        await stage.peer.initialize(CLIENT_INFO)
        with pytest.raises(ProviderError, match="unknown variant `no/such`") as refused:
            await stage.peer.request("no/such", {}, deadline_s=DEADLINE_S)
        assert refused.value.code == -32600
        as_value = await stage.peer.request_raw("no/such", {}, deadline_s=DEADLINE_S)
        assert isinstance(as_value, ProviderError)
        assert msgspec.json.decode(as_value.raw)["code"] == -32600


async def test_killing_the_real_codex_fails_what_is_in_flight(real: LaunchProfile) -> None:
    async with peer_session(real) as stage:
        await stage.peer.initialize(CLIENT_INFO)
        os.kill(stage.child.pid, signal.SIGSTOP)
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(expect_gone, stage)
            await anyio.wait_all_tasks_blocked()
            assert stage.peer.in_flight == 3
            os.kill(stage.child.pid, signal.SIGKILL)
        assert await stage.peer.closed() == ChildExit(signal=signal.SIGKILL)
        with pytest.raises(ProviderExited, match="SIGKILL"):
            await stage.peer.request("model/list", {}, deadline_s=DEADLINE_S)


async def test_the_real_codex_answers_in_spite_of_a_flood_on_stderr(real: LaunchProfile) -> None:
    async with peer_session(
        msgspec.structs.replace(real, environment=(("RUST_LOG", "trace"),))
    ) as stage:
        await stage.peer.initialize(CLIENT_INFO)
        for _ in range(20):
            await stage.peer.request("model/list", {}, deadline_s=DEADLINE_S)


@pytest.mark.parametrize(
    ("user_agent", "version"),
    [
        ("name/0.163.0 (Debian 12.0.0; x86_64) xterm (name; 1.2.3)", (0, 163, 0)),
        ("name with blanks/0.172.0-alpha.3 (…)", (0, 172, 0)),
        ("name (Debian 12.0.0)", None),
        ("", None),
    ],
)
def test_the_version_is_read_from_the_user_agent(
    user_agent: str, version: tuple[int, int, int] | None
) -> None:
    assert parse_version(user_agent) == version


async def test_an_initialize_result_without_a_user_agent_has_no_version(tmp_path: Path) -> None:
    body = """sys.stdin.readline(); print('{"id":1,"result":[]}', flush=True); sys.stdin.read()"""
    async with peer_session(scripted(tmp_path, body)) as stage:
        identity = await stage.peer.initialize(CLIENT_INFO)
    assert (identity.version, identity.user_agent, bytes(identity.raw)) == (None, "", b"[]")
