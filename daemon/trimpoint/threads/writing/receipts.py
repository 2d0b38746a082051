"""The answer to a command, and the stored answer when the same command is sent again."""

import hashlib
from typing import NamedTuple

import msgspec
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Rejected
from trimpoint.core.model.state import Receipt
from trimpoint.threads.errors import CommandIdConflict

_encoder = msgspec.msgpack.Encoder()


class CommandResult(NamedTuple):
    """The acknowledgement of a command: the record that the command appended."""

    record: ev.Record

    @property
    def operation_id(self) -> str | None:
        """Returns the id of the operation that the command started, or None."""
        return self.record.operation_id

    @property
    def sequence(self) -> int:
        """Returns the global sequence number of the record's last event."""
        return self.record.sequence + len(self.record.events) - 1


def fingerprint_of(command: wire.ClientCommand) -> bytes:
    """Returns a digest of the command's arguments. The time of sending is not included, so that a
    repeated command has the same digest.
    """
    encoded = _encoder.encode(msgspec.structs.replace(command, created_at=None))
    return hashlib.blake2b(encoded, digest_size=16).digest()


def stored_answer(command_id: str, receipt: Receipt, fingerprint: bytes) -> ev.Record | Rejected:
    """Returns the stored answer of a command that was handled before.

    :raises CommandIdConflict: when the command had other arguments before.
    """
    if receipt.fingerprint != fingerprint:
        raise CommandIdConflict(command_id)
    first = receipt.events[0] if receipt.events else None
    if isinstance(first, ev.CommandRejected):
        return Rejected(Reason(first.reason), first.message)
    return ev.Record(
        receipt.sequence,
        receipt.thread_sequence,
        receipt.occurred_at_ms,
        receipt.events,
        command_id,
        fingerprint,
        receipt.operation_id,
    )
