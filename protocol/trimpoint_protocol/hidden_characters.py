"""The characters that are not seen, or that change how their neighbours are seen, for faces that
show what others wrote: titles, paths, answers, commands to approve.

The page (`web/app/model/hidden.js`) and the Neovim plugin have the same list, which a test proves.
What a person types is never changed: Persian and Hindi need joiners, and emoji need selectors.
"""

from collections.abc import Iterable

__all__ = ["MISLEADING", "UNUSUAL", "named", "visible", "whole"]

_Ranges = tuple[tuple[int, int], ...]

_MISLEADING: _Ranges = (
    (0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F),  # controls but tab and line feed
    (0x061C, 0x061C), (0x200E, 0x200F), (0x202A, 0x202E), (0x2066, 0x2069),  # direction
    (0x200B, 0x200B), (0x2060, 0x2065), (0x206A, 0x206F), (0xFEFF, 0xFEFF),  # no width
    (0x2028, 0x2029),  # ends of lines
    (0xFFF9, 0xFFFB),  # annotations
    (0xE0000, 0xE007F),  # tags
)  # fmt: skip
_UNUSUAL: _Ranges = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x180B, 0x180F), (0x200C, 0x200D),  # no width
    (0x17B4, 0x17B5), (0xFE00, 0xFE0E), (0xE0100, 0xE01EF),  # selectors, but that of emoji
    (0x00A0, 0x00A0), (0x1680, 0x1680), (0x2000, 0x200A), (0x202F, 0x202F), (0x205F, 0x205F),
    (0x3000, 0x3000), (0x115F, 0x1160), (0x3164, 0x3164), (0xFFA0, 0xFFA0),  # blanks, fillers
)  # fmt: skip


def _codes(ranges: _Ranges) -> frozenset[int]:
    return frozenset(code for first, last in ranges for code in range(first, last + 1))


MISLEADING = _codes(_MISLEADING)
"""Never shown as they are."""
UNUSUAL = _codes(_UNUSUAL)
"""Scripts and emoji need them, so they are made visible only in what a person is to approve."""


def named(code: int) -> str:
    """Returns a visible name for a character, such as `⟨U+202E⟩`."""
    return f"⟨U+{code:04X}⟩"


def _table(codes: Iterable[int]) -> dict[int, str]:
    return {code: named(code) for code in codes}


_VISIBLE = _table(MISLEADING)
_WHOLE = _table(MISLEADING | UNUSUAL)


def visible(text: str) -> str:
    """Returns `text` with its misleading characters named."""
    return text.replace("\r\n", "\n").translate(_VISIBLE)


def whole(text: str) -> str:
    """Returns `text` for a person who is to approve it: the unusual characters are named, too."""
    return text.replace("\r\n", "\n").translate(_WHOLE)
