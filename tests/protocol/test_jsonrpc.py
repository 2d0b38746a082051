import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.jsonrpc import (
    INVALID_REQUEST,
    PARSE_ERROR,
    Batch,
    ErrorResponse,
    Invalid,
    Notification,
    Request,
    Response,
    decode,
    id_key,
    peek_notification,
)

from tests.protocol.stage import floats, invalid, json_values

VALID_IDS = [
    *b"1 0 -7 1.0 1e3 -0 1E+400 1e99999999999999999999 null".split(),
    pytest.param(b"9" * 5000, id="5000 digits"),
    *(b'""', b'"x"', b'"\\u0061\\n"', '"\u00fc\U0001f600"'.encode()),
]
INVALID_IDS = [b"true", b"false", b"[]", b"[[1],[2]]", b'{"id":1}']

id_texts = (st.none() | st.integers() | floats | st.text()).map(
    lambda value: json.dumps(value).encode()
)
# Pieces that mean something to the decoder, so that they come up together in every order.
LIVELY_PIECES = rb"""
    { } [ ] , : "id" "method" "params" "result" "error" null 1e3 - " \ud83d \ "jsonrpc":"2.0" {"method":"m"}
"""
lively_json = st.lists(st.sampled_from([*LIVELY_PIECES.split(), b"\xff", b" ", b"\n"])).map(
    b"".join
)


def request(id_text: bytes, rest: bytes = b"") -> bytes:
    return b'{"id":%b,"method":"thread/read"%b}' % (id_text, rest)


class TestMessages:
    def test_a_request_keeps_its_bytes_its_id_and_its_params_as_they_came(self) -> None:
        wire = b'{"id": 1e3, "method": "a/b", "params": { "x" : 1.50 }, "emittedAtMs": 7}'
        assert decode(wire) == Request(wire, b"1e3", "a/b", Raw(b'{ "x" : 1.50 }'), False)

    def test_a_call_without_an_id_is_a_notification(self) -> None:
        wire = b'{"method":"initialized","emittedAtMs":1}'
        assert decode(wire) == Notification(wire, "initialized", None, False)

    def test_a_null_id_is_still_an_id(self) -> None:
        assert decode(request(b"null")) == Request(
            request(b"null"), b"null", "thread/read", None, False
        )

    @pytest.mark.parametrize("params", [b"{}", b"[1,2]", b"null"])
    def test_params_may_be_an_object_an_array_or_null(self, params: bytes) -> None:
        decoded = decode(request(b"1", b',"params":' + params))
        assert isinstance(decoded, Request)
        assert decoded.params == Raw(params)

    def test_a_method_name_is_unescaped(self) -> None:
        wire = b'{"m\\u0065thod":"\\u0061/\\u00fc"}'
        assert decode(wire) == Notification(wire, "a/ü", None, False)

    @pytest.mark.parametrize("result", [b"null", b"0", b'{"a": [ ]}'])
    def test_a_result_makes_a_response(self, result: bytes) -> None:
        wire = b'{"id":"7","result":%b}' % result
        assert decode(wire) == Response(wire, b'"7"', Raw(result), False)

    def test_an_error_makes_an_error_response(self) -> None:
        wire = b'{"error":{"code":-32600,"message":"no"},"id":null}'
        assert decode(wire) == ErrorResponse(
            wire, b"null", Raw(b'{"code":-32600,"message":"no"}'), False
        )

    def test_a_null_beside_the_other_member_of_a_response_counts_as_absent(self) -> None:
        assert isinstance(decode(b'{"id":1,"result":{},"error":null}'), Response)
        assert isinstance(decode(b'{"id":1,"result":null,"error":null}'), Response)
        assert isinstance(
            decode(b'{"id":1,"result":null,"error":{"code":1,"message":""}}'), ErrorResponse
        )

    @pytest.mark.parametrize(
        "body", [b'"method":"m"', b'"id":1,"method":"m"', b'"id":1,"result":1', b'"id":1,"error":1']
    )
    @pytest.mark.parametrize(("member", "versioned"), [(b'"jsonrpc":"2.0",', True), (b"", False)])
    def test_the_dialect_is_remembered(self, body: bytes, member: bytes, versioned: bool) -> None:
        decoded = decode(b"{" + member + body + b"}")
        assert not isinstance(decoded, (Batch, Invalid))
        assert decoded.versioned is versioned

    def test_the_last_of_duplicate_keys_counts(self) -> None:
        wire = b'{"id":1,"method":"a","id":2,"method":"b","params":[],"params":{}}'
        assert decode(wire) == Request(wire, b"2", "b", Raw(b"{}"), False)

    def test_whitespace_around_a_message_does_not_matter(self) -> None:
        assert isinstance(decode(b' \r\n\t{"method":"m"}\r\n'), Notification)

    def test_a_view_is_copied_so_that_its_buffer_may_be_reused(self) -> None:
        buffer = bytearray(b'{"method":"m","params":["kept"]}')
        decoded = decode(memoryview(buffer))
        buffer[:] = b" " * len(buffer)
        assert decoded == decode(b'{"method":"m","params":["kept"]}')

    def test_huge_integers_and_paired_surrogate_escapes_pass_untouched(self) -> None:
        params = b'{"n":%b,"s":"\\ud83d\\ude00"}' % (b"9" * 10_000)
        decoded = decode(request(b"1", b',"params":' + params))
        assert isinstance(decoded, Request)
        assert decoded.params == Raw(params)


