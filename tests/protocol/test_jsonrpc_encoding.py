"""JSON-RPC messages as they are written, and parts of them that are replaced."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from msgspec import Raw
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.jsonrpc import (
    ErrorObject,
    Notification,
    Response,
    decode,
)

from tests.protocol.stage import invalid, json_values


class TestEncoding:
    @pytest.mark.parametrize(
        ("versioned", "opening"), [(True, b'{"jsonrpc":"2.0",'), (False, b"{")]
    )
    def test_each_kind_is_written_in_either_dialect(self, versioned: bool, opening: bytes) -> None:
        written = [
            jsonrpc.encode_request(b"1", "m", {"a": 1}, versioned=versioned),
            jsonrpc.encode_notification("m", [], versioned=versioned),
            jsonrpc.encode_result(b'"x"', None, versioned=versioned),
            jsonrpc.encode_error(b"null", -32600, 'a "b"', {"c": 2}, versioned=versioned),
        ]
        assert written == [
            opening + b'"id":1,"method":"m","params":{"a":1}}',
            opening + b'"method":"m","params":[]}',
            opening + b'"id":"x","result":null}',
            opening + b'"id":null,"error":{"code":-32600,"message":"a \\"b\\"","data":{"c":2}}}',
        ]

    def test_absent_params_and_data_are_left_out(self) -> None:
        assert jsonrpc.encode_request(b"1", "m", versioned=False) == b'{"id":1,"method":"m"}'
        assert jsonrpc.encode_notification("m", versioned=False) == b'{"method":"m"}'
        assert b"data" not in jsonrpc.encode_error(b"1", 1, "x", versioned=False)

    @pytest.mark.parametrize("kind", [bytes, Raw])
    def test_encoded_text_is_spliced_and_not_encoded_again(
        self, kind: Callable[[bytes], bytes]
    ) -> None:
        text = kind(b'{ "a" : 1.50 }')
        request_id = kind(b"1e3")
        written = [
            jsonrpc.encode_request(request_id, "m", text, versioned=False),
            jsonrpc.encode_notification("m", text, versioned=False),
            jsonrpc.encode_result(request_id, text, versioned=False),
            jsonrpc.encode_error(request_id, 1, "", text, versioned=False),
        ]
        assert all(b'{ "a" : 1.50 }' in message for message in written)
        assert [b'"id":1e3' in message for message in written] == [True, False, True, True]

    @given(json_values)
    def test_any_value_survives_as_params_and_as_result(self, value: Any) -> None:
        response = decode(jsonrpc.encode_result(b"1", value, versioned=True))
        assert isinstance(response, Response)
        assert msgspec.json.decode(response.result) == value
        notification = decode(jsonrpc.encode_notification("m", {"v": value}, versioned=True))
        assert isinstance(notification, Notification)
        assert notification.params is not None
        assert msgspec.json.decode(notification.params) == {"v": value}

    def test_an_invalid_message_has_all_that_its_answer_needs(self) -> None:
        refused = invalid(b'{"id":1.0,"method":0}')
        answer = jsonrpc.encode_error(
            refused.id, refused.code, refused.message, versioned=refused.versioned
        )
        assert answer == b'{"id":1.0,"error":{"code":-32600,"message":"method must be a string"}}'


class TestErrorObjects:
    def test_an_error_object_is_read(self) -> None:
        assert jsonrpc.error_object(Raw(b'{"code":-32001,"message":"busy"}')) == ErrorObject(
            -32001, "busy"
        )
        read = jsonrpc.error_object(Raw(b'{"message":"x","code":1,"data":[1],"more":0}'))
        assert read == ErrorObject(1, "x", Raw(b"[1]"))

    @pytest.mark.parametrize(
        "error", [b'"boom"', b"{}", b'{"code":"1","message":"x"}', b'{"code":1.5,"message":""}']
    )
    def test_another_shape_is_none(self, error: bytes) -> None:
        assert jsonrpc.error_object(Raw(error)) is None


class TestReplacingMembers:
    def test_members_are_set_and_all_others_keep_their_text(self) -> None:
        wire = b'{"emittedAtMs":1.50,"id":"a","x":{ "y" : 1e2 }}'
        replaced = jsonrpc.replace_members(wire, {"id": b"7", "params": Raw(b"{ }")})
        assert replaced == b'{"emittedAtMs":1.50,"id":7,"x":{ "y" : 1e2 },"params":{ }}'

    def test_replace_members_of_anything_but_an_object_raises(self) -> None:
        with pytest.raises(msgspec.DecodeError):
            jsonrpc.replace_members(Raw(b"[1]"), {"id": b"1"})
