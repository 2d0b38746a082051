"""JSON values of any kind, for hypothesis, and messages that are none."""

from hypothesis import strategies as st
from trimpoint_protocol.jsonrpc import (
    Invalid,
    decode,
)

floats = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | floats | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def invalid(message: bytes) -> Invalid:
    decoded = decode(message)
    assert isinstance(decoded, Invalid), decoded
    return decoded
