"""Error messages for a client whose bytes are not a message."""

from trimpoint_protocol import jsonrpc
from trimpoint_protocol.errors import ERROR_KINDS, ErrorData, Reason


def encode_refusal(reason: Reason, message: str, hint: str, *, versioned: bool) -> bytes:
    """Returns an error message with the id null, for an error that does not belong to a request
    (docs/spec/clients.md, errors).
    """
    kind = ERROR_KINDS[reason]
    data = ErrorData(reason, kind.retryable, hint)
    return jsonrpc.encode_error(jsonrpc.NULL_ID, kind.code, message, data, versioned=versioned)


def too_large(size_bytes: int, max_message_bytes: int) -> tuple[Reason, str, str]:
    """Returns the reason, message and hint for a frame larger than `max_message_bytes`."""
    return (
        Reason.MESSAGE_TOO_LARGE,
        f"a message of {size_bytes} bytes is larger than the limit of {max_message_bytes} bytes",
        "send it in smaller parts, or raise the daemon's limit for message size",
    )


def malformed(reason: str) -> tuple[Reason, str, str]:
    """Returns the reason, message and hint for a stream in which messages can no longer be
    separated.
    """
    return (
        Reason.PARSE_ERROR,
        f"the framing is broken: {reason}",
        "connect again; begin each message with a Content-Length header, or send one JSON message "
        "a line",
    )
