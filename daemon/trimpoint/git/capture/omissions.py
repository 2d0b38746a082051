"""Reads and writes the commit message of a checkpoint. The message lists the omissions of the
checkpoint and the permissions of its files, so that a restore can use them years later.

Paths can have any bytes, so they are percent-encoded.
"""

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

import msgspec

from trimpoint.core.model.decision import counted
from trimpoint.git.errors import name_path, name_paths
from trimpoint.git.plumbing.permissions import Permissions

LeftOutReason = Literal[
    "tooLarge", "unreadable", "nestedRepository", "notAFile", "sparse", "secret", "tooMuch"
]

_TITLE = "trimpoint checkpoint"


class Omission(msgspec.Struct, frozen=True):
    """A part of the work tree that a checkpoint lacks and that a restore leaves alone.

    `path` is relative to the work tree; a path that ends in `/` stands for everything below it.
    `size_bytes` is set only for files left out because of their size.
    """

    path: bytes
    reason: LeftOutReason
    size_bytes: int | None = None

    def covers(self, path: bytes) -> bool:
        """Returns whether `path` is the omitted path or below it."""
        return path == self.path or (self.path.endswith(b"/") and path.startswith(self.path))

    def __str__(self) -> str:
        return f"{name_path(self.path)} {_reason_text(self)}"


class _LeftOut(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    path: str
    reason: LeftOutReason
    size_bytes: int | None = None


class _Usual(msgspec.Struct, frozen=True):
    """The permissions of most files, in octal digits."""

    regular: str
    executable: str


class _Named(msgspec.Struct, frozen=True):
    """A file with permissions that differ from those of most files, in octal digits."""

    path: str
    permissions: str


class _IgnoringChanged(msgspec.Struct, frozen=True, rename="camel"):
    """A path that the checkpoint has, or lacks, only because what git ignores has changed."""

    ignoring_changed: str


class _Line(msgspec.Struct, frozen=True, rename="camel"):
    """A line of a message: the fields of all four kinds of lines."""

    path: str = ""
    reason: LeftOutReason | None = None
    size_bytes: int | None = None
    regular: str = ""
    executable: str = ""
    permissions: str = ""
    ignoring_changed: str = ""


_DECODER = msgspec.json.Decoder(_Line)


class CheckpointMessage(NamedTuple):
    """The content of a checkpoint's commit message. `permissions` is None in checkpoints of older
    versions, and `ignoring_changed` is empty in them.
    """

    left_out: tuple[Omission, ...] = ()
    permissions: Permissions | None = None
    ignoring_changed: frozenset[bytes] = frozenset()


def message_of(
    left_out: Sequence[Omission],
    permissions: Permissions | None = None,
    ignoring_changed: Collection[bytes] = (),
) -> str:
    """Returns a checkpoint's commit message: a title, then one JSON object a line."""
    lines: list[msgspec.Struct] = [
        _LeftOut(quote_from_bytes(each.path), each.reason, each.size_bytes) for each in left_out
    ]
    if permissions is not None:
        lines.append(_Usual(f"{permissions.regular:o}", f"{permissions.executable:o}"))
        lines += [
            _Named(quote_from_bytes(path), f"{mode:o}")
            for path, mode in sorted(permissions.named.items())
        ]
    lines += [_IgnoringChanged(quote_from_bytes(path)) for path in sorted(ignoring_changed)]
    body = "".join(f"\n{msgspec.json.encode(line).decode()}" for line in lines)
    return f"{_TITLE}\n{body}" if body else _TITLE


def read_message(message: str) -> CheckpointMessage:
    """Returns the content of a message that `message_of` made.

    :raises ValueError: when it is no such message
    """
    title, *lines = message.rstrip("\n").split("\n")
    if title != _TITLE:
        raise ValueError(title)
    read = [_DECODER.decode(line) for line in lines if line]
    left_out = tuple(
        Omission(unquote_to_bytes(line.path), line.reason, line.size_bytes)
        for line in read
        if line.reason is not None
    )
    changed = (unquote_to_bytes(line.ignoring_changed) for line in read if line.ignoring_changed)
    return CheckpointMessage(left_out, _permissions_of(read), frozenset(changed))


def _permissions_of(lines: Sequence[_Line]) -> Permissions | None:
    usual = next((line for line in lines if line.regular), None)
    if usual is None:
        return None
    named = {
        unquote_to_bytes(line.path): int(line.permissions, 8) for line in lines if line.permissions
    }
    return Permissions(int(usual.regular, 8), int(usual.executable, 8), named)


def notes_of(left_out: Sequence[Omission]) -> list[str]:
    """Returns the omissions of a checkpoint as sentences: one for each, but a single one for all
    secrets and one for all files above the limit for untracked files.
    """
    notes = [str(each) for each in left_out if each.reason not in ("secret", "tooMuch")]
    secrets = [each.path for each in left_out if each.reason == "secret"]
    if secrets:
        notes.append(f"called like secrets (checkpoints.secret_names): {name_paths(secrets)}")
    too_much = [each for each in left_out if each.reason == "tooMuch"]
    if too_much:
        size = sum(each.size_bytes or 0 for each in too_much)
        files = counted(len(too_much), "untracked file")
        notes.append(
            f"too much (checkpoints.max_untracked_bytes): {files} of {size:,} bytes, "
            f"{name_paths([each.path for each in too_much])}"
        )
    return notes


def _reason_text(left_out: Omission) -> str:
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
