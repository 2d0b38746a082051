"""The exceptions of requests."""

from typing import Any

import msgspec
from msgspec import UNSET, Raw

from trimpoint_protocol.errors import ErrorData, Reason
from trimpoint_protocol.jsonrpc import error_object

INTERNAL_ERROR = -32603


class ClientError(Exception):
    """The base of all reasons why a request has no result."""


class ConnectionLost(ClientError):
    """Raised when the daemon closed the connection. It is not known whether it carried out the
    request.
    """

    def __str__(self) -> str:
        return "the daemon closed the connection"


class DeadlinePassed(ClientError):
    """Raised when no answer arrived in time. It is not known whether the daemon carried out the
    request.
    """

    def __init__(self, method: str, deadline_s: float) -> None:
        super().__init__(method, deadline_s)
        self.method = method
        self.deadline_s = deadline_s

    def __str__(self) -> str:
        return f"{self.method} was not answered within {self.deadline_s:g} s"


class RemoteError(ClientError):
    """Raised when the daemon, or Codex through it, refused a request.

    `data` is decoded JSON, None if there is none. `details` is the same as a struct if the daemon
    itself refused, and None for errors of Codex.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data = data
        self.details = _details(data)

    def __str__(self) -> str:
        return self.message

    @property
    def reason(self) -> Reason | None:
        """Returns the machine-readable reason; None for an error of Codex."""
        return self.details.reason if self.details is not None else None

    @property
    def hint(self) -> str:
        """Returns what a person can do about it; empty if unknown."""
        return self.details.hint if self.details is not None else ""


def remote_error(error: Raw) -> RemoteError:
    """Decodes the error object of an answer."""
    read = error_object(error)
    if read is None:
        return RemoteError(INTERNAL_ERROR, "the answer is an error of no known form")
    data = None if read.data is UNSET else msgspec.json.decode(read.data)
    return RemoteError(read.code, read.message, data)


def _details(data: Any) -> ErrorData | None:
    try:
        return msgspec.convert(data, ErrorData)
    except msgspec.ValidationError:
        return None
