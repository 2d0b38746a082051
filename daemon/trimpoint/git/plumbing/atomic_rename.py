"""Moves files without ever overwriting one, in one step where the system can, else by the nearest
substitute.
"""

import errno
import os
from typing import NamedTuple

from trimpoint.system import SYSTEM


class Place(NamedTuple):
    """A name in a folder that is given by an open file descriptor."""

    folder: int
    name: bytes


def exists_at(place: Place) -> bool:
    """Returns whether there is anything at a place, be it a link that leads nowhere."""
    try:
        os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def atomic_rename(source: Place, target: Place) -> None:
    """Moves a file to a path that must not exist.

    :raises FileExistsError: when `target` exists
    :raises OSError: when the move is refused
    """
    if not _renamed(source, target, False):
        _move_without_kernel(source, target)


def atomic_exchange(one: Place, other: Place) -> None:
    """Exchanges two files in one step. `one` must be in a folder of the daemon's own.

    :raises FileNotFoundError: when one of them does not exist
    :raises OSError: when the exchange is refused
    """
    if not _renamed(one, other, True):
        _exchange_without_kernel(one, other)


def _renamed(source: Place, target: Place, exchange: bool) -> bool:
    return SYSTEM.rename(source, target, exchange=exchange)


def _move_without_kernel(source: Place, target: Place) -> None:
    # These are two steps, so a file that is created in between is overwritten. There is no better
    # way without renameat2.
    if exists_at(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fsdecode(target.name))
    os.rename(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)


def _exchange_without_kernel(one: Place, other: Place) -> None:
    # `other` always exists: its file gets a second name before it is replaced.
    aside = Place(one.folder, one.name + b".aside")
    try:
        os.link(
            other.name,
            aside.name,
            src_dir_fd=other.folder,
            dst_dir_fd=aside.folder,
            follow_symlinks=False,
        )
    except (PermissionError, NotImplementedError):
        # The file system has no links: for a moment `other` does not exist.
        os.rename(other.name, aside.name, src_dir_fd=other.folder, dst_dir_fd=aside.folder)
    os.rename(one.name, other.name, src_dir_fd=one.folder, dst_dir_fd=other.folder)
    os.rename(aside.name, one.name, src_dir_fd=aside.folder, dst_dir_fd=one.folder)
