"""Encodes records as journal payloads: msgpack, fields by position, tagged (docs/spec/journal.md).
Pure.
"""

import msgspec

from trimpoint.core.model.events import Record

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Record)


class UnreadableRecord(Exception):
    """A payload is intact but no record that this version knows: for example, a later trimpoint
    wrote an event that is unknown here.
    """

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail

    def __str__(self) -> str:
        return f"a record cannot be read by this version of trimpoint: {self.detail}"


def encode_record(record: Record) -> bytes:
    """Returns `record` encoded as a payload."""
    return _encoder.encode(record)


def decode_record(payload: bytes | memoryview) -> Record:
    """Returns the record that `payload` encodes.

    :raises UnreadableRecord: when this version does not know the record.
    """
    try:
        return _decoder.decode(payload)
    except msgspec.MsgspecError as error:
        raise UnreadableRecord(str(error)) from error
