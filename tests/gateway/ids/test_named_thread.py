"""The thread that a request names, which decides which Codex answers the request."""

import pytest
from msgspec import Raw
from trimpoint.gateway.ids.named_thread import LONGEST_BYTES, named_thread, over_long_member


@pytest.mark.parametrize(
    ("params", "named"),
    [
        (b'{"threadId":"t1"}', "t1"),
        (b'{"threadId":"t1","input":[{"type":"text","text":"threadId"}]}', "t1"),
        (b'{"command":{"type":"thread.archive","threadId":"t1"}}', "t1"),
        (b'{"command":["ls","-l"],"cwd":"/work"}', None),
        (b'{"command":"ls"}', None),
        (b'{"threadId":7}', None),
        (b"[1]", None),
        (b"null", None),
        (b"{}", None),
    ],
)
def test_a_request_names_a_thread_by_its_own_member_or_by_that_of_its_command(
    params: bytes, named: str | None
) -> None:
    assert named_thread(Raw(params)) == named


def test_a_request_without_parameters_names_none() -> None:
    assert named_thread(None) is None


@pytest.mark.parametrize("name", LONGEST_BYTES)
def test_an_id_or_a_name_beyond_its_longest_is_found(name: str) -> None:
    longest = "x" * (LONGEST_BYTES[name] - 2)
    assert over_long_member(Raw(b'{"%b":"%b"}' % (name.encode(), longest.encode()))) is None
    assert over_long_member(Raw(b'{"%b":"%bx"}' % (name.encode(), longest.encode()))) == name


def test_a_long_command_that_is_no_text_is_no_over_long_one() -> None:
    words = b",".join([b'"word"'] * LONGEST_BYTES["command"])
    assert over_long_member(Raw(b'{"command":[%b]}' % words)) is None


@pytest.mark.parametrize("params", [b"[1]", b"null", b"{}", b'{"threadId":7}', b'{"a":"\xff"}'])
def test_parameters_of_any_shape_hold_no_over_long_id(params: bytes) -> None:
    assert over_long_member(Raw(params)) is None
    assert over_long_member(None) is None
