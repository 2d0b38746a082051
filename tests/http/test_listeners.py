"""The TCP listeners: limits, silent and broken clients, the metrics' own address, and the token's
file.
"""

import os
import socket
import stat
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from structlog.testing import capture_logs
from trimpoint.app import Daemon, running_daemon
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.config.sections import Config, HttpSection, MetricsSection
from trimpoint.http import server, tcp_listener
from trimpoint.http.access.token_file import FILE_NAME, TokenUnusable, renew_token, token_at
from trimpoint.http.channel import MAX_HEAD_BYTES
from trimpoint.http.tcp_listener import Address, address_of, bind

from tests.codex.children import REAL_CODEX
from tests.deadlines import STEP_S
from tests.http.stage import Stage, Wire
from tests.ports import free_port


@asynccontextmanager
async def running(
    folder: Path, config: Config, *handed_over: socket.socket
) -> AsyncGenerator[Daemon, None]:
    profile = LaunchProfile(REAL_CODEX, (), folder / "codex")
    with anyio.fail_after(STEP_S):
        async with running_daemon(
            config, folder / "state", profile, http_listeners=handed_over
        ) as daemon:
            yield daemon


async def said(port: int, request: bytes) -> bytes:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(request)
        return await Wire(stream).rest()


class TestMetricsAddress:
    async def test_the_metrics_listener_serves_metrics_alone_and_without_a_token(
        self, tmp_path: Path
    ) -> None:
        port = free_port()
        async with running(tmp_path, Config(metrics=MetricsSection(f"127.0.0.1:{port}"))):
            for method, path, status in (
                ("GET", "/metrics?name=up", 200),
                ("HEAD", "/metrics", 200),
                ("POST", "/metrics", 405),
                ("GET", "/", 404),
                ("GET", "/api/v1/threads", 404),
                ("GET", "/rpc", 404),
                ("GET", "/healthz", 404),
            ):
                async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                    answer = await Wire(stream).ask(
                        method, path, {"Host": "prometheus.example:9464"}
                    )
                assert answer.status == status
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                answer = await Wire(stream).ask("GET", "/metrics")
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert b"trimpoint_threads 0.0" in answer.body

    async def test_an_address_that_is_taken_is_logged_and_harms_nothing(
        self, tmp_path: Path
    ) -> None:
        with bind(Address("127.0.0.1", 0)) as taken, capture_logs() as logs:
            place = str(address_of(taken))
            async with running(
                tmp_path, Config(metrics=MetricsSection(place), http=HttpSection(place))
            ) as daemon:
                assert daemon.http.addresses.first is None
        told = {entry["event"]: entry["address"] for entry in logs if entry["log_level"] == "error"}
        assert told == {"metrics_not_served": place, "http_not_served": place}


