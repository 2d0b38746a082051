"""How large the parts of a request may be; what is larger is refused before anything decodes it."""

import msgspec
import pytest
from msgspec import Raw
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.requests import sizes
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint_protocol.errors import Reason

from tests.gateway.stage import FakeClient, client_request


def checked(method: str, params: bytes) -> Refusal | None:
    """Returns the refusal of a request for its size, or None."""
    wire = b'{"id":1,"method":"%b","params":%b}' % (method.encode(), params)
    request = client_request(FakeClient(Clients()), wire)
    try:
        sizes.check_sizes(method, len(wire), request.members())
    except Refusal as refusal:
        return refusal
    return None


def text(size_bytes: int) -> bytes:
    return b'"%b"' % (b"x" * (size_bytes - 2))


@pytest.mark.parametrize("name", sizes.LONGEST_BYTES)
def test_an_id_or_a_name_beyond_its_longest_is_refused(name: str) -> None:
    longest = sizes.LONGEST_BYTES[name]
    assert checked("m", b'{"%b":%b}' % (name.encode(), text(longest))) is None
    refusal = checked("m", b'{"%b":%b}' % (name.encode(), text(longest + 1)))
    assert refusal is not None
    assert refusal.reason is Reason.INVALID_PARAMS
    assert refusal.message == f"`{name}` is longer than {longest:,} bytes."


def test_a_long_command_that_is_no_text_is_no_over_long_one() -> None:
    words = b",".join([b'"%b"' % (b"x" * 60)] * 15_000)
    assert checked("m", b'{"command":[%b]}' % words) is None


@pytest.mark.parametrize("params", [b"null", b"{}", b'{"threadId":7}', b'{"cwd":null}'])
def test_small_parameters_are_not_refused(params: bytes) -> None:
    assert checked("thread/read", params) is None


def test_a_method_with_a_name_beyond_the_longest_is_unknown() -> None:
    refusal = checked("m" * (sizes.MAX_METHOD_CHARS + 1), b"{}")
    assert refusal is not None
    assert refusal.reason is Reason.METHOD_NOT_FOUND


@pytest.mark.parametrize("method", sizes.CONTENT)
def test_content_may_have_megabytes_and_nothing_beside_it(method: str) -> None:
    content = sizes.CONTENT[method]
    large = {b'"': text(9_000_000), b"{": b'{"data":%b}' % text(9_000_000)}.get(
        content.starts, b"[%b]" % text(9_000_000)
    )
    assert checked(method, b'{"%b":%b}' % (content.member.encode(), large)) is None
    refusal = checked(method, b'{"other":%b}' % large)
    assert refusal is not None
    assert refusal.reason is Reason.MESSAGE_TOO_LARGE
    assert f"beside `{content.member}`" in refusal.message


@pytest.mark.parametrize("method", [m for m, one in sizes.CONTENT.items() if len(one.starts) == 1])
def test_content_of_another_type_is_refused_because_codex_would_repeat_it(method: str) -> None:
    content = sizes.CONTENT[method]
    other = b'["a"]' if content.starts != b"[" else b'"a"'
    refusal = checked(method, b'{"%b":%b}' % (content.member.encode(), other))
    assert refusal is not None
    assert refusal.reason is Reason.INVALID_PARAMS


def test_unknown_members_of_any_method_count() -> None:
    beyond = text(sizes.MAX_OTHER_BYTES)
    refusal = checked("future/method", b'{"new":%b}' % beyond)
    assert refusal is not None
    assert refusal.message == "future/method takes at most 1,048,576 bytes."


def test_instructions_may_be_long_and_choices_may_not() -> None:
    long = text(sizes.MAX_MEMBER_BYTES + 1)
    assert checked("thread/start", b'{"developerInstructions":%b}' % long) is None
    refusal = checked("thread/start", b'{"model":%b}' % long)
    assert refusal is not None
    assert refusal.message == "`model` is larger than 131,072 bytes."


def test_the_values_beside_the_content_are_counted() -> None:
    few, many = (b'"[,]",' * count for count in (sizes.MAX_OTHER_VALUES - 2, 20_000))
    assert checked("thread/start", b'{"config":[%b0]}' % few) is None
    refusal = checked("thread/start", b'{"config":[%b0]}' % many)
    assert refusal is not None
    assert "at most 20,000 values" in refusal.message
    assert checked("thread/inject_items", b'{"items":[%b0]}' % many) is None


def test_the_content_of_a_large_request_is_not_decoded() -> None:
    content = b'[{"type":"text","text":%b}]' % text(300_000)
    params = b'{"threadId":"t1","input":%b}' % content
    request = client_request(
        FakeClient(Clients()), b'{"id":1,"method":"turn/start","params":%b}' % params
    )
    assert request.params() == {"threadId": "t1", "input": Raw(content)}
    assert request.members() is request.members()
    small = client_request(
        FakeClient(Clients()), b'{"id":1,"method":"turn/start","params":{"input":[]}}'
    )
    assert small.params() == {"input": []}


@pytest.mark.parametrize("size_bytes", [10, 300_000])
def test_parameters_that_are_no_object_are_refused(size_bytes: int) -> None:
    wire = msgspec.json.encode({"id": 1, "method": "m", "params": ["x" * size_bytes]})
    request = client_request(FakeClient(Clients()), wire)
    for read in (request.params, request.members):
        with pytest.raises(Refusal, match="as an object"):
            read()
