"""Detects from a client's first bytes whether it speaks HTTP or JSON messages."""

from enum import StrEnum

_METHODS = (b"GET ", b"HEAD ", b"POST ", b"PUT ", b"PATCH ", b"DELETE ", b"OPTIONS ", b"TRACE ")
# CONNECT is left out: `C` begins a Content-Length header, and the daemon is not a proxy.


class Speech(StrEnum):
    """The protocol of a client: HTTP, or JSON messages in lines or Content-Length frames."""

    HTTP = "http"
    MESSAGES = "messages"


def speech_of(received: bytes) -> Speech | None:
    """Returns the protocol that `received` begins, or None while more bytes could still make it
    HTTP.

    No JSON text begins with a capital letter.
    """
    begun = received.lstrip(b"\r\n")  # RFC 9112, 2.2: a server ignores empty lines before a request
    if any(begun.startswith(method) for method in _METHODS):
        return Speech.HTTP
    if any(method.startswith(begun) for method in _METHODS):
        return None
    return Speech.MESSAGES
