"""The types of JSON-RPC messages that `jsonrpc.decode` returns."""

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
    """A request. `id` is JSON text for the response; `params` is None if absent."""

    wire: bytes
    id: bytes
    method: str
    params: Raw | None
    versioned: bool


class Notification(Struct, frozen=True, gc=False):
    """A notification. `params` is None if absent, `Raw(b"null")` if it is null."""

    wire: bytes
    method: str
    params: Raw | None
    versioned: bool


class Response(Struct, frozen=True, gc=False):
    """A response. Find its request by `id_key(id)`, because the peer may write the id in another
    form.
    """

    wire: bytes
    id: bytes
    result: Raw
    versioned: bool


class ErrorResponse(Struct, frozen=True, gc=False):
    """An error response. `error` is any JSON except null; `error_object` decodes it."""

    wire: bytes
    id: bytes
    error: Raw
    versioned: bool


class Invalid(Struct, frozen=True, gc=False):
    """Invalid input, with the arguments for `encode_error`.

    `id` is the sender's if it could be read, otherwise null. `answerable` is False for input in the
    form of a response, because two peers that answer each other's invalid responses would never
    stop. `message` does not contain any of the input.
    """

    code: int
    message: str
    id: bytes = NULL_ID
    versioned: bool = False
    answerable: bool = True


Message: TypeAlias = Request | Notification | Response | ErrorResponse | Invalid


class Batch(Struct, frozen=True, gc=False):
    """A batch of at least one message, in order; an invalid member is an `Invalid` among the
    others.
    """

    members: tuple[Message, ...]


Decoded: TypeAlias = Message | Batch


class ErrorObject(Struct, frozen=True, gc=False):
    """The members of a well-formed `error`."""

    code: int
    message: str
    data: Raw | UnsetType = UNSET


class RoutingParams(Struct, frozen=True, gc=False):
    """The members of `params` that determine the receivers of a notification."""

    thread_id: str | None = msgspec.field(name="threadId", default=None)
    turn_id: str | None = msgspec.field(name="turnId", default=None)


class NotificationHead(Struct, frozen=True, gc=False):
    """The members of a notification that routing needs. `id` is always UNSET in the results of
    `peek_notification`.
    """

    method: str
    params: RoutingParams = RoutingParams()
    id: Raw | UnsetType = UNSET
