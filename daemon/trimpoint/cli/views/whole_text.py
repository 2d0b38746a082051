"""Writes out what a person is asked to approve, so that nothing in it can be overlooked: hidden
characters are visible, and long runs of blanks or empty lines are counted.
"""

import re
from collections.abc import Iterator
from itertools import groupby

from trimpoint_protocol.hidden_characters import whole

from trimpoint.cli.terminal import printable

_MOST_EMPTY_LINES = 3
# Indentation is long in real files; blanks behind a word are not.
_BLANKS = re.compile(r"(?<=\S)[^\S\n]{17,}|^[^\S\n]{61,}", re.MULTILINE)


def whole_lines(text: str) -> list[str]:
    """Returns the lines of `text`. A long run of blanks or of empty lines, which would move the
    rest out of sight, is replaced by its length.
    """
    shown = _BLANKS.sub(lambda run: f" ⟨{len(run[0]):,} blanks⟩ ", whole(printable(text)))
    return list(_without_gaps(shown.split("\n"))) if shown.strip() else []


def _without_gaps(lines: list[str]) -> Iterator[str]:
    for is_empty, run in groupby(lines, lambda line: not line.strip()):
        found = list(run)
        if is_empty and len(found) > _MOST_EMPTY_LINES:
            yield f"⟨{len(found):,} empty lines⟩"
        else:
            yield from found
