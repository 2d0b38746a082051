"""Errors of checkpoints. They carry facts; none of them ends a turn."""

import os
from collections.abc import Sequence

_PATHS_NAMED = 5


class GitError(Exception):
    """Base class of the errors of this package. `str()` is a sentence for a person, and `hint` says
    what the person can do.
    """

    hint: str = ""


class GitFailed(GitError):
    """A run of git failed. `why` completes "git could not <doing>: "."""

    def __init__(self, doing: str, why: str, hint: str = "") -> None:
        super().__init__(doing, why)
        self.doing = doing
        self.why = why
        self.hint = hint

    def __str__(self) -> str:
        return f"git could not {self.doing}: {self.why}."


class FilesChanged(GitError):
    """Files changed while they were being restored; the files already written were rolled back.

    `not_rolled_back` are files that could not be rolled back, because another program has changed
    them since.
    """

    hint = (
        "Stop what writes to these files, then try again; a new attempt captures them as they are "
        "then."
    )

    def __init__(self, paths: Sequence[bytes], not_rolled_back: Sequence[bytes] = ()) -> None:
        super().__init__(paths)
        self.paths = tuple(paths)
        self.not_rolled_back = tuple(not_rolled_back)

    def __str__(self) -> str:
        message = (
            "These files changed while they were being restored, so nothing was: "
            f"{name_paths(self.paths)}."
        )
        return message + _not_rolled_back_text(self.not_rolled_back)


class RestoreFailed(GitError):
    """The file system refused a step of a restore; the files already written were rolled back.

    `not_rolled_back` are files that could not be rolled back, or that another program has changed
    since.
    """

    def __init__(self, path: bytes, reason: str, not_rolled_back: Sequence[bytes] = ()) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason
        self.not_rolled_back = tuple(not_rolled_back)

    def __str__(self) -> str:
        message = f"The files could not be restored: {name_path(self.path)}: {self.reason}."
        return message + _not_rolled_back_text(self.not_rolled_back)


def name_path(path: bytes) -> str:
    """Returns a path as text for one line, whatever bytes it has."""
    text = path.decode(errors="surrogateescape")
    return text if text.isprintable() else repr(os.fsencode(text))[1:]


def _not_rolled_back_text(paths: Sequence[bytes]) -> str:
    return f" Could not be put back as they were: {name_paths(paths)}." if paths else ""


def name_paths(paths: Sequence[bytes]) -> str:
    """Returns the first paths as text, and the number of the others."""
    named = ", ".join(name_path(path) for path in paths[:_PATHS_NAMED])
    more = len(paths) - _PATHS_NAMED
    return f"{named} and {more} more" if more > 0 else named
