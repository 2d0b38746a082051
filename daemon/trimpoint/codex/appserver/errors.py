"""Errors of requests to Codex. Each error carries facts; its text is for people."""

from msgspec import Raw


class ProviderFailure(Exception):
    """A request to Codex got no result. The subclasses say who is to blame."""


class ProviderError(ProviderFailure):
    """Codex answered with an error. `raw` is its error object as it came, for passing on."""

    def __init__(self, code: int, message: str, data: Raw | None, raw: Raw) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data = data
        self.raw = raw

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class ProviderTimeout(ProviderFailure):
    """Codex did not answer in time. Whether it acted on the request is not known."""

    def __init__(self, method: str, deadline_s: float) -> None:
        super().__init__(method, deadline_s)
        self.method = method
        self.deadline_s = deadline_s

    def __str__(self) -> str:
        return f"Codex did not answer {self.method} within {self.deadline_s:g} s"


class ProviderExited(ProviderFailure):
    """The child ended, or is about to, before it answered."""

    def __init__(self, reason: str, stderr_tail: str) -> None:
        super().__init__(reason, stderr_tail)
        self.reason = reason
        self.stderr_tail = stderr_tail

    def __str__(self) -> str:
        return f"Codex is gone: {self.reason}"


class ProviderOverloaded(ProviderFailure):
    """Codex takes nothing more and the send buffer is full. Nothing of this message was sent."""

    def __init__(self, unsent_bytes: int, max_unsent_bytes: int) -> None:
        super().__init__(unsent_bytes, max_unsent_bytes)
        self.unsent_bytes = unsent_bytes
        self.max_unsent_bytes = max_unsent_bytes

    def __str__(self) -> str:
        waiting, limit = self.unsent_bytes, self.max_unsent_bytes
        return f"Codex does not read: {waiting} bytes wait for it, the limit is {limit}"
