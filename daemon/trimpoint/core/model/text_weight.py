"""Weighs text in tokens: counts the places and characters that usually cost one (`tokens`).

A megabyte must take little time, because it is done on the event loop. Therefore nothing loops over
characters in Python: pairs of kinds are made by adding two large integers, and what has the same
weight is counted together.
"""

from typing import Final, NamedTuple

BOUNDARY: Final = "\0"
"""Stands between two texts that are weighed together. What follows it begins a text."""

# The letters of patterns: lower case, upper case, digit, white space but for the space, space, not
# ASCII, all others. The place of a letter is its code; a boundary has the code 0.
KINDS: Final = b"^aAdnsx."
_PIECE_CHARS = 4 * 1024


class Feature(NamedTuple):
    """A kind of place in text with its weight in tokens.

    Each place that matches one of the patterns adds the weight. The patterns are over kinds of
    characters (`KINDS`), and matches do not overlap.
    """

    name: str
    weight: float
    patterns: tuple[bytes, ...]


class Script(NamedTuple):
    """A group of characters outside ASCII: the first and the last of each range, and the weight of
    one character in tokens.
    """

    name: str
    weight: float
    ranges: tuple[tuple[int, int], ...]


def _before(kind: bytes, others: bytes) -> tuple[bytes, ...]:
    return tuple(bytes((other,)) + kind for other in others)


# The weights are those that `benchmarks/studies/token_fit.py` finds.
FEATURES: Final = (
    # A word that begins with a capital is counted at the capital.
    Feature("word", 1.009, (*_before(b"a", b"dnsx."), *_before(b"A", b"dnsx."), b"aA")),
    Feature("capital within a word", 0.216, (b"aA",)),
    Feature("seven more letters", 0.419, (b"aaaaaaa",)),
    # In hexadecimal and base64, numbers begin within words.
    Feature("number", 0.758, (*_before(b"d", b"nsx."), b"ad", b"Ad")),
    Feature("number among lower case", 0.006, (b"ad", b"da")),
    Feature("number among capitals", 1.336, (b"Ad", b"dA")),
    Feature("three more digits", 1.220, (b"ddd",)),
    Feature("punctuation", 0.877, _before(b".", b"aAdnsx")),
    Feature("three more of punctuation", 0.093, (b"...",)),
    Feature("line break", 0.415, _before(b"n", b"aAdsx.")),
    Feature("two blanks", 0.096, (b"ss",)),
)
# No character is in two of them.
SCRIPTS: Final = (
    Script(
        "Chinese, Japanese",
        0.621,
        ((0x2E80, 0xA4CF), (0xF900, 0xFAFF), (0xFF00, 0xFFEF), (0x20000, 0x3FFFF)),
    ),
    Script("Korean", 0.644, ((0x1100, 0x11FF), (0xAC00, 0xD7FF))),
    Script("alphabets", 0.286, ((0x80, 0x10FF), (0x1200, 0x2E7F))),
)
OTHER_WEIGHT: Final = 2.0
"""The weight in tokens of a character that is in no script above, such as an emoji."""


