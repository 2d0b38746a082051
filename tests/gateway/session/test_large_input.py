"""Of a large input, no more is read than shows whether it is a command."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from trimpoint.gateway.commands import large_input
from trimpoint.gateway.commands.large_input import HEAD_BYTES, read_head
from trimpoint.gateway.session.requests.errors import Refusal

from tests.effort import tries


def raw(*parts: Any, ascii_only: bool = True) -> Raw:
    return Raw(json.dumps(parts, ensure_ascii=ascii_only, separators=(",", ":")).encode())


def text(content: str) -> dict[str, str]:
    return {"type": "text", "text": content}


def test_a_short_input_is_read_whole() -> None:
    parts = [text("/clear"), {"type": "image", "url": "data:"}, {"type": "skill", "path": "/a"}]
    assert read_head(raw(*parts)) == (
        [text("/clear"), {"type": "image"}, {"type": "skill", "path": "/a"}],
        False,
    )


@settings(max_examples=tries(60), deadline=None)
@given(
    st.integers(1, 14),  # a text that begins with blanks is refused
    st.text(alphabet='a\\"\n/é€😀', min_size=1, max_size=6),
    st.booleans(),
)
def test_a_long_text_is_cut_between_two_characters(
    shift: int, pattern: str, ascii_only: bool
) -> None:
    whole = "x" * shift + pattern * (2 * HEAD_BYTES // len(pattern))
    head = read_head(raw(text(whole), ascii_only=ascii_only))
    shown = head.parts[0]["text"]
    assert head.is_cut
    assert whole.startswith(shown)
    written = len(json.dumps(shown, ensure_ascii=ascii_only).encode())
    assert HEAD_BYTES - 12 <= written <= HEAD_BYTES + 1


def test_many_texts_are_cut_together() -> None:
    head = read_head(raw(*[text("x" * 100_000)] * 5))
    assert head.is_cut
    lengths = [len(part["text"]) for part in head.parts]
    assert lengths[:2] == [100_000, 100_000]
    assert lengths[2] < 100_000
    assert lengths[3:] == [0, 0]


@pytest.mark.parametrize("blank", [" ", "\n", "\t"])
def test_a_text_that_is_blank_as_far_as_it_is_read_is_refused(blank: str) -> None:
    with pytest.raises(Refusal, match="begins with more than 131,072 blank characters"):
        read_head(raw(text(blank * 2 * HEAD_BYTES + "/clear")))
    assert not read_head(raw(text(blank * 100))).is_cut


@pytest.mark.parametrize(
    ("turn_input", "words"),
    [
        (b'["text"]', "Expected `object`"),
        (b"[%b{}]" % (b"{}," * large_input.MAX_PARTS), "more than 10,000 parts"),
        (b'[{"type":"%b"}]' % (b"x" * large_input.MAX_BESIDE_BYTES), "beside texts and images"),
        (b'[{"text":[%b]}]' % (b"1," * HEAD_BYTES + b"1"), "is no text"),
    ],
)
def test_what_codex_would_repeat_in_its_error_is_refused(turn_input: bytes, words: str) -> None:
    with pytest.raises(Refusal, match=words):
        read_head(Raw(turn_input))


def test_an_image_is_not_decoded() -> None:
    image = b'{"type":"image","url":"%b"}' % (b"x" * HEAD_BYTES)
    assert read_head(Raw(b"[%b]" % image)) == ([{"type": "image"}], False)
