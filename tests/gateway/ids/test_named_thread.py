"""The thread that a request names, which decides which Codex answers the request."""

import pytest
from msgspec import Raw
from trimpoint.gateway.ids.named_thread import named_thread


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
