"""Compares versions of trimpoint."""

import re

VERSION = re.compile(r"\d+(\.\d+)*")


def number_of(version: str) -> tuple[int, ...]:
    """Returns the numbers of a version, empty if it has none at its beginning."""
    found = VERSION.match(version)
    return tuple(map(int, found[0].split("."))) if found is not None else ()


def is_older(version: str, than: str) -> bool:
    """Returns whether a version came before another one."""
    return number_of(version) < number_of(than)
