"""HTTP requests and responses as values."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
EVENT_STREAM = "text/event-stream"

SECURITY_HEADERS = (
    (
        "Content-Security-Policy",
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
)
"""Sent with every response, unless it has a header of the same name of its own."""


class Request(NamedTuple):
    """An HTTP request without its body. `headers` have lower-case names; several values of one name
    are joined by commas. `target` is the path with its query.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def path(self) -> str:
        """Returns the target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        """Returns the query parameters; of a repeated name the last value.

        :raises ValueError: when there are more than 100.
        """
        return dict(parse_qsl(self.target.partition("?")[2], max_num_fields=100))

    @property
    def wants_events(self) -> bool:
        """Returns whether the client accepts server-sent events."""
        return EVENT_STREAM in self.headers.get("accept", "")


class Response(NamedTuple):
    """A complete HTTP response."""

    status: int
    body: bytes = b""
    content_type: str = TEXT
    headers: tuple[tuple[str, str], ...] = ()

    def all_headers(self) -> list[tuple[str, str]]:
        """Returns all headers, including the security headers."""
        own = {name.lower() for name, _ in self.headers}
        general = [header for header in SECURITY_HEADERS if header[0].lower() not in own]
        described = [("Content-Type", self.content_type), ("Content-Length", str(len(self.body)))]
        return [*described, *self.headers, *general]
