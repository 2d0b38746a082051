"""Which content leaves the machine, for each field; none by default."""

from typing import Any, get_args

import msgspec
import pytest
from trimpoint.core.model import events as ev
from trimpoint.fleet.content import NUMBERS_AND_STATES, TITLES, Content, shortened, shown

from tests.core.samples import SAMPLES

WORDS = "a secret sentence"


def with_words(event: ev.AnyEvent) -> ev.AnyEvent:
    """Returns `event` with a sentence in each field that can hold one."""
    texts: dict[str, Any] = {}
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if isinstance(value, str):
            texts[name] = WORDS
        elif isinstance(value, bytes):
            texts[name] = msgspec.json.encode({"text": WORDS})
        elif isinstance(value, tuple):
            texts[name] = (WORDS,)
    return msgspec.structs.replace(event, **texts)


def sent(event: ev.AnyEvent, content: Content) -> bytes:
    record = ev.Record(5, 1, 0, (event,), WORDS, b"", "operation", "alice")
    return msgspec.json.encode(shown(record, 0, "thread", content))


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: str(event.__struct_config__.tag))
def test_no_sentence_leaves_with_numbers_and_states(event: ev.AnyEvent) -> None:
    assert WORDS.encode() not in sent(with_words(event), "none")


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: str(event.__struct_config__.tag))
def test_titles_send_no_more_than_titles(event: ev.AnyEvent) -> None:
    found = msgspec.json.decode(sent(with_words(event), "titles"))
    has_words = {name for name, value in found["payload"].items() if value == WORDS}
    assert len(has_words) == len(TITLES.get(type(event), ()))


def test_every_field_that_is_named_is_a_field() -> None:
    for table in (NUMBERS_AND_STATES, TITLES):
        for event, names in table.items():
            assert set(names) <= set(event.__struct_fields__) - event.private


def test_every_event_was_judged() -> None:
    silent = {ev.ThreadArchived, ev.ThreadUnarchived, ev.ThreadRenamed, ev.SettingsChanged}
    assert set(get_args(ev.AnyEvent)) == set(NUMBERS_AND_STATES) | silent


def test_full_content_has_the_words_and_nothing_private() -> None:
    entry = ev.EntryRecorded("t", "e", "message", "user", WORDS)
    assert WORDS.encode() in sent(entry, "full")
    created = ev.ThreadCreated("t", "/w", "started", b'{"instructions":"private"}')
    assert b"private" not in sent(created, "full")


def test_an_event_that_is_too_large_is_cut_and_says_so() -> None:
    record = ev.Record(1, 1, 0, (ev.EntryRecorded("t", "e", "message", "user", "x" * 10**6),))
    found = shortened(shown(record, 0, "thread", "full"))
    assert found.payload["isCut"] is True
    assert len(msgspec.json.encode(found)) < 20_000
