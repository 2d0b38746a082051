"""A file system that finds a name in any case or Unicode form, as those of macOS and Windows do: made
of the calls of the operating system that restores use.
"""

import functools
import os
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from trimpoint.git.plumbing import atomic_rename
from trimpoint.git.plumbing.atomic_rename import Place


def find_names_in_any_form(patch: pytest.MonkeyPatch) -> None:
    """Has names be found in any form, for calls with the descriptor of a folder."""
    for name in ("open", "stat", "rmdir", "mkdir", "readlink", "unlink", "chmod"):
        patch.setattr(os, name, _finding(getattr(os, name)))
    real = atomic_rename._renamed

    def renamed(source: Place, target: Place, exchange: bool) -> bool:
        return real(Place(*_on_disk(*source)), Place(*_on_disk(*target)), exchange)

    patch.setattr(atomic_rename, "_renamed", renamed)


def _finding(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def finding(name: Any, *arguments: Any, **options: Any) -> Any:
        if (folder := options.get("dir_fd")) is not None:
            _, name = _on_disk(folder, os.fsencode(name))
        return call(name, *arguments, **options)

    return finding


def _on_disk(folder: int, name: bytes) -> tuple[int, bytes]:
    names = [os.fsencode(each) for each in os.listdir(folder)]
    like = (each for each in names if _plain(each) == _plain(name))
    return folder, name if name in names else next(like, name)


def _plain(name: bytes) -> str:
    return unicodedata.normalize("NFD", os.fsdecode(name).casefold())
