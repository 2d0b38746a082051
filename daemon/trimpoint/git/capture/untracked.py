"""Chooses the untracked files that a checkpoint leaves out: files whose names suggest secrets, and
files above a limit of bytes for all together.
"""

import fnmatch
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from trimpoint.git.capture.omissions import Omission

_EXAMPLES = (".example", ".sample", ".template", ".dist", "example.env", "sample.env")


def called_like_secrets(paths: Iterable[bytes], names: Sequence[str]) -> set[bytes]:
    """Returns the paths whose last part matches one of `names`, whatever its case. Example files,
    such as `.env.example`, are not included.
    """
    pattern = re.compile("|".join(fnmatch.translate(name.lower()) for name in names) or r"(?!)")
    return {
        path for path in paths if _matches(pattern, os.fsdecode(path.rpartition(b"/")[2]).lower())
    }


def too_much(sizes: Mapping[bytes, int], before: Collection[bytes], max_bytes: int) -> set[bytes]:
    """Returns the paths to leave out so that the others have at most `max_bytes`: first those of
    `before` (left out by the last capture), then the largest.

    If all files together are within the limit, none is left out.
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
    """Returns the sizes in bytes by path, without missing files. Blocking."""
    sizes: dict[bytes, int] = {}
    for path in paths:
        try:
            sizes[path] = os.lstat(os.path.join(root, path)).st_size
        except OSError:
            continue
    return sizes


def still_too_much(left_out: Iterable[Omission]) -> set[bytes]:
    """Returns the paths that an earlier capture left out because of the limit for untracked
    files.
    """
    return {each.path for each in left_out if each.reason == "tooMuch"}


def _matches(pattern: re.Pattern[str], name: str) -> bool:
    return pattern.match(name) is not None and not name.endswith(_EXAMPLES)
