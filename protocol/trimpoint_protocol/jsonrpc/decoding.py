"""Decodes the JSON-RPC envelope; `encoding` encodes it.

Content that is only passed on is not encoded again: `params`, `result`, `error` and ids stay the
JSON text that the peer wrote, and each message keeps its bytes in `wire`. `decode` never raises for
input of a peer: invalid input is the value `Invalid`.

Both dialects are supported: with the member ``"jsonrpc":"2.0"``, and without it as the Codex
app-server uses (docs/spec/clients.md). `versioned` tells which one a message used, so that the
answer can use the same.
"""

import re
from collections.abc import Generator, Mapping
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from trimpoint_protocol.jsonrpc.messages import (
    INVALID_REQUEST,
    NULL_ID,
    PARSE_ERROR,
    Batch,
    Decoded,
    ErrorObject,
    ErrorResponse,
    Invalid,
    Message,
    Notification,
    NotificationHead,
    Request,
    Response,
    Text,
)
from trimpoint_protocol.jsonrpc.nesting import STEP_BYTES, Extent, finished, measure
from trimpoint_protocol.jsonrpc.utf8 import is_utf8, is_utf8_in_steps

__all__ = [
    "MAX_BATCH_MEMBERS",
    "MAX_ESCAPES",
    "MAX_LEVELS",
    "MAX_VALUES",
    "IdKey",
    "decode",
    "decode_in_steps",
    "decode_trusted",
    "error_object",
    "id_key",
    "peek_notification",
    "replace_members",
]

MAX_LEVELS = 127
"""Codex ignores a message that is nested deeper, without a word (measured: 0.163), and its sender
would wait forever.
"""

MAX_VALUES = 250_000
"""Commas and opening brackets of one message: what is read in one go, while all other clients wait.
"""

MAX_ESCAPES = 2_500_000
"""Backslashes of one message, for the same reason. The longest prompt that Codex takes has
1,048,576 characters, each of which may be written with two of them.
"""

MAX_NAME_BYTES = 64 * 1024
"""An id or a method that is longer is refused unread."""

MAX_BATCH_MEMBERS = 1024
"""A longer batch is refused as a whole."""
IdKey: TypeAlias = str | int | Decimal | bytes | None


class _Envelope(Struct, gc=False):
    """An envelope whose members are Raw, so that one member of a wrong type does not hide the
    id.
    """

    jsonrpc: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    method: Raw | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _TrustedEnvelope(Struct, gc=False):
    """An envelope of a trusted peer, decoded with the required types."""

    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET
    jsonrpc: Raw | UnsetType = UNSET


_decode_trusted_envelope = msgspec.json.Decoder(_TrustedEnvelope).decode
_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_head = msgspec.json.Decoder(NotificationHead).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_batch_members = msgspec.json.Decoder(list[Raw]).decode
_decode_error = msgspec.json.Decoder(ErrorObject).decode
_decode_str = msgspec.json.Decoder(str).decode
_check_syntax = msgspec.json.Decoder(Raw).decode
_encode = msgspec.json.Encoder().encode

_NULL = Raw(b"null")
_VERSION = Raw(b'"2.0"')
_QUOTE = ord('"')
_ID_STARTS = b'"-0123456789n'
_PARAMS_STARTS = b"{[n"
_TOO_MANY_VALUES = (
    f"the message has more than {MAX_VALUES:,} values; a batch has at most {MAX_BATCH_MEMBERS} "
    "members"
)
_TOO_MANY_ESCAPES = (
    f"its texts have more than {MAX_ESCAPES:,} backslashes; send them in several messages"
)
_TOO_DEEP = "the message is nested too deeply"
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
# The second branch eats every other escape, so that an escaped backslash never lends its half to a
# "\u".
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\.", re.DOTALL)
_REPLACEMENT = rb"\ufffd"
# A longer message with half a surrogate pair in it is refused as any other that is no JSON.
_MAX_REPAIRED_BYTES = 64 * 1024
_HEAD_BYTES = 512
_ID_IN_HEAD = re.compile(
    rb'\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*"id"\s*:\s*(-?[0-9]+|"[^"\\]*")\s*,'
)


