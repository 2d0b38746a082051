"""What a provider answered with is said in its words, and any other message as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint_protocol.lenient import words_of_error

CASES = {
    '{"error":{"message":"The model is gone.","type":"x"}}': "The model is gone.",
    'unexpected status 400: {"error": {"message": "No."}}': "unexpected status 400: No.",
    '{"message":"No."}': "No.",
    '{"error":"No."}': "No.",
    '{"detail":"No."}': '{"detail":"No."}',
    '{"error":{"message":7}}': '{"error":{"message":7}}',
    "{not JSON}": "{not JSON}",
    "} and {": "} and {",
    "plain words": "plain words",
    "": "",
}


@pytest.mark.parametrize(("message", "said"), CASES.items())
def test_the_words_of_an_error(message: str, said: str) -> None:
    assert words_of_error(message) == said


@given(st.text())
def test_any_text_has_words(message: str) -> None:
    assert isinstance(words_of_error("{" + message + "}"), str)


def test_deep_json_is_shown_as_it_is() -> None:
    deep = '{"a":' * 100_000 + "1" + "}" * 100_000
    assert words_of_error(deep) == deep
