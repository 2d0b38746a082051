"""The handshake of WebSocket, in raw bytes."""

import asyncio
import random
import socket

import pytest
from trimpoint.config.sections import LimitsSection

from tests.effort import tries
from tests.http.frames import MIB, PING_INIT, masked, message, opened
from tests.http.stage import UPGRADE, Stage


class TestHandshake:
    async def test_a_websocket_opens_as_rfc_6455_says(self, stage: Stage) -> None:
        async with stage.unix() as wire:
            answer = await wire.ask("GET", "/rpc", UPGRADE)
        assert answer.headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        told = int(answer.headers["x-codex-websocket-max-unfragmented-message-bytes"])
        assert told == min(LimitsSection().max_message_bytes, 16 * MIB)

    async def test_subprotocols_and_extensions_are_not_taken_up(self, stage: Stage) -> None:
        offered = {
            "Sec-WebSocket-Protocol": "mcp, token.x",
            "Sec-WebSocket-Extensions": "permessage-deflate",
        }
        async with stage.unix() as wire:
            answer = await wire.ask(
                "GET",
                "/rpc",
                {**UPGRADE, **offered, "x-codex-app-server-compression": "zstd-stream-v1"},
            )
        assert answer.status == 101
        assert not {"sec-websocket-protocol", "sec-websocket-extensions"} & answer.headers.keys()

    async def test_a_client_that_takes_several_messages_in_a_frame_is_told_so(
        self, stage: Stage
    ) -> None:
        offered = {"Sec-WebSocket-Protocol": "mcp, trimpoint.lines"}
        async with stage.unix() as wire:
            answer = await wire.ask("GET", "/rpc", {**UPGRADE, **offered})
            assert answer.headers["sec-websocket-protocol"] == "trimpoint.lines"
            await wire.stream.send(masked(b"{"))
            assert (await message(wire))["error"]["code"] == -32700

    @pytest.mark.parametrize(
        ("path", "status"),
        [("/", 101), ("/rpc", 101), ("/rpc?a=1", 101), ("/rpc/x", 101), ("/other", 404)],
    )
    async def test_paths_outside_rpc_have_no_websocket(
        self, stage: Stage, path: str, status: int
    ) -> None:
        async with stage.unix() as wire:
            assert (await wire.ask("GET", path, UPGRADE)).status == status

    @pytest.mark.parametrize(
        ("changed", "status"),
        [
            ({"Sec-WebSocket-Version": "8"}, 400),
            ({"Sec-WebSocket-Version": ""}, 400),
            ({"Sec-WebSocket-Key": "short"}, 400),
            ({"Sec-WebSocket-Key": ""}, 400),
            ({"Connection": "keep-alive"}, 426),
        ],
    )
    async def test_an_invalid_upgrade_request_is_refused(
        self, stage: Stage, changed: dict[str, str], status: int
    ) -> None:
        async with stage.unix() as wire:
            answer = await wire.ask("GET", "/rpc", {**UPGRADE, **changed})
        assert (answer.status, answer.json()["status"], answer.json()["reason"]) == (
            status,
            status,
            "upgrade_refused",
        )
        assert answer.headers["sec-websocket-version"] == "13"

    async def test_a_frame_behind_the_handshake_is_not_lost(self, stage: Stage) -> None:
        head = "GET /rpc HTTP/1.1\r\nHost: x\r\n" + "".join(
            f"{k}: {v}\r\n" for k, v in UPGRADE.items()
        )
        async with stage.unix() as wire:
            await wire.stream.send(f"{head}\r\n".encode() + masked(PING_INIT))
            assert (await wire.answer()).status == 101
            assert (await message(wire))["error"]["message"] == "Not initialized"

    async def test_a_handshake_byte_by_byte_is_taken(self, stage: Stage) -> None:
        head = (
            "GET /rpc HTTP/1.1\r\nHost: x\r\n"
            + "".join(f"{k}: {v}\r\n" for k, v in UPGRADE.items())
            + "\r\n"
        )
        async with stage.unix() as wire:
            for byte in head.encode():
                await wire.stream.send(bytes([byte]))
            assert (await wire.answer()).status == 101

    async def test_broken_upgrades_harm_no_other_client(self, stage: Stage) -> None:
        chance = random.Random(7)
        whole = (
            "GET /rpc HTTP/1.1\r\nHost: localhost\r\n"
            + "".join(f"{k}: {v}\r\n" for k, v in UPGRADE.items())
            + "\r\n"
        )
        for _ in range(tries(200)):
            broken = bytearray(whole.encode())
            for _ in range(chance.randint(1, 8)):
                at = chance.randrange(len(broken))
                match chance.randrange(3):
                    case 0:
                        broken[at] = chance.randrange(256)
                    case 1:
                        del broken[at : at + chance.randint(1, 20)]
                    case _:
                        broken[at:at] = bytes(
                            chance.randrange(256) for _ in range(chance.randint(1, 20))
                        )
                broken = broken or bytearray(b"G")
            sock = socket.socket(socket.AF_UNIX)
            sock.setblocking(False)
            await asyncio.get_running_loop().sock_connect(sock, str(stage.socket))
            with sock:
                await asyncio.get_running_loop().sock_sendall(sock, bytes(broken))
                if chance.random() < 0.5:
                    sock.shutdown(socket.SHUT_WR)
        async with opened(stage) as wire:
            await wire.stream.send(masked(PING_INIT))
            assert (await message(wire))["error"]["message"] == "Not initialized"