class TestClients:
    @pytest.mark.parametrize(
        "request_",
        [
            b"hello\r\n\r\n",
            b"\xff\x00\r\n\r\n",
            b"GET / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * MAX_HEAD_BYTES,
        ],
    )
    async def test_input_that_is_no_request_is_refused_and_the_connection_closed(
        self, stage: Stage, request_: bytes
    ) -> None:
        answer = await said(stage.port, request_)
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))
        assert b"X-Content-Type-Options: nosniff" in answer

    async def test_a_client_that_leaves_in_the_middle_harms_no_other(self, stage: Stage) -> None:
        for part in (
            b"",
            b"GET /heal",
            b"POST /api/v1/commands/help HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
        ):
            async with await anyio.connect_tcp("127.0.0.1", stage.port) as stream:
                await stream.send(part or b" ")
        assert (await stage.asked("GET", "/healthz")).status == 200

    async def test_silent_clients_keep_their_places_no_longer_than_the_deadline(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(server, "HEAD_DEADLINE_S", 0.2)
        silent = [await anyio.connect_tcp("127.0.0.1", stage.port) for _ in range(5)]
        await silent[1].send(b"GET /healthz HTTP/1.1\r\nHost:")
        for stream in silent:
            assert await Wire(stream).rest() == b""
            await stream.aclose()

    async def test_a_body_that_does_not_come_is_not_waited_for_without_end(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(server, "BODY_DEADLINE_S", 0.1)
        head = f"POST /api/v1/commands/help HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {stage.token}\r\n"
        assert await said(stage.port, f"{head}Content-Length: 5\r\n\r\n".encode()) == b""

    async def test_a_body_is_asked_for_where_the_client_waits_to_be_asked(
        self, stage: Stage
    ) -> None:
        async with stage.tcp() as wire:
            expect = {
                **stage.bearer,
                "Content-Type": "application/json",
                "Expect": "100-continue",
                "Content-Length": "2",
            }
            assert (await wire.ask("POST", "/api/v1/commands/help", expect)).status == 100
            await wire.stream.send(b"{}")
            assert (await wire.answer()).status == 200

    async def test_a_connection_beyond_the_limit_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tcp_listener, "MAX_CONNECTIONS", 1)
        async with running(tmp_path, Config(http=HttpSection("127.0.0.1:0"))) as daemon:
            port = int(str(daemon.http.addresses.first).rpartition(":")[2])
            async with await anyio.connect_tcp("127.0.0.1", port) as first:
                assert (await Wire(first).ask("GET", "/healthz")).status == 200
                assert (await said(port, b"GET /healthz HTTP/1.1\r\n")).startswith(b"HTTP/1.1 503 ")

    async def test_lines_are_not_spoken_over_tcp(self, stage: Stage) -> None:
        assert (await said(stage.port, b'{"id":1,"method":"initialize"}\n\n')).startswith(
            b"HTTP/1.1 400 "
        )


class TestHandedOverSockets:
    async def test_a_socket_that_was_handed_over_is_served(self, tmp_path: Path) -> None:
        listener = bind(Address("127.0.0.1", 0))
        async with running(tmp_path, Config(), listener) as daemon:
            assert daemon.http.addresses.known == [f"http://{address_of(listener)}"]

    async def test_a_handed_over_listener_on_a_public_address_needs_allow_remote(
        self, tmp_path: Path
    ) -> None:
        for allowed in (False, True):
            listener = bind(Address("0.0.0.0", 0))
            config = Config(http=HttpSection(allow_remote=allowed))
            async with running(tmp_path, config, listener) as daemon:
                assert bool(daemon.http.addresses.known) is allowed


class TestToken:
    def test_the_token_is_made_once_and_readable_by_its_owner_alone(self, tmp_path: Path) -> None:
        folder = tmp_path / "state"
        token = token_at(folder)
        assert token_at(folder) == token
        assert len(token) >= 43
        found = (folder / FILE_NAME).stat()
        assert stat.S_IMODE(found.st_mode) == 0o600
        assert os.listdir(folder) == [FILE_NAME]

    def test_another_can_be_made(self, tmp_path: Path) -> None:
        token = token_at(tmp_path)
        assert renew_token(tmp_path) not in ("", token)

    @pytest.mark.parametrize("content", ["", "\n", "short", "x y" * 20, "é" * 40])
    def test_a_file_without_a_token_is_refused(self, tmp_path: Path, content: str) -> None:
        (tmp_path / FILE_NAME).write_text(content)
        (tmp_path / FILE_NAME).chmod(0o600)
        with pytest.raises(TokenUnusable, match="holds no token"):
            token_at(tmp_path)

    def test_a_file_that_others_can_read_is_refused(self, tmp_path: Path) -> None:
        token_at(tmp_path)
        (tmp_path / FILE_NAME).chmod(0o640)
        with pytest.raises(TokenUnusable, match="can be read by others"):
            token_at(tmp_path)

    def test_a_token_path_that_is_no_regular_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / FILE_NAME).mkdir()
        with pytest.raises(TokenUnusable, match="is not a file"):
            token_at(tmp_path)
        (tmp_path / "s").mkdir()
        (tmp_path / "s" / FILE_NAME).symlink_to("elsewhere")
        with pytest.raises(OSError, match="symbolic links"):
            token_at(tmp_path / "s")

    async def test_without_a_usable_token_nothing_listens(self, tmp_path: Path) -> None:
        (tmp_path / "state").mkdir(mode=0o700)
        (tmp_path / "state" / FILE_NAME).touch(mode=0o600)
        with capture_logs() as logs:
            async with running(tmp_path, Config(http=HttpSection("127.0.0.1:0"))) as daemon:
                assert daemon.http.addresses.first is None
        [told] = [entry for entry in logs if entry["event"] == "http_not_served"]
        assert "holds no token" in told["detail"]
        assert told["hint"]


def test_an_address_is_written_as_it_is_typed() -> None:
    assert (str(Address("127.0.0.1", 9464)), str(Address("::1", 9464))) == (
        "127.0.0.1:9464",
        "[::1]:9464",
    )
