"""Records as payloads: they read back unchanged, and records of later versions are distinguished
from damage.
"""

import msgspec
import pytest
from trimpoint.core.model import events as ev
from trimpoint.journal.codec.records import UnreadableRecord, decode_record, encode_record


def test_a_record_reads_back_as_it_was() -> None:
    record = ev.Record(
        7,
        3,
        1_700_000_000_000,
        (ev.TurnStarted("turn-1", 2), ev.TurnCompleted("turn-1", "completed")),
        "c-1",
        b"f",
        "op",
    )
    assert decode_record(encode_record(record)) == record
    assert decode_record(memoryview(encode_record(record))) == record


def test_an_event_of_a_later_version_is_reported_as_unreadable() -> None:
    payload = msgspec.msgpack.encode([1, 1, 0, [["thread.from-the-future", 1]]])
    with pytest.raises(UnreadableRecord, match="cannot be read by this version of trimpoint"):
        decode_record(payload)