def decode(message: bytes | memoryview) -> Decoded:
    """Decodes one framed message. Never raises.

    Of duplicate keys the last counts. The result keeps `message` in memory (a copy, if it is a
    view). The JSON is checked completely and must be UTF-8, because Codex ignores a line that is
    not JSON (measured), and the sender would wait forever. Codex may be stricter (nesting, range of
    numbers).
    """
    return finished(decode_in_steps(message))


def decode_in_steps(message: bytes | memoryview) -> Generator[None, None, Decoded]:
    """Decodes as `decode` does, in steps. Between them the caller can return control to the event
    loop, which a large message would otherwise block.
    """
    wire = bytes(message)
    extent = _plain_extent(wire) or (yield from _measured(wire))
    if extent.values > MAX_VALUES:
        return Invalid(INVALID_REQUEST, _TOO_MANY_VALUES, _id_near_the_start(wire))
    if extent.escapes > MAX_ESCAPES:
        return Invalid(INVALID_REQUEST, _TOO_MANY_ESCAPES, _id_near_the_start(wire))
    is_batch = wire.lstrip()[:1] == b"["
    return (yield from _decode_batch(wire) if is_batch else _decode_single(wire, extent))


def decode_trusted(message: bytes) -> Message:
    """Decodes one message of a trusted peer: Codex, or the daemon.

    Faster than `decode` and without its limits. Text that is not JSON or has members of other types
    is `Invalid`. Not all text is checked to be UTF-8.
    """
    try:
        envelope = _decode_trusted_envelope(message)
    except _UNREADABLE:
        return Invalid(PARSE_ERROR, "the message is not valid JSON-RPC", answerable=False)
    versioned = envelope.jsonrpc is not UNSET
    if envelope.method is not UNSET:
        params = None if envelope.params is UNSET else envelope.params
        if envelope.id is UNSET:
            return Notification(message, envelope.method, params, versioned)
        return Request(message, bytes(envelope.id), envelope.method, params, versioned)
    if envelope.id is UNSET:
        return Invalid(INVALID_REQUEST, "a message needs a method or an id", answerable=False)
    if envelope.error is UNSET:
        result = _NULL if envelope.result is UNSET else envelope.result
        return Response(message, bytes(envelope.id), result, versioned)
    return ErrorResponse(message, bytes(envelope.id), envelope.error, versioned)


def peek_notification(line: bytes) -> NotificationHead | None:
    """Decodes only the members that route a notification; returns None if the caller must use
    `decode`.

    Returns None for requests, responses, batches, malformed messages, and params that are not an
    object or whose ids are not strings. Not all text is checked to be UTF-8, so this is only for a
    trusted peer. Measured: 3 million delta lines of 226 bytes per second.
    """
    try:
        head = _decode_head(line)
    except _UNREADABLE:
        return None
    return head if head.id is UNSET else None


def id_key(id_text: bytes) -> IdKey:
    """Returns a dict key for the id of a decoded message. Ids that are equal JSON values have equal
    keys, however they are written.

    `1`, `1.0` and `1e0` are the same key, ``"1"`` is another one. The key of a number beyond
    decimal's range is its text.
    """
    if id_text == NULL_ID:
        return None
    if id_text[:1] == b'"':
        return _decode_str(id_text)
    if len(id_text) < 19 and id_text.isdigit():
        return int(id_text)
    try:
        return Decimal(id_text.decode("ascii"))
    except InvalidOperation:
        return id_text


def error_object(error: Raw) -> ErrorObject | None:
    """Decodes the error of an `ErrorResponse`; returns None if it is not a JSON-RPC error
    object.
    """
    try:
        return _decode_error(error)
    except msgspec.MsgspecError:
        return None


