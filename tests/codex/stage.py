"""A peer with a scripted child, and a timeline of the calls of the peer's handler."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any

import anyio
import msgspec
import pytest
from msgspec import Raw
from trimpoint.codex.appserver.errors import ProviderExited
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.peer import FastPath, Peer
from trimpoint.codex.appserver.process import CodexChild, spawn_codex

from tests.codex.children import IMPATIENT
from tests.deadlines import SCENARIO_S, STEP_S

CLIENT_INFO = {"name": "peer-test", "version": "0"}
DEADLINE_S = STEP_S

# For "emit" it says `params.text`, the request's id in place of ID; "never" it ignores; of the rest
# it tells.
SCRIPTED_CHILD = """
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "emit":
            sys.stdout.write(message["params"]["text"].replace("ID", str(message.get("id"))))
        elif message.get("method") != "never":
            heard = {"method": "heard", "params": {"line": line}}
            sys.stdout.write(json.dumps(heard) + "\\n")
        sys.stdout.flush()
"""
REPLY = '{"id":ID,"result":"answer"}\n'


class Timeline:
    """A handler that records its calls in order."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.lines: list[bytes] = []
        self.params: list[Any] = []
        self.on_request: Callable[[Raw], None] | None = None
        self.fast_path: FastPath | None = None
        self._changed = anyio.Event()

    def on_notification(self, method: str, params: Raw, line: bytes) -> None:
        if method == "explode":
            raise RuntimeError("handler bug")
        self.params.append(msgspec.json.decode(params) if params else None)
        self.lines.append(line)
        self.note(method)

    def on_server_request(self, request_id: Raw, method: str, params: Raw) -> None:
        self.note(f"{method}?{bytes(request_id).decode()}")
        if self.on_request is not None:
            self.on_request(request_id)

    def note(self, event: str) -> None:
        self.events.append(event)
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, event: str) -> None:
        while event not in self.events:
            await self._changed.wait()

    async def received(self) -> Any:
        """Returns the newest message that the scripted child received, decoded."""
        await self.until("heard")
        return msgspec.json.decode(self.params[-1]["line"])


class PeerSession:
    """The peer, its child and its timeline, for tests of the peer."""

    def __init__(self, child: CodexChild, timeline: Timeline, peer: Peer) -> None:
        self.child = child
        self.timeline = timeline
        self.peer = peer

    def emit(self, text: str) -> None:
        self.peer.notify("emit", {"text": text})


@contextlib.asynccontextmanager
async def peer_session(profile: LaunchProfile, **limits: int) -> AsyncGenerator[PeerSession]:
    with anyio.fail_after(SCENARIO_S):
        async with spawn_codex(profile, grace=IMPATIENT) as child:
            timeline = Timeline()
            yield PeerSession(child, timeline, Peer(child, timeline, **limits))


async def expect_gone(stage: PeerSession) -> None:
    with pytest.raises(ProviderExited):
        await stage.peer.request("model/list", {}, deadline_s=DEADLINE_S)