class TestIds:
    @pytest.mark.parametrize("id_text", VALID_IDS)
    def test_an_id_is_echoed_as_it_was_written(self, id_text: bytes) -> None:
        decoded = decode(request(b"  %b " % id_text))
        assert isinstance(decoded, Request)
        assert (
            jsonrpc.encode_result(decoded.id, {}, versioned=False)
            == b'{"id":%b,"result":{}}' % id_text
        )

    @pytest.mark.parametrize("id_text", INVALID_IDS)
    @pytest.mark.parametrize("rest", [b'"method":"m"', b'"result":1', b'"error":{}'])
    def test_an_id_of_another_type_is_refused_and_echoed_as_null(
        self, id_text: bytes, rest: bytes
    ) -> None:
        refused = invalid(b'{"id":%b,%b}' % (id_text, rest))
        assert (refused.code, refused.id) == (INVALID_REQUEST, b"null")
        assert refused.message == "id must be a string, a number or null"

    @given(id_texts)
    def test_any_id_survives_the_round_trip(self, id_text: bytes) -> None:
        wire = jsonrpc.encode_request(id_text, "m", versioned=True)
        assert decode(wire) == Request(wire, id_text, "m", None, True)

    @given(id_texts, id_texts)
    def test_keys_are_equal_exactly_when_the_values_are(self, one: bytes, other: bytes) -> None:
        values = [json.loads(text, parse_float=Decimal) for text in (one, other)]
        assert (id_key(one) == id_key(other)) is (values[0] == values[1])

    @pytest.mark.parametrize(
        "group", [(b"1", b"1.0", b"1e0", b"10E-1"), (b'"a"', b'"\\u0061"'), (b"0", b"-0")]
    )
    def test_forms_of_one_value_share_a_key(self, group: tuple[bytes, ...]) -> None:
        assert len({id_key(text) for text in group}) == 1

    def test_keys_of_different_values_differ(self) -> None:
        texts = [
            b"null",
            b'"null"',
            b"1",
            b'"1"',
            b'""',
            b"0",
            b"1e400",
            b"2e400",
            b"9" * 5000,
            b"8" * 5000,
        ]
        texts += [b"1e99999999999999999999", b"1e99999999999999999998", b'"1e99999999999999999999"']
        assert len({id_key(text) for text in texts}) == len(texts)