def replace_members(json_object: Text, members: Mapping[str, Text]) -> bytes:
    """Replaces members of a JSON object and keeps all others unchanged, including unknown ones.

    Meant for relaying: `replace_members(request.wire, {"id": b"7"})`.

    :raises msgspec.DecodeError: when `json_object` is not a JSON object.
    """
    merged = _decode_members(json_object)
    merged.update((name, Raw(text)) for name, text in members.items())
    return _encode(merged)


def _plain_extent(wire: bytes) -> Extent | None:
    """Returns the extent of a message that has fewer brackets than the permitted levels, as most
    have, by counting only them; None for any other.
    """
    brackets = wire.count(b"[") + wire.count(b"{") if len(wire) <= MAX_VALUES else MAX_LEVELS + 1
    return Extent(0, brackets) if brackets <= MAX_LEVELS else None


def _measured(wire: bytes) -> Generator[None, None, Extent]:
    return measure(wire, MAX_VALUES, MAX_ESCAPES)


def _decode_batch(wire: bytes) -> Generator[None, None, Batch | Invalid]:
    try:
        members = _decode_batch_members(wire)
    except RecursionError:
        return Invalid(PARSE_ERROR, _TOO_DEEP)
    except msgspec.DecodeError as error:
        return Invalid(PARSE_ERROR, _syntax_message(error))
    if not members:
        return Invalid(INVALID_REQUEST, "a batch must not be empty")
    if len(members) > MAX_BATCH_MEMBERS:
        problem = f"a batch has at most {MAX_BATCH_MEMBERS} members, this one has {len(members)}"
        return Invalid(INVALID_REQUEST, problem)
    decoded, in_step = list[Message](), 0
    for member in map(bytes, members):
        in_step += len(member)
        if in_step > STEP_BYTES:
            yield
            in_step = 0
        extent = _plain_extent(member) or (yield from _measured(member))
        decoded.append((yield from _decode_single(member, extent)))
    return Batch(tuple(decoded))


def _decode_single(wire: bytes, extent: Extent) -> Generator[None, None, Message]:
    if len(wire) > STEP_BYTES:
        yield
    try:
        envelope = _decode_envelope(wire)
    except RecursionError:
        return Invalid(PARSE_ERROR, _TOO_DEEP)
    except msgspec.ValidationError:
        return _not_an_object(wire)
    except msgspec.DecodeError as error:
        return _malformed(wire, error)
    if not (wire.isascii() or (yield from is_utf8_in_steps(wire))):
        return _refuse(envelope, PARSE_ERROR, "the message is not UTF-8")
    if extent.levels > MAX_LEVELS:
        return _refuse(
            envelope,
            INVALID_REQUEST,
            f"it is nested deeper than {MAX_LEVELS} levels, which Codex does not read",
        )
    if envelope.jsonrpc is not UNSET and envelope.jsonrpc != _VERSION:
        return _refuse(envelope, INVALID_REQUEST, 'jsonrpc must be "2.0" or absent')
    if envelope.id is not UNSET and _first_byte(envelope.id) not in _ID_STARTS:
        return _refuse(envelope, INVALID_REQUEST, "id must be a string, a number or null")
    if envelope.id is not UNSET and len(envelope.id) > MAX_NAME_BYTES:
        return _refuse(envelope, INVALID_REQUEST, f"its id is longer than {MAX_NAME_BYTES:,} bytes")
    if envelope.method is not UNSET:
        return _read_call(envelope, envelope.method, wire)
    return _read_reply(envelope, wire)


def _read_call(
    envelope: _Envelope, method_text: Raw, wire: bytes
) -> Request | Notification | Invalid:
    if _first_byte(method_text) != _QUOTE:
        return _refuse(envelope, INVALID_REQUEST, "method must be a string")
    if len(method_text) > MAX_NAME_BYTES:
        return _refuse(
            envelope, INVALID_REQUEST, f"its method is longer than {MAX_NAME_BYTES:,} bytes"
        )
    method = _decode_str(method_text)
    params = None if envelope.params is UNSET else envelope.params
    if params is not None and _first_byte(params) not in _PARAMS_STARTS:
        return _refuse(envelope, INVALID_REQUEST, "params must be an object, an array or null")
    versioned = envelope.jsonrpc is not UNSET
    if envelope.id is UNSET:
        return Notification(wire, method, params, versioned)
    return Request(wire, bytes(envelope.id), method, params, versioned)


