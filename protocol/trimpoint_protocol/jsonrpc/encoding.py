"""Encodes JSON-RPC messages."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw

from trimpoint_protocol.jsonrpc.messages import Text

__all__ = [
    "encode_batch",
    "encode_error",
    "encode_error_object",
    "encode_notification",
    "encode_request",
    "encode_result",
]

_encode = msgspec.json.Encoder().encode


def encode_request(id_text: Text, method: str, params: object = None, *, versioned: bool) -> bytes:
    """Encodes a request. `params`: bytes and Raw are inserted as JSON text, None is left out,
    anything else is encoded.
    """
    members = _call_members(method, params)
    return b"".join((_opening(versioned), b'"id":', id_text, b",", *members))


def encode_notification(method: str, params: object = None, *, versioned: bool) -> bytes:
    """Encodes a notification; `params` as in `encode_request`."""
    return b"".join((_opening(versioned), *_call_members(method, params)))


def encode_result(id_text: Text, result: object, *, versioned: bool) -> bytes:
    """Encodes a response. `result`: bytes and Raw are inserted as JSON text, anything else is
    encoded, None as null.
    """
    return b'%b"id":%b,"result":%b}' % (_opening(versioned), id_text, _text(result))


def encode_error(
    id_text: Text, code: int, message: str, data: object = None, *, versioned: bool
) -> bytes:
    """Encodes an error response; `data` is treated as `params` in `encode_request`."""
    detail = b"" if data is None else b',"data":%b' % _text(data)
    return b'%b"id":%b,"error":{"code":%d,"message":%b%b}}' % (
        _opening(versioned),
        id_text,
        code,
        _encode(message),
        detail,
    )


def encode_error_object(id_text: Text, error: Text, *, versioned: bool) -> bytes:
    """Encodes an error response whose `error` object is JSON text."""
    return b'%b"id":%b,"error":%b}' % (_opening(versioned), id_text, error)


def encode_batch(messages: Iterable[Text]) -> bytes:
    """Joins encoded messages to a batch, which must not be empty."""
    return b"[%b]" % b",".join(messages)


def _opening(versioned: bool) -> bytes:
    return b'{"jsonrpc":"2.0",' if versioned else b"{"


def _call_members(method: str, params: object) -> tuple[Text, ...]:
    """Returns the end of a call in parts, because joining them in steps would copy parameters of
    megabytes each time.
    """
    if params is None:
        return b'"method":', _encode(method), b"}"
    return b'"method":', _encode(method), b',"params":', _text(params), b"}"


def _text(value: Any) -> Text:
    return value if isinstance(value, (bytes, Raw)) else _encode(value)