class TestInvalid:
    @pytest.mark.parametrize(
        "message", [b"", b"   ", b"{", b"{} {}", b"hello", b"5 x", b'"abc', b"[1,", b"[{]"]
    )
    def test_text_that_is_not_json_is_a_parse_error_without_an_id(self, message: bytes) -> None:
        refused = invalid(message)
        assert (refused.code, refused.id, refused.answerable) == (PARSE_ERROR, b"null", True)
        assert refused.message.startswith("the message is not valid JSON: ")

    @pytest.mark.parametrize(
        "spoilt", [b",", b',"x":01', b',"x":NaN', b',"x":"\n"', b',"x":"\\x"', b"\xff", b"//"]
    )
    def test_a_request_with_one_damaged_byte_is_a_parse_error(self, spoilt: bytes) -> None:
        assert invalid(request(b"1", spoilt)).message.startswith("the message is not valid JSON: ")

    @pytest.mark.parametrize("message", [b"1", b'"x"', b"null", b"true", b"-1.5e3"])
    def test_json_that_is_no_object_is_an_invalid_request(self, message: bytes) -> None:
        assert invalid(message) == Invalid(INVALID_REQUEST, "a message must be a JSON object")

    @pytest.mark.parametrize(
        ("members", "words"),
        [
            (b'"id":"a"', "a message needs a method, a result or an error"),
            (b'"id":"a","method":5', "method must be a string"),
            (b'"id":"a","method":null', "method must be a string"),
            (b'"id":"a","method":"m","params":"x"', "params must be an object, an array or null"),
            (b'"id":"a","method":"m","params":0', "params must be an object, an array or null"),
            (b'"id":"a","method":"m","params":true', "params must be an object, an array or null"),
            (b'"id":"a","method":"m","jsonrpc":"1.0"', 'jsonrpc must be "2.0" or absent'),
            (b'"id":"a","method":"m","jsonrpc":null', 'jsonrpc must be "2.0" or absent'),
        ],
    )
    def test_a_bad_request_is_refused_in_words_and_with_its_id(
        self, members: bytes, words: str
    ) -> None:
        assert invalid(b"{%b}" % members) == Invalid(
            INVALID_REQUEST, words, b'"a"', b"jsonrpc" in members, True
        )

    @pytest.mark.parametrize(
        ("members", "words", "id_text"),
        [
            (
                b'"id":3,"result":1,"error":{}',
                "a response has a result or an error, not both",
                b"3",
            ),
            (b'"id":3,"error":null', "a message needs a method, a result or an error", b"3"),
            (b'"result":1', "a response needs an id", b"null"),
            (b'"error":{}', "a response needs an id", b"null"),
            (b'"id":3,"result":1,"jsonrpc":2', 'jsonrpc must be "2.0" or absent', b"3"),
        ],
    )
    def test_a_bad_response_is_never_to_be_answered(
        self, members: bytes, words: str, id_text: bytes
    ) -> None:
        versioned = b"jsonrpc" in members
        assert invalid(b"{%b}" % members) == Invalid(
            INVALID_REQUEST, words, id_text, versioned, False
        )

    def test_the_dialect_of_a_bad_request_is_remembered(self) -> None:
        assert invalid(b'{"jsonrpc":"2.0","id":1,"method":[]}').versioned

    @pytest.mark.parametrize(
        "cut", [rb"\ud83d", rb"\ud83d cut", rb"\ude00", rb"\ud83d\u0041", rb"\uDE00\uD83D"]
    )
    def test_half_a_surrogate_pair_is_named_and_the_request_keeps_its_id(self, cut: bytes) -> None:
        refused = invalid(b'{"id":4,"method":"m","params":["%b"],"jsonrpc":"2.0"}' % cut)
        words = "the message is not valid JSON: it has half a surrogate pair"
        assert refused == Invalid(PARSE_ERROR, words, b"4", True, True)

    def test_half_a_surrogate_pair_in_the_id_is_not_echoed(self) -> None:
        assert invalid(request(b'"\\uD800"')).id == b"null"

    def test_an_escaped_backslash_does_not_begin_a_surrogate(self) -> None:
        refused = invalid(request(b'"\\\\ud800"', b',"params":["\\ud83d"]'))
        assert (refused.code, refused.id) == (PARSE_ERROR, b'"\\\\ud800"')

    @pytest.mark.parametrize("spot", ["params", "method", "unknown"])
    def test_bytes_that_are_not_utf8_are_refused_wherever_they_stand(self, spot: str) -> None:
        members = {"id": b"1", "method": b'"m"', "params": b"[]"} | {spot: b'["\xff"]'}
        wire = b"{%b}" % b",".join(
            b'"%b":%b' % (name.encode(), text) for name, text in members.items()
        )
        assert invalid(wire) == Invalid(PARSE_ERROR, "the message is not UTF-8", b"1")

    def test_an_id_that_is_not_utf8_is_not_echoed(self) -> None:
        assert invalid(request(b'"\xff"')).id == b"null"

    def test_an_ascii_id_is_echoed_where_other_text_is_not_utf8(self) -> None:
        assert invalid(request('"ü"'.encode(), b',"x":"\xff"')).id == '"ü"'.encode()

    @pytest.mark.parametrize("wire", [request(b"1", b',"params":%b'), b"%b", b"[%b]", b'{"x":%b}'])
    @pytest.mark.parametrize("closed", [True, False])
    @pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"1}")])
    def test_nesting_100000_deep_is_refused(
        self, wire: bytes, closed: bool, opening: bytes, closing: bytes
    ) -> None:
        nested = opening * 100_000 + (b"1" if closing == b"]" else b"") + closing * 100_000 * closed
        decoded = decode(wire.replace(b"%b", nested))
        # Where Python itself gives up depends on its version: in the middle of reading, or not at
        # all (3.14).
        for refused in decoded.members if isinstance(decoded, Batch) else (decoded,):
            assert isinstance(refused, Invalid)
            assert refused.code in {PARSE_ERROR, INVALID_REQUEST}

    @given(st.binary() | lively_json)
    def test_no_bytes_make_it_raise(self, message: bytes) -> None:
        decode(message)
        decode(b'{"id":1,"method":"m","params":%b}' % message)

    @given(st.data())
    def test_a_flipped_byte_gives_a_message_or_words(self, data: st.DataObject) -> None:
        wire = bytearray(
            '{"jsonrpc":"2.0","id":"ü","method":"m","params":{"a":[1,"\\ud83d\\ude00"]}}'.encode()
        )
        wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
        decoded = decode(bytes(wire))
        assert not isinstance(decoded, Invalid) or decoded.message


