"""WebSocket in raw bytes: frames as a client sends them and as a server answers."""

import json
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from trimpoint.transport.connection import Connection
from websockets.frames import Opcode

from tests.http.stage import UPGRADE, Stage, Wire

MIB = 1024 * 1024
PING_INIT = b'{"id":1,"method":"commands/list"}'


def masked(payload: bytes, opcode: int = 1, *, fin: bool = True) -> bytes:
    """Returns a client's frame."""
    mask = b"\x37\xfa\x21\x3d"
    size = len(payload)
    first = bytes([(0x80 if fin else 0) | opcode])
    if size < 126:
        head = bytes([0x80 | size])
    elif size < 1 << 16:
        head = b"\xfe" + struct.pack(">H", size)
    else:
        head = b"\xff" + struct.pack(">Q", size)
    return first + head + mask + _xor(payload, mask)


def _xor(payload: bytes, mask: bytes) -> bytes:
    padded = (mask * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(padded, "big")).to_bytes(
        len(payload), "big"
    )


async def frame(wire: Wire) -> tuple[int, bytes]:
    """Returns the next frame of the server: opcode and payload."""
    first, second = await wire.buffered.receive_exactly(2)
    assert first & 0x80, "a server sends one frame a message"
    assert not second & 0x80, "a server masks nothing"
    size = second
    if size == 126:
        size = struct.unpack(">H", await wire.buffered.receive_exactly(2))[0]
    elif size == 127:
        size = struct.unpack(">Q", await wire.buffered.receive_exactly(8))[0]
    return first & 0x0F, await wire.buffered.receive_exactly(size) if size else b""


async def message(wire: Wire) -> Any:
    opcode, payload = await frame(wire)
    assert opcode == Opcode.TEXT
    return json.loads(payload)


async def close_code(wire: Wire) -> int:
    opcode, payload = await frame(wire)
    assert opcode == Opcode.CLOSE
    return int(struct.unpack(">H", payload[:2])[0])


@asynccontextmanager
async def opened(stage: Stage) -> AsyncGenerator[Wire]:
    async with stage.unix() as wire:
        answer = await wire.ask("GET", "/rpc", UPGRADE)
        assert answer.status == 101
        yield wire


def ignored(_: Connection, message: object) -> None:
    """Ignores a client's message; this test sends none."""
    del message
