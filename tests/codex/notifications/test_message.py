"""A message of Codex is decoded when a parameter is read, and only once."""

import msgspec
import pytest
from msgspec import Raw
from trimpoint.codex.notifications.message import CodexMessage


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (b'{"threadId":"t","delta":"x"}', "t"),
        (b'{"delta":"x","threadId":"t"}', "t"),
        (b'{"threadId":7}', None),
        (b'["threadId"]', None),
        (b"{}", None),
        (b"", None),
    ],
)
def test_the_thread_is_found_wherever_it_stands(params: bytes, expected: str | None) -> None:
    line = b'{"method":"m","params":%b}' % params
    assert CodexMessage("m", Raw(params), line).thread_id == expected


def test_a_leading_thread_id_is_read_without_decoding_the_parameters() -> None:
    line = b'{"method":"m","params":{"threadId":"t","delta":"\xff"}}'
    message = CodexMessage("m", Raw(line[23:-1]), line)
    assert message.thread_id == "t"
    assert message.leading_part == b'{"method":"m","params":{"threadId":"t"'


def test_a_member_is_decoded_once() -> None:
    message = CodexMessage.compose("m", {"item": {"id": 1}, "name": "n"})
    assert message.member("item") is message.object("item")
    assert message.raw("item") == Raw(b'{"id":1}')
    assert message.object("name") == {}
    assert (message.member("none"), message.raw("none")) == (None, None)


def test_a_member_that_cannot_be_decoded_harms_no_other() -> None:
    message = CodexMessage("m", Raw(b'{"threadId":"\xff","name":"n"}'))
    assert message.thread_id is None
    assert message.member("name") == "n"
    with pytest.raises(msgspec.MsgspecError):
        message.member("threadId")


def test_a_message_with_another_member_is_the_same_otherwise() -> None:
    params = b'{"a":1.0,"turnId":"x"}'
    line = b'{"method":"m","params":%b,"emittedAtMs":7}' % params
    changed = CodexMessage("m", Raw(params), line).with_member("turnId", "y")
    assert changed.line == line.replace(b'"x"', b'"y"')
    assert changed.member("turnId") == "y"
