"""What handles Codex's notifications and requests: its answers and its failures."""

import pytest
from msgspec import Raw
from structlog.testing import capture_logs
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.peer import Outcome

from tests.codex.stage import (
    DEADLINE_S,
    REPLY,
    peer_session,
)

pytestmark = pytest.mark.processes


async def test_a_failing_handler_does_not_stop_the_reader(puppet: LaunchProfile) -> None:
    async with peer_session(puppet) as stage:
        with capture_logs() as logs:
            stage.emit('{"method":"explode"}\n{"method":"next"}\n')
            await stage.timeline.until("next")
    assert [(log["event"], log["method"]) for log in logs] == [
        ("codex_message_handler_failed", "explode")
    ]


async def test_a_failing_callback_does_not_stop_the_reader(puppet: LaunchProfile) -> None:
    def explode(outcome: Outcome) -> None:
        raise RuntimeError("callback bug")

    async with peer_session(puppet) as stage:
        text = REPLY + '{"method":"next"}\n'
        stage.peer.begin("emit", {"text": text}, deadline_s=DEADLINE_S, on_outcome=explode)
        await stage.timeline.until("next")
        assert stage.peer.in_flight == 0


async def test_a_server_request_is_answered_with_its_very_id(puppet: LaunchProfile) -> None:
    async with peer_session(puppet) as stage:
        stage.timeline.on_request = lambda request_id: stage.peer.respond(
            request_id, {"decision": "accept"}
        )
        stage.emit('{"id":"a-1","method":"approve","params":{}}\n')
        assert await stage.timeline.received() == {"id": "a-1", "result": {"decision": "accept"}}
    assert stage.timeline.events[0] == 'approve?"a-1"'


async def test_a_server_request_can_be_refused(puppet: LaunchProfile) -> None:
    async with peer_session(puppet) as stage:
        stage.timeline.on_request = lambda request_id: stage.peer.respond_error(
            request_id, -32601, "no"
        )
        stage.emit('{"id":0,"method":"approve"}\n')
        assert await stage.timeline.received() == {
            "id": 0,
            "error": {"code": -32601, "message": "no"},
        }


async def test_a_server_request_whose_handler_fails_is_refused_not_forgotten(
    puppet: LaunchProfile,
) -> None:
    def explode(request_id: Raw) -> None:
        raise RuntimeError("handler bug: secret")

    async with peer_session(puppet) as stage:
        stage.timeline.on_request = explode
        stage.emit('{"id":0,"method":"approve"}\n')
        assert await stage.timeline.received() == {
            "id": 0,
            "error": {"code": -32603, "message": "internal error"},
        }


async def test_a_handler_may_ask_without_waiting(puppet: LaunchProfile) -> None:
    async with peer_session(puppet) as stage:

        def ask(request_id: Raw) -> None:
            note = stage.timeline.note
            stage.peer.begin(
                "emit", {"text": REPLY}, deadline_s=DEADLINE_S, on_outcome=lambda _: note("reply")
            )

        stage.timeline.on_request = ask
        stage.emit('{"id":0,"method":"approve"}\n')
        await stage.timeline.until("reply")
