"""A request and a response, as the rest of the package sees them."""

from collections.abc import Mapping
from typing import NamedTuple

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


class Request(NamedTuple):
    """`headers` have lower-case names; values of one name are joined by commas. `target` is the path with its query."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]


class Response(NamedTuple):
    """A whole answer."""

    status: int
    body: bytes = b""
    content_type: str = TEXT
    headers: tuple[tuple[str, str], ...] = ()