def _read_reply(envelope: _Envelope, wire: bytes) -> Response | ErrorResponse | Invalid:
    """Returns the response in an envelope. A null beside the other member counts as absent, because
    JSON-RPC 1.0 peers always send both.
    """
    result, error = envelope.result, envelope.error
    if result is UNSET and (error is UNSET or error == _NULL):
        return _refuse(envelope, INVALID_REQUEST, "a message needs a method, a result or an error")
    if envelope.id is UNSET:
        return _refuse(envelope, INVALID_REQUEST, "a response needs an id")
    versioned = envelope.jsonrpc is not UNSET
    if result is not UNSET and (error is UNSET or error == _NULL):
        return Response(wire, bytes(envelope.id), result, versioned)
    if error is UNSET or result not in (UNSET, _NULL):
        return _refuse(envelope, INVALID_REQUEST, "a response has a result or an error, not both")
    return ErrorResponse(wire, bytes(envelope.id), error, versioned)


def _not_an_object(wire: bytes) -> Invalid:
    # The typed decoder stops at the first byte it dislikes; the code depends on the rest.
    try:
        _check_syntax(wire)
    except msgspec.DecodeError as error:
        return Invalid(PARSE_ERROR, _syntax_message(error))
    return Invalid(INVALID_REQUEST, "a message must be a JSON object")


def _malformed(wire: bytes, error: msgspec.DecodeError) -> Invalid:
    """Returns the error for invalid JSON. If the cause is an unpaired surrogate, as in text that
    was cut in the middle of an emoji, which real clients send, the error says so and has the id.
    """
    if len(wire) > _MAX_REPAIRED_BYTES:
        return Invalid(PARSE_ERROR, _syntax_message(error), _id_near_the_start(wire))
    repaired = _SURROGATE_ESCAPE.sub(_replace_surrogate, wire)
    try:
        envelope = _decode_envelope(repaired)
    except _UNREADABLE:
        return Invalid(PARSE_ERROR, _syntax_message(error))
    return _refuse(
        envelope, PARSE_ERROR, "the message is not valid JSON: it has half a surrogate pair"
    )


def _id_near_the_start(wire: bytes) -> bytes:
    """Returns the id of a message that was not decoded, if it is before the parameters; otherwise
    null.
    """
    found = _ID_IN_HEAD.match(wire[:_HEAD_BYTES])
    return found[1] if found is not None and is_utf8(found[1]) else NULL_ID


def _replace_surrogate(escape: re.Match[bytes]) -> bytes:
    return _REPLACEMENT if len(escape[0]) > 2 else escape[0]


def _refuse(envelope: _Envelope, code: int, message: str) -> Invalid:
    is_reply = envelope.method is UNSET and not (
        envelope.result is UNSET and envelope.error is UNSET
    )
    return Invalid(code, message, _echo(envelope.id), envelope.jsonrpc is not UNSET, not is_reply)


def _echo(id_text: Raw | UnsetType) -> bytes:
    """Returns the id for an error response; null if the id itself is invalid."""
    if id_text is UNSET or _first_byte(id_text) not in _ID_STARTS or len(id_text) > MAX_NAME_BYTES:
        return NULL_ID
    text = bytes(id_text)
    return text if _REPLACEMENT not in text and is_utf8(text) else NULL_ID


def _syntax_message(error: msgspec.DecodeError) -> str:
    detail = str(error).removeprefix("JSON is malformed: ")
    return f"the message is not valid JSON: {detail}"


def _first_byte(text: Raw) -> int:
    return memoryview(text)[0]
