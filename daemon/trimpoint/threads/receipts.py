"""The answer to a command, and the same answer when the command comes again."""

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
    """The acknowledgement of a command: the record's place and events, and the operation it belongs
    to.
    """

    record: ev.Record

    @property
    def operation_id(self) -> str | None:
        """Returns the operation that goes on after the acknowledgement, if there is one."""
        return self.record.operation_id

    @property
    def sequence(self) -> int:
        """Global sequence of the last event."""
        return self.record.sequence + len(self.record.events) - 1


def fingerprint_of(command: wire.ClientCommand) -> bytes:
    """Returns what identifies a command's arguments. The sender's clock is none of them, or a
    repetition would conflict with itself.
    """
    encoded = _encoder.encode(msgspec.structs.replace(command, created_at=None))
    return hashlib.blake2b(encoded, digest_size=16).digest()


def stored_answer(command_id: str, receipt: Receipt, fingerprint: bytes) -> ev.Record | Rejected:
    """Returns what the command was answered before.

    :raises CommandIdConflict: it had other arguments then.
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
