"""What parameters and results of our own methods are made from, and those that several methods
share.
"""

import msgspec

__all__ = [
    "Empty",
    "NoParams",
    "Params",
    "Result",
    "ThreadParams",
]


class Params(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Parameters of one of our methods; an unknown member is an error, so that a typing mistake is
    not silently ignored.
    """


class Result(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A result or the parameters of a notification; members may be added."""


class NoParams(Params, frozen=True, kw_only=True):
    """Takes nothing."""


class ThreadParams(Params, frozen=True, kw_only=True):
    """Names a thread."""

    thread_id: str


class Empty(Result, frozen=True, kw_only=True):
    """Done."""
