"""Makes texts of every script searchable by words: accents, ligatures and other forms of a letter
do not count, and each character of a script without spaces between words is a word. Pure.

A query is treated in the same way, so that its characters are a phrase, and are found within words.
SQLite ignores the case of ASCII letters by itself.
"""

import re
import unicodedata
from functools import cache, lru_cache
from itertools import chain

_KANA_MARKS = "\u3099\u309a\uff9e\uff9f"
_ACCENTS = "\u0300-\u036f"
# Thai, Lao, Tibetan, Burmese, Khmer, kana, Chinese characters, and Hangul, whose particles stand
# behind words without a space.
_UNSPACED = (
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u0f40-\u0f6c"
    "\u1000-\u102a\u103f\u1050-\u1055\u1780-\u17b3\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\uff66-\uff9d\U00020000-\U0003ffff"
)
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_REMEMBERED_RUNS = 4_096


@cache  # made when something is looked for: the daemon's start needs none of it
def _marks() -> str:
    """Returns a class of characters: vowels, tones and points that stand with a letter, of the Near
    East, India, Tibet and South East Asia; voicing marks of kana; accents.
    """
    blocks = chain(range(0x0580, 0x0750), range(0x0900, 0x10A0), range(0x1780, 0x1800))
    marks = [chr(one) for one in blocks if unicodedata.category(chr(one))[0] == "M"]
    return "[" + re.escape("".join(marks)) + _KANA_MARKS + _ACCENTS + "]"


@cache
def word_pattern() -> re.Pattern[str]:
    """Returns what matches a word, or several ones of a script without spaces."""
    return re.compile(rf"(?:[^\W_]|{_marks()})+")


@cache
def piece_pattern() -> re.Pattern[str]:
    """Returns what matches a character of a script without spaces, or what stands between such
    characters.
    """
    return re.compile(rf"[{_UNSPACED}]{_marks()}*|[^{_UNSPACED}]+")


@cache
def _unspaced_pattern() -> re.Pattern[str]:
    return re.compile(rf"[{_UNSPACED}]{_marks()}*")


def searchable(text: str) -> str:
    """Returns `text` as it is indexed and looked for."""
    return text if text.isascii() else _FOREIGN.sub(lambda run: _folded_run(run[0]), text)


def words_in(text: str) -> list[str]:
    """Returns the words that the index would have of a text."""
    return word_pattern().findall(searchable(text))


def is_unspaced(word: str) -> bool:
    """Returns whether a text has characters that are words by themselves."""
    return not word.isascii() and _unspaced_pattern().search(word) is not None


@lru_cache(_REMEMBERED_RUNS)
def _folded_run(run: str) -> str:
    kept = [ch for ch in unicodedata.normalize("NFKD", run.casefold()) if not _is_accent(ch)]
    folded = unicodedata.normalize("NFC", "".join(kept)).casefold()
    return _unspaced_pattern().sub(lambda found: f" {found[0]} ", folded)


def _is_accent(ch: str) -> bool:
    """Returns whether a mark may be left out: an accent, or a vowel point of Hebrew or Arabic, but
    not a vowel of an Indian script or what makes another kana.
    """
    kind = unicodedata.combining(ch)
    return 10 <= kind <= 36 or kind >= 200 or kind == 1
