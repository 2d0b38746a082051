"""The words of texts and queries, as people search code: identifiers in parts, paths, beginnings of
words, phrases. Pure.

SQLite's tokenizer folds case and accents and ends a word at whatever is neither letter nor digit,
so that words joined by underscores or slashes come apart there. It leaves camelCase whole: its
parts are indexed behind the text.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

MAX_TERMS = 12
"""Terms of a query beyond these are ignored."""

SNIPPET_CHARS = 240
_LONGEST_CUT_CHARS = 24
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_WORD = re.compile(r"[^\W_]+")
_SHAPES = bytes(
    ord("A" if letter.isupper() else "a" if letter.islower() else "1" if letter.isdigit() else " ")
    for letter in map(chr, range(128))
).ljust(256)
"""Of each byte of a text the kind of letter: `A`, `a`, `1` or a blank."""
_HUMPS = (b"aA", b"1A", b"AAa")
_REMEMBERED_PARTS = 4_096
_TERM = re.compile(r'"([^"]*)"?|(\S+)')


class Term(NamedTuple):
    """A word or a phrase of a query. `is_prefix`: its last word may go on."""

    text: str
    is_prefix: bool = False


def with_parts(text: str) -> str:
    """Returns `text`, followed by the parts of its camelCase identifiers, each once."""
    identifiers = _camel_case(text)
    return "\n".join((text, *map(_parts_of, sorted(identifiers)))) if identifiers else text


def _camel_case(text: str) -> set[str]:
    """Returns the camelCase identifiers of a text. It looks at no character in Python, because that
    would cost more than the rest of indexing.
    """
    shape = text.encode("ascii", "replace").translate(_SHAPES)
    found: set[str] = set()
    for hump in _HUMPS:
        at = shape.find(hump)
        while at >= 0:
            end = shape.find(b" ", at)
            end = end if end >= 0 else len(shape)
            found.add(text[shape.rfind(b" ", 0, at) + 1 : end])
            at = shape.find(hump, end)
    return found


@lru_cache(_REMEMBERED_PARTS)
def _parts_of(identifier: str) -> str:
    return " ".join(_PART.findall(identifier))


def terms_in(query: str) -> list[Term]:
    """Returns the terms of a query: phrases in quotes, words, and beginnings of words (`conf*`)."""
    terms = [
        Term(quoted or word.rstrip("*"), is_prefix=word.endswith("*"))
        for quoted, word in _TERM.findall(query)
    ]
    return [term for term in dict.fromkeys(terms) if _WORD.search(term.text)][:MAX_TERMS]


def match_all(terms: Iterable[Term]) -> str:
    """Returns, in the language of FTS5, that an entry has all these terms."""
    return " AND ".join(f"({_alternatives(term)})" for term in terms)


def match_most(terms: list[Term]) -> str:
    """Returns, in the language of FTS5, that an entry has all these terms but one."""
    choices = combinations(terms, len(terms) - 1)
    return " OR ".join(f"({match_all(choice)})" for choice in choices)


def _alternatives(term: Term) -> str:
    star = " *" if term.is_prefix else ""
    whole = _WORD.findall(term.text)
    parts = [part for word in whole for part in _PART.findall(word)]
    phrases = [f'"{" ".join(whole)}"{star}']
    if len(parts) > len(whole):
        phrases.append(f'"{" ".join(parts)}"{star}')
    return " OR ".join(phrases)


class Snippet(NamedTuple):
    """A piece of a text. `marks` are where the words of the query stand in it: (start, end)."""

    text: str
    marks: tuple[tuple[int, int], ...]


def snippet(text: str, terms: list[Term], length: int = SNIPPET_CHARS) -> Snippet:
    """Returns the piece of `text` with the most words of the query, its line breaks as blanks."""
    hits = list(_hits(text, terms))
    start = _word_start(text, _best_start(hits, length))
    end = min(len(text), start + length)
    piece = re.sub(r"\s", " ", text[start:end])
    marks = tuple((at - start, to - start) for at, to in hits if start <= at and to <= end)
    return Snippet(piece, marks)


def _hits(text: str, terms: list[Term]) -> Iterator[tuple[int, int]]:
    wanted = {folded(word) for term in terms for word in _words_of(term)}
    prefixes = tuple(folded(list(_words_of(term))[-1]) for term in terms if term.is_prefix)
    for found in _WORD.finditer(text):
        word = folded(found[0])
        parts = {folded(part) for part in _PART.findall(found[0])}
        begins = bool(prefixes) and any(one.startswith(prefixes) for one in (word, *parts))
        if begins or word in wanted or not wanted.isdisjoint(parts):
            yield found.span()


def _words_of(term: Term) -> Iterator[str]:
    for word in _WORD.findall(term.text):
        parts = _PART.findall(word)
        yield from parts if len(parts) > 1 else ()
        yield word


def _best_start(hits: list[tuple[int, int]], length: int) -> int:
    if not hits:
        return 0
    within = [
        sum(at < start + length for at, _ in hits[first : first + 50])
        for first, (start, _) in enumerate(hits)
    ]
    best = hits[within.index(max(within))][0]
    return max(0, best - length // 6)


def _word_start(text: str, at: int) -> int:
    """Returns where the first whole word from `at` on begins, if there is one soon."""
    if at == 0 or text[at - 1].isspace():
        return at
    blank = re.compile(r"\s").search(text, at, at + _LONGEST_CUT_CHARS)
    return blank.end() if blank is not None else at


def folded(word: str) -> str:
    """Returns `word` without case and accents."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word)
    return "".join(ch for ch in decomposed if not unicodedata.combining(ch)).casefold()
