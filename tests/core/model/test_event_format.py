"""The format of journals: bytes that were once written decode for ever, with the same meaning
(docs/spec/model.md, docs/spec/journal.md).

`golden/events.json` holds, by event tag, every form of a record with that event ever written
(`written`, oldest first), and the event with only its required fields (`bare`). `python -m
tests.core.write_golden` adds new forms and refuses to change existing ones.
"""

from typing import Any

import msgspec
import pytest
from trimpoint.core.model import events as ev

from tests.core.samples import SAMPLES
from tests.core.write_golden import bare_event, read_golden, record_of, tag_of

GOLDEN = read_golden()
decode = msgspec.msgpack.Decoder(ev.Record).decode
encode = msgspec.msgpack.Encoder().encode
each_event = pytest.mark.parametrize("event", SAMPLES, ids=tag_of)


def lists(payload: bytes) -> list[Any]:
    """Returns a record as the nested arrays in which it is stored."""
    return msgspec.msgpack.decode(payload, type=list[Any])


def with_event(event: list[Any]) -> bytes:
    return encode([1, 1, 0, [event]])


def event_in(payload: bytes) -> ev.AnyEvent:
    (event,) = decode(payload).events
    return event


def starts_with(longer: list[Any], shorter: list[Any]) -> bool:
    return longer[: len(shorter)] == shorter


def test_every_event_type_is_pinned_and_none_was_taken_away() -> None:
    assert set(GOLDEN) == {tag_of(sample) for sample in SAMPLES}


@each_event
def test_events_are_encoded_in_the_newest_golden_form(event: ev.AnyEvent) -> None:
    assert encode(record_of(event)).hex() == GOLDEN[tag_of(event)].written[-1]


@each_event
def test_all_golden_event_encodings_still_decode(event: ev.AnyEvent) -> None:
    forms = [bytes.fromhex(written) for written in GOLDEN[tag_of(event)].written]
    for form in forms:
        record, stored = decode(form), lists(form)
        assert type(record.events[0]) is type(event)
        now = lists(encode(record))
        assert starts_with(now[3][0], stored[3][0])
        assert starts_with(now[4:], stored[4:])
        assert now[:3] == stored[:3]
    assert event_in(forms[-1]) == event


@each_event
def test_fields_that_a_shorter_array_lacks_have_their_golden_defaults(event: ev.AnyEvent) -> None:
    fields = msgspec.structs.fields(event)
    required = [field.name for field in fields if field.required]
    whole = lists(encode(record_of(event)))[3][0]
    for length in range(1 + len(required), len(whole) + 1):
        decoded = event_in(with_event(whole[:length]))
        for position, field in enumerate(fields, start=1):
            expected = getattr(event, field.name) if position < length else field.default
            assert getattr(decoded, field.name) == expected
    assert encode(bare_event(event)).hex() == GOLDEN[tag_of(event)].bare


@each_event
def test_a_field_that_a_later_version_appends_is_skipped(event: ev.AnyEvent) -> None:
    whole = lists(encode(record_of(event)))[3][0]
    assert event_in(with_event([*whole, "from the future", {"a": [1]}])) == event


@pytest.mark.parametrize(
    "event", [sample for sample in SAMPLES if sample.__struct_fields__], ids=tag_of
)
def test_an_array_without_a_field_that_must_be_there_is_refused(event: ev.AnyEvent) -> None:
    required = [field for field in msgspec.structs.fields(event) if field.required]
    whole = lists(encode(record_of(event)))[3][0]
    with pytest.raises(msgspec.ValidationError):
        decode(with_event(whole[: len(required)]))


@each_event
def test_required_fields_come_first_so_that_position_means_the_same_for_ever(
    event: ev.AnyEvent,
) -> None:
    needed = [field.required for field in msgspec.structs.fields(event)]
    assert needed == sorted(needed, reverse=True)


def test_a_record_of_the_future_decodes_without_what_it_appends() -> None:
    record = record_of(SAMPLES[0])
    assert decode(encode([*lists(encode(record)), "from the future"])) == record


def test_a_record_without_a_command_decodes() -> None:
    assert decode(encode([5, 3, 7, []])) == ev.Record(5, 3, 7, ())
    defaults = ev.Record(5, 3, 7, ())
    assert (defaults.command_id, defaults.fingerprint, defaults.operation_id) == (None, b"", None)


def test_an_event_of_an_unknown_type_is_refused_not_guessed() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"thread\.unheard-of"):
        decode(with_event(["thread.unheard-of", 1]))
