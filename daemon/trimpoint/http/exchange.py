"""A request and a response, as the rest of the package sees them."""

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
    """`headers` have lower-case names; values of one name are joined by commas. `target` is the
    path with its query.
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
        """Returns the values of the query; the last one of each name."""
        return dict(parse_qsl(self.target.partition("?")[2], max_num_fields=100))

    @property
    def wants_events(self) -> bool:
        """Returns whether the client asks for a stream of events."""
        return EVENT_STREAM in self.headers.get("accept", "")


class Response(NamedTuple):
    """A whole answer."""

    status: int
    body: bytes = b""
    content_type: str = TEXT
    headers: tuple[tuple[str, str], ...] = ()

    def all_headers(self) -> list[tuple[str, str]]:
        """Returns the headers to send, the security ones among them."""
        own = {name.lower() for name, _ in self.headers}
        general = [header for header in SECURITY_HEADERS if header[0].lower() not in own]
        described = [("Content-Type", self.content_type), ("Content-Length", str(len(self.body)))]
        return [*described, *self.headers, *general]
