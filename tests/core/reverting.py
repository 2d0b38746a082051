"""The command that reverts to a turn."""

from typing import Any

from trimpoint_protocol import commands as wire

from tests.core.given import (
    client,
)


def revert(**arguments: Any) -> wire.RevertToCheckpoint:
    command = client(wire.RevertToCheckpoint, **arguments)
    assert isinstance(command, wire.RevertToCheckpoint)
    return command
