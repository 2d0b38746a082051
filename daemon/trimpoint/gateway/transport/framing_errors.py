"""Answers to a client whose bytes are no message."""

from trimpoint_protocol import jsonrpc
from trimpoint_protocol.errors import ERROR_KINDS, Reason


def encode_refusal(reason: Reason, message: str, hint: str, *, versioned: bool) -> bytes:
    """Returns an error message of the transport's own, without a request to belong to
    (docs/spec/clients.md, errors).
    """
    kind = ERROR_KINDS[reason]
    data = {"reason": reason, "retryable": kind.retryable, "hint": hint}
    return jsonrpc.encode_error(jsonrpc.NULL_ID, kind.code, message, data, versioned=versioned)


def too_large(size_bytes: int, max_message_bytes: int) -> tuple[Reason, str, str]:
    """Reason, message and hint for a frame beyond the limit."""
    return (
        Reason.MESSAGE_TOO_LARGE,
        f"a message of {size_bytes} bytes is larger than the limit of {max_message_bytes} bytes",
        "send it in smaller parts, or raise the daemon's limit for message size",
    )


def malformed(reason: str) -> tuple[Reason, str, str]:
    """Reason, message and hint for a stream whose messages cannot be told apart."""
    return (
        Reason.PARSE_ERROR,
        f"the framing is broken: {reason}",
        "connect again; begin each message with a Content-Length header, or send one JSON message "
        "a line",
    )