def weigh_text(text: str, sampled_chars: int) -> float:
    """Returns the tokens of a text, or of texts that are joined by `BOUNDARY`.

    Of a longer text, pieces that are spread evenly over it and have `sampled_chars` together stand
    for all of it.
    """
    if len(text) > sampled_chars:
        pieces = max(1, sampled_chars // _PIECE_CHARS)
        starts = (len(text) * number // pieces for number in range(pieces))
        sample = "".join(text[start : start + _PIECE_CHARS] for start in starts)
        return _weigh_whole(sample) * (len(text) / len(sample))
    return _weigh_whole(text)


def _weigh_whole(text: str) -> float:
    weight = 0.0 if text.isascii() else _weigh_scripts(text)
    kinds = kinds_in(text)
    weight += sum(kinds.count(run) * each for run, each in _RUNS)
    pairs = _added(kinds.translate(_FIRST_OF_PAIR), kinds[1:])
    return weight + _counted(pairs.translate(_CLASS_OF_PAIR), _CLASS_WEIGHTS)


def kinds_in(text: str) -> bytes:
    """Returns the codes of the kinds of a text's characters, after that of a boundary."""
    # Encoding puts question marks in the place of what is not ASCII.
    return b"\0" + text.replace("?", "!").encode("ascii", "replace").translate(_CODE_OF_BYTE)


def pattern_codes(pattern: bytes) -> bytes:
    """Returns a feature's pattern as the codes of its letters."""
    return bytes(map(KINDS.index, pattern))


def _weigh_scripts(text: str) -> float:
    units = text.encode("utf-16-be", "surrogatepass")
    columns = units[1::2].translate(_COLUMN_OF_BYTE)
    cells = _added(units[::2].translate(_ROW_OF_BYTE), columns)
    return _counted(cells.translate(_SCRIPT_OF_CELL), _SCRIPT_WEIGHTS)


def _added(numbers: bytes, others: bytes) -> bytes:
    """Returns the sums of bytes at the same place, all of which are less than 256."""
    total = int.from_bytes(numbers, "little") + int.from_bytes(others, "little")
    return total.to_bytes(len(numbers), "little")


def _counted(classes: bytes, weights: tuple[float, ...]) -> float:
    """Returns the sum of the weights of all classes; class 0 has none."""
    return sum(classes.count(number) * weight for number, weight in enumerate(weights, 1))


# --- tables -------------------------------------------------------------------------------------


def _code_of_byte() -> bytes:
    codes = bytearray([KINDS.index(b".")] * 256)
    of = {
        b"^": BOUNDARY.encode(),
        b"x": b"?",
        b"a": b"abcdefghijklmnopqrstuvwxyz",
        b"A": b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        b"d": b"0123456789",
        b"n": b"\t\n\v\f\r",
        b"s": b" ",
    }
    for kind, characters in of.items():
        for character in characters:
            codes[character] = KINDS.index(kind)
    return bytes(codes)


def _summed() -> dict[bytes, float]:
    """Returns each pattern with the sum of its weights. What follows a boundary begins as after a
    line break, which the boundary itself is not.
    """
    sums: dict[bytes, float] = {}
    for feature in FEATURES:
        for pattern in feature.patterns:
            sums[pattern] = sums.get(pattern, 0.0) + feature.weight
    begins = {b"^" + pattern[1:]: each for pattern, each in sums.items() if pattern[:1] == b"n"}
    return sums | begins


def _is_run(pattern: bytes) -> bool:
    """Returns whether matches of a pattern could overlap, so that only a search counts them."""
    return len(pattern) > 2 or pattern[0] == pattern[1]


def _class_of_pair(pairs: dict[bytes, float]) -> bytes:
    table = bytearray(256)
    for pair, weight in pairs.items():
        first, second = pattern_codes(pair)
        table[first * len(KINDS) + second] = 1 + _CLASS_WEIGHTS.index(weight)
    return bytes(table)


_CODE_OF_BYTE = _code_of_byte()
_WEIGHTS = _summed()
_RUNS = tuple((pattern_codes(one), each) for one, each in _WEIGHTS.items() if _is_run(one))
_PAIRS = {pattern: each for pattern, each in _WEIGHTS.items() if not _is_run(pattern)}
_CLASS_WEIGHTS = tuple(sorted(set(_PAIRS.values())))
_CLASS_OF_PAIR = _class_of_pair(_PAIRS)
_FIRST_OF_PAIR = bytes(code * len(KINDS) % 256 for code in range(256))

# UTF-16 units as a table: the first byte is the row, the second the column, and columns between two
# ends of ranges are one. Of a surrogate pair, the first unit decides and the second has no weight.
_SCRIPT_WEIGHTS = (*(script.weight for script in SCRIPTS), OTHER_WEIGHT)
_UNWEIGHED = ((0x00, 0x7F), (0xDC00, 0xDFFF))


def _unit(character: int) -> int:
    """Returns the first UTF-16 unit of a character."""
    return int.from_bytes(chr(character).encode("utf-16-be", "surrogatepass")[:2], "big")


def _script_of_unit(unit: int) -> int:
    if any(first <= unit <= last for first, last in _UNWEIGHED):
        return 0
    for number, ranges in enumerate(_UNIT_RANGES, 1):
        if any(first <= unit <= last for first, last in ranges):
            return number
    return len(_SCRIPT_WEIGHTS)


_UNIT_RANGES = tuple(
    tuple((_unit(first), _unit(last)) for first, last in script.ranges) for script in SCRIPTS
)
_ENDS = [end for ranges in (*_UNIT_RANGES, _UNWEIGHED) for end in ranges]
_COLUMN_STARTS = sorted(
    {0, *(first % 256 for first, _ in _ENDS), *((last + 1) % 256 for _, last in _ENDS)}
)
_COLUMN_OF_BYTE = bytes(
    max(n for n, start in enumerate(_COLUMN_STARTS) if start <= byte) for byte in range(256)
)
_ROWS = [
    tuple(_script_of_unit(byte * 256 + start) for start in _COLUMN_STARTS) for byte in range(256)
]
_DISTINCT_ROWS = sorted(set(_ROWS))
_ROW_OF_BYTE = bytes(_DISTINCT_ROWS.index(row) * len(_COLUMN_STARTS) for row in _ROWS)
_SCRIPT_OF_CELL = bytes(script for row in _DISTINCT_ROWS for script in row).ljust(256, b"\0")
