"""Errors of requests."""

from typing import Any

import msgspec
from msgspec import UNSET, Raw

from trimpoint_protocol.errors import ErrorData, Reason
from trimpoint_protocol.jsonrpc import error_object

INTERNAL_ERROR = -32603


class ClientError(Exception):
    """A request has no result; the subclasses say why."""


class ConnectionLost(ClientError):
    """The daemon closed the connection. Whether it acted on the request is not known."""

    def __str__(self) -> str:
        return "the daemon closed the connection"


class DeadlinePassed(ClientError):
    """There was no answer in time. Whether the daemon acted on the request is not known."""

    def __init__(self, method: str, deadline_s: float) -> None:
        super().__init__(method, deadline_s)
        self.method = method
        self.deadline_s = deadline_s

    def __str__(self) -> str:
        return f"{self.method} was not answered within {self.deadline_s:g} s"


class RemoteError(ClientError):
    """The daemon, or Codex behind it, refused.

    `data` is decoded JSON, None if there is none. `details` is the same where the daemon itself
    refused; errors of Codex have none.
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
        """Returns the reason for programs; None for an error of Codex."""
        return self.details.reason if self.details is not None else None

    @property
    def hint(self) -> str:
        """Returns what a person can do; empty where that is not known."""
        return self.details.hint if self.details is not None else ""


def remote_error(error: Raw) -> RemoteError:
    """Reads the error of an answer."""
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
