"""What a checkpoint leaves out, kept in its commit's message so that a restore years later knows.

Paths have any bytes, so they are percent-encoded.
"""

from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote_from_bytes, unquote_to_bytes

import msgspec

from trimpoint.git.errors import name_path, name_paths

LeftOutReason = Literal[
    "tooLarge", "unreadable", "nestedRepository", "notAFile", "sparse", "secret", "tooMuch"
]

_TITLE = "trimpoint checkpoint"


class Omission(msgspec.Struct, frozen=True):
    """Something of the work tree that a checkpoint does not hold, and that a restore leaves alone.

    `path` is relative to the work tree; one that ends in `/` stands for all below it. `size_bytes`
    is known of files that are too large.
    """

    path: bytes
    reason: LeftOutReason
    size_bytes: int | None = None

    def covers(self, path: bytes) -> bool:
        """Returns whether `path` is it, or lies below it."""
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
    """Returns what a message made by `message_of` says.

    :raises ValueError: it is not such a message
    """
    title, *lines = message.rstrip("\n").split("\n")
    if title != _TITLE:
        raise ValueError(title)
    read = [msgspec.json.decode(line, type=_Line) for line in lines if line]
    return tuple(
        Omission(unquote_to_bytes(line.path), line.reason, line.size_bytes) for line in read
    )


def notes_of(left_out: Sequence[Omission]) -> list[str]:
    """Returns what is left out, in sentences: each thing in its own, but those that can be many in
    one for all.
    """
    notes = [str(each) for each in left_out if each.reason not in ("secret", "tooMuch")]
    secrets = [each.path for each in left_out if each.reason == "secret"]
    if secrets:
        notes.append(f"called like secrets (checkpoints.secret_names): {name_paths(secrets)}")
    too_much = [each for each in left_out if each.reason == "tooMuch"]
    if too_much:
        size = sum(each.size_bytes or 0 for each in too_much)
        files = "1 untracked file" if len(too_much) == 1 else f"{len(too_much):,} untracked files"
        notes.append(
            f"too much (checkpoints.max_untracked_bytes): {files} of {size:,} bytes, "
            f"{name_paths([each.path for each in too_much])}"
        )
    return notes


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
        case "secret":
            return "is called like a secret (see checkpoints.secret_names)"
        case "tooMuch":
            return (
                "is too much together with other untracked files (see "
                "checkpoints.max_untracked_bytes)"
            )
