"""A refusal names the command that helps on."""

import pytest
from trimpoint.core.model.spelling import Spelling, spelled
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.core.given import Conversation, client, started


@pytest.mark.parametrize(
    ("command", "reason", "way_on"),
    [
        (client(wire.RevertToCheckpoint, turn_count=1), Reason.CHECKPOINT_NOT_FOUND, "/revert 1 --context"),
        (client(wire.RevertToCheckpoint, turn_count=9), Reason.TURN_NOT_FOUND, "/timeline"),
        (client(wire.RevertToCheckpoint, turn_id="no"), Reason.TURN_NOT_FOUND, "/timeline"),
        (client(wire.PinContext, turns=[9]), Reason.TURN_NOT_FOUND, "/timeline"),
        (client(wire.UnpinContext, pins=["9"]), Reason.ENTRY_NOT_FOUND, "/pins"),
        (client(wire.CompactContext), Reason.NOT_ENOUGH_MESSAGES, "/compact --force"),
    ],
)  # fmt: skip
def test_a_refusal_of_what_was_typed_names_the_way_on(
    command: wire.AnyClientCommand, reason: Reason, way_on: str
) -> None:
    thread = started(turns=2)
    thread.do(client(wire.PinContext, turns=[2]))
    rejected = thread.when(command).rejected(reason)
    assert way_on in [hint.command for hint in rejected.hints]


def test_an_archived_thread_names_the_command_that_brings_it_back() -> None:
    thread: Conversation = started()
    thread.do(client(wire.ArchiveThread))
    rejected = thread.when(client(wire.TrimContext)).rejected(Reason.THREAD_ARCHIVED)
    (hint,) = rejected.hints
    assert spelled(hint.command, Spelling.SHELL) == "trimpoint threads unarchive thread-1"
