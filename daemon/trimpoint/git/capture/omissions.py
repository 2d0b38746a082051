"""What a checkpoint leaves out, kept in its commit's message so that a restore years later knows.

Paths have any bytes, so they are percent-encoded.
"""

from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote_from_bytes, unquote_to_bytes

import msgspec

from trimpoint.git.errors import name_path

LeftOutReason = Literal["tooLarge", "unreadable", "nestedRepository", "notAFile", "sparse"]

_TITLE = "trimpoint checkpoint"


class Omission(msgspec.Struct, frozen=True):
    """Something of the work tree that a checkpoint does not hold, and that a restore leaves alone.

    `path` is relative to the work tree; one that ends in `/` stands for all below it. `size_bytes` is known of
    files that are too large.
    """

    path: bytes
    reason: LeftOutReason
    size_bytes: int | None = None

    def covers(self, path: bytes) -> bool:
        """Whether `path` is it, or lies below it."""
        return path == self.path or (self.path.endswith(b"/") and path.startswith(self.path))

    def __str__(self) -> str:
        return f"{name_path(self.path)} {_said(self)}"


class _Line(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    path: str
    reason: LeftOutReason
    size_bytes: int | None = None


def message_of(left_out: Sequence[Omission]) -> str:
    """A commit message that says so: a title, then one JSON object a line."""
    lines = [_Line(quote_from_bytes(each.path), each.reason, each.size_bytes) for each in left_out]
    said = "".join(f"\n{msgspec.json.encode(line).decode()}" for line in lines)
    return f"{_TITLE}\n{said}" if said else _TITLE


def left_out_of(message: str) -> tuple[Omission, ...]:
    """What a message made by `message_of` says.

    :raises ValueError: it is not such a message
    """
    title, *lines = message.rstrip("\n").split("\n")
    if title != _TITLE:
        raise ValueError(title)
    read = [msgspec.json.decode(line, type=_Line) for line in lines if line]
    return tuple(Omission(unquote_to_bytes(line.path), line.reason, line.size_bytes) for line in read)


def _said(left_out: Omission) -> str:
    match left_out.reason:
        case "tooLarge":
            return f"is too large ({left_out.size_bytes or 0:,} bytes)"
        case "unreadable":
            return "cannot be read"
        case "nestedRepository":
            return "is a repository of its own"
        case "notAFile":
            return "is neither a file nor a link"
        case "sparse":
            return "lies outside of the sparse checkout"