class TestBatches:
    def test_members_are_decoded_in_order_and_each_keeps_its_own_bytes(self) -> None:
        one, two, three = request(b"1"), b'{ "method" : "m" }', b'{"id":2,"result":0}'
        decoded = decode(b" [%b, %b\n,%b ] " % (one, two, three))
        assert isinstance(decoded, Batch)
        assert decoded.members == (decode(one), decode(two), decode(three))

    def test_a_bad_member_does_not_spoil_the_others(self) -> None:
        decoded = decode(b'[1,[{"method":"m"}],{"id":5},%b,{"id":6,"x":"\xff"}]' % request(b"7"))
        assert isinstance(decoded, Batch)
        kinds = [type(member) for member in decoded.members]
        assert kinds == [Invalid, Invalid, Invalid, Request, Invalid]

    @pytest.mark.parametrize("message", [b"[]", b" [ ] "])
    def test_an_empty_batch_is_an_invalid_request(self, message: bytes) -> None:
        assert invalid(message) == Invalid(INVALID_REQUEST, "a batch must not be empty")

    def test_encoded_messages_join_into_a_batch(self) -> None:
        joined = jsonrpc.encode_batch([request(b"1"), Raw(request(b"2"))])
        assert joined == b"[" + request(b"1") + b"," + request(b"2") + b"]"


class TestPeeking:
    def test_a_notification_shows_its_method_and_where_it_belongs(self) -> None:
        params = b'{"delta":"\xc3\xbc","threadId":"t","turnId":"u"}'
        head = peek_notification(b'{"method":"item/delta","params":%b,"emittedAtMs":1}' % params)
        assert head is not None
        assert (head.method, head.params.thread_id, head.params.turn_id) == ("item/delta", "t", "u")

    @pytest.mark.parametrize(
        "params", [b"", b',"params":{}', b',"params":{"threadId":null,"thread":{"id":"t"}}']
    )
    def test_ids_that_are_absent_are_none(self, params: bytes) -> None:
        head = peek_notification(b'{"method":"m"%b}' % params)
        assert head is not None
        assert (head.params.thread_id, head.params.turn_id) == (None, None)

    @pytest.mark.parametrize(
        "line",
        [
            request(b"1"),
            request(b"null"),
            request(b'{"odd":[]}'),
            b'{"id":1,"result":{}}',
            b'{"method":5}',
            b'{"method":"\xff"}',
            b'{"method":"m","params":[]}',
            b'{"method":"m","params":null}',
            b'{"method":"m","params":{"threadId":5}}',
            b'{"method":"m"',
            b'[{"method":"m"}]',
            b"",
            b'{"method":"m","params":{"x":' + b"[" * 100_000,
        ],
    )
    def test_anything_else_is_left_to_the_full_decoder(self, line: bytes) -> None:
        assert peek_notification(line) is None

    @given(st.text(), st.none() | st.text(), json_values)
    def test_the_peeked_notification_agrees_with_the_full_decoder(
        self, method: str, thread_id: str | None, more: Any
    ) -> None:
        line = jsonrpc.encode_notification(
            method, {"more": more, "threadId": thread_id}, versioned=False
        )
        head, decoded = peek_notification(line), decode(line)
        assert head is not None
        assert isinstance(decoded, Notification)
        assert (head.method, head.params.thread_id) == (decoded.method, thread_id)


@pytest.mark.parametrize("form", [b'"%b"', b"%b"])
def test_an_id_that_is_too_long_is_refused_and_not_repeated(form: bytes) -> None:
    digits = b"1" * 65_537
    for member in (b'"method":"m"', b'"result":1'):
        refused = jsonrpc.decode(b'{"id":%b,%b}' % (form % digits, member))
        assert isinstance(refused, jsonrpc.Invalid)
        assert refused.id == jsonrpc.NULL_ID
        assert refused.message == "its id is longer than 65,536 bytes"


def test_a_method_that_is_too_long_is_refused_under_its_id() -> None:
    refused = jsonrpc.decode(b'{"id":7,"method":"%b"}' % (b"m" * 65_536))
    assert isinstance(refused, jsonrpc.Invalid)
    assert (refused.id, refused.message) == (b"7", "its method is longer than 65,536 bytes")
