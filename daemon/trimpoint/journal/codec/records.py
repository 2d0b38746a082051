"""Records as journal payloads: msgpack, by position, tagged (docs/spec/journal.md). Pure."""

import msgspec

from trimpoint.core.model.events import Record

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Record)


class UnreadableRecord(Exception):
    """The payload is whole but no record of this version, as when a later trimpoint wrote an event
    unknown here.
    """

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail

    def __str__(self) -> str:
        return f"a record cannot be read by this version of trimpoint: {self.detail}"


def encode_record(record: Record) -> bytes:
    """Returns `record` as one payload."""
    return _encoder.encode(record)


def decode_record(payload: bytes | memoryview) -> Record:
    """Returns the record in `payload`.

    :raises UnreadableRecord: when it is none that this version knows.
    """
    try:
        return _decoder.decode(payload)
    except msgspec.MsgspecError as error:
        raise UnreadableRecord(str(error)) from error
