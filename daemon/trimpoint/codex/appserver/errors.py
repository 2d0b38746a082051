"""Errors of requests to Codex. Each error has its facts as attributes; its text is for people."""

from typing import Self

import msgspec
from msgspec import UNSET, Raw
from trimpoint_protocol import jsonrpc

INTERNAL_ERROR = -32603


class ProviderFailure(Exception):
    """Raised when a request to Codex got no result; the subclass says why."""


class ProviderError(ProviderFailure):
    """Raised when Codex answered with an error. `raw` is Codex's error object, for passing it on
    unchanged.
    """

    def __init__(self, code: int, message: str, data: Raw | None, raw: Raw) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data = data
        self.raw = raw

    @classmethod
    def read(cls, raw: Raw) -> Self:
        """Returns the error of Codex's error object, whatever its form."""
        error = jsonrpc.error_object(raw)
        if error is None:
            return cls(INTERNAL_ERROR, "Codex sent a malformed error", None, raw)
        return cls(error.code, error.message, None if error.data is UNSET else error.data, raw)

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class RolloutCut(ProviderError):
    """Raised when Codex's files lack what Codex has acknowledged, and nothing took it back, as
    after a loss of power: Codex does not wait until they are on the disk. It loads what is left,
    and lists the other turns still (measured: 0.163), but the model does not know them.
    """

    def __init__(self) -> None:
        message = "a part of the conversation is missing in Codex's files"
        raw = Raw(msgspec.json.encode({"code": INTERNAL_ERROR, "message": message}))
        super().__init__(INTERNAL_ERROR, message, None, raw)


class ProviderLacks(ProviderFailure):
    """Raised in place of a request that this version of Codex would answer, but not carry out."""

    def __init__(self, ability: str) -> None:
        super().__init__(ability)
        self.ability = ability

    def __str__(self) -> str:
        return f"this Codex has no {self.ability}"


class ProviderTimeout(ProviderFailure):
    """Raised when Codex did not answer in time. Codex may or may not have acted on the request."""

    def __init__(self, method: str, deadline_s: float) -> None:
        super().__init__(method, deadline_s)
        self.method = method
        self.deadline_s = deadline_s

    def __str__(self) -> str:
        return f"Codex did not answer {self.method} within {self.deadline_s:g} s"


class ProviderExited(ProviderFailure):
    """Raised when Codex ended, or is about to end, before it answered."""

    def __init__(self, reason: str, stderr_tail: str) -> None:
        super().__init__(reason, stderr_tail)
        self.reason = reason
        self.stderr_tail = stderr_tail

    def __str__(self) -> str:
        return f"Codex is gone: {self.reason}"


class ProviderOverloaded(ProviderFailure):
    """Raised when Codex does not read and the send buffer is full. No part of the message was
    sent.
    """

    def __init__(self, unsent_bytes: int, max_unsent_bytes: int) -> None:
        super().__init__(unsent_bytes, max_unsent_bytes)
        self.unsent_bytes = unsent_bytes
        self.max_unsent_bytes = max_unsent_bytes

    def __str__(self) -> str:
        waiting, limit = self.unsent_bytes, self.max_unsent_bytes
        return f"Codex does not read its input: {waiting} bytes wait, the limit is {limit}"
