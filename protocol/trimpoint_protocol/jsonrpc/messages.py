"""The shapes of JSON-RPC messages, as `jsonrpc.decode` returns them."""

from typing import TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

__all__ = [
    "INVALID_REQUEST",
    "NULL_ID",
    "PARSE_ERROR",
    "Batch",
    "Decoded",
    "ErrorObject",
    "ErrorResponse",
    "Invalid",
    "Message",
    "Notification",
    "NotificationHead",
    "Request",
    "Response",
    "RoutingParams",
    "Text",
]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
NULL_ID = b"null"

Text: TypeAlias = bytes | Raw
"""JSON that is already encoded; the encoders splice it in as it is."""


class Request(Struct, frozen=True, gc=False):
    """A call that wants an answer. `id` is JSON text to echo; `params` is None when absent."""

    wire: bytes
    id: bytes
    method: str
    params: Raw | None
    versioned: bool


class Notification(Struct, frozen=True, gc=False):
    """A call without an id. `params` is None when absent, `Raw(b"null")` when it is null."""

    wire: bytes
    method: str
    params: Raw | None
    versioned: bool


class Response(Struct, frozen=True, gc=False):
    """A successful answer; correlate it with `id_key(id)`, a peer may write our id in another
    form.
    """

    wire: bytes
    id: bytes
    result: Raw
    versioned: bool


class ErrorResponse(Struct, frozen=True, gc=False):
    """A failed answer. `error` is any JSON but null; `error_object` reads it."""

    wire: bytes
    id: bytes
    error: Raw
    versioned: bool


class Invalid(Struct, frozen=True, gc=False):
    """Input that is no message, with what `encode_error` needs to say so.

    `id` is the sender's where it could be told, else null. `answerable` is False for what is
    shaped like a response: two peers that answer each other's bad responses never stop. `message`
    quotes no content.
    """

    code: int
    message: str
    id: bytes = NULL_ID
    versioned: bool = False
    answerable: bool = True


Message: TypeAlias = Request | Notification | Response | ErrorResponse | Invalid


class Batch(Struct, frozen=True, gc=False):
    """At least one message, in the order sent; a bad member is an `Invalid` among good
    ones.
    """

    members: tuple[Message, ...]


Decoded: TypeAlias = Message | Batch


class ErrorObject(Struct, frozen=True, gc=False):
    """The members of a well-formed `error`."""

    code: int
    message: str
    data: Raw | UnsetType = UNSET


class RoutingParams(Struct, frozen=True, gc=False):
    """The members of `params` that decide where a notification goes."""

    thread_id: str | None = msgspec.field(name="threadId", default=None)
    turn_id: str | None = msgspec.field(name="turnId", default=None)


class NotificationHead(Struct, frozen=True, gc=False):
    """As much of a notification as routing needs. `id` is always UNSET in what a caller gets to
    see.
    """

    method: str
    params: RoutingParams = RoutingParams()
    id: Raw | UnsetType = UNSET
