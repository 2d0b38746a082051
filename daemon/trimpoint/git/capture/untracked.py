"""Chooses the untracked files that a checkpoint leaves out: those that are called like secrets, and
what is too much together.
"""

import fnmatch
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from trimpoint.git.capture.omissions import Omission

SECRET_NAMES = (
    ".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "id_rsa",
    "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".pgpass", ".npmrc", ".pypirc",
    ".git-credentials", ".htpasswd", "credentials.json",
)  # fmt: skip
"""Names of files that commonly hold keys and passwords."""

_EXAMPLES = (".example", ".sample", ".template", ".dist")


def called_like_secrets(paths: Iterable[bytes], names: Sequence[str]) -> set[bytes]:
    """Returns those whose last part matches one of `names`, in any case. Examples for others to
    copy are no secrets.
    """
    pattern = re.compile("|".join(fnmatch.translate(name.lower()) for name in names) or r"(?!)")
    return {
        path for path in paths if _matches(pattern, os.fsdecode(path.rpartition(b"/")[2]).lower())
    }


def too_much(sizes: Mapping[bytes, int], before: Collection[bytes], max_bytes: int) -> set[bytes]:
    """Returns what has to stay out so that the rest is no more than `max_bytes`: what stayed out
    before, then the largest.

    When all of it has become little enough, none stays out.
    """
    if sum(sizes.values()) <= max_bytes:
        return set()
    out = {path for path in before if path in sizes}
    rest = sum(size for path, size in sizes.items() if path not in out)
    for path in sorted(sizes.keys() - out, key=lambda each: (-sizes[each], each)):
        if rest <= max_bytes:
            break
        out.add(path)
        rest -= sizes[path]
    return out


def sizes_of(root: bytes, paths: Iterable[bytes]) -> dict[bytes, int]:
    """Returns the sizes in bytes; of what is gone, nothing. For a worker thread."""
    sizes: dict[bytes, int] = {}
    for path in paths:
        try:
            sizes[path] = os.lstat(os.path.join(root, path)).st_size
        except OSError:
            continue
    return sizes


def still_too_much(left_out: Iterable[Omission]) -> set[bytes]:
    """Returns what an earlier capture left out because it was too much."""
    return {each.path for each in left_out if each.reason == "tooMuch"}


def _matches(pattern: re.Pattern[str], name: str) -> bool:
    return pattern.match(name) is not None and not name.endswith(_EXAMPLES)
