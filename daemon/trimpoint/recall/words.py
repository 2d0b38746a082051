"""Defines the words of texts and queries for searches in code: parts of identifiers, paths,
prefixes of words, phrases. Pure.

SQLite's tokenizer ignores case, and splits at every character that is neither letter, mark nor
digit, as underscores and slashes. It does not split camelCase, so the parts of such identifiers are
indexed in addition to the text. What else makes texts of all scripts alike is in `scripts`.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from trimpoint.recall.scripts import is_unspaced, piece_pattern, searchable, word_pattern, words_in

MAX_TERMS = 12
"""The most terms of a query; further ones are ignored."""

SNIPPET_CHARS = 240
_LONGEST_CUT_CHARS = 24
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SHAPES = bytes(
    ord("A" if letter.isupper() else "a" if letter.islower() else "1" if letter.isdigit() else " ")
    for letter in map(chr, range(128))
).ljust(256)
"""A translation table from bytes to their kinds: `A` upper case, `a` lower case, `1` digit, blank
for others.
"""
_HUMPS = (b"aA", b"1A", b"AAa")
_REMEMBERED_PARTS = 4_096
_TERM = re.compile(r'"([^"]*)"?|(\S+)')


class Term(NamedTuple):
    """A word or a phrase of a query. `is_prefix` says that its last word may continue."""

    text: str
    is_prefix: bool = False


def with_parts(text: str) -> str:
    """Returns `text` in its searchable form, followed by the parts of its camelCase identifiers."""
    text = searchable(text)
    identifiers = _camel_case(text)
    return "\n".join((text, *map(_parts_of, sorted(identifiers)))) if identifiers else text


def _camel_case(text: str) -> set[str]:
    """Returns the camelCase identifiers of a text. It loops over no characters in Python, which
    would take longer than the rest of the indexing.
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
    """Returns the terms of a query: phrases in quotes, words, and prefixes of words (`conf*`)."""
    terms = [
        Term(quoted or word.rstrip("*"), is_prefix=word.endswith("*"))
        for quoted, word in _TERM.findall(query)
    ]
    return [term for term in dict.fromkeys(terms) if word_pattern().search(term.text)][:MAX_TERMS]


def match_all(terms: Iterable[Term]) -> str:
    """Returns the FTS5 expression that matches entries with all terms."""
    return " AND ".join(f"({_alternatives(term)})" for term in terms)


def match_most(terms: list[Term]) -> str:
    """Returns the FTS5 expression that matches entries with all terms but one."""
    choices = combinations(terms, len(terms) - 1)
    return " OR ".join(f"({match_all(choice)})" for choice in choices)


def _alternatives(term: Term) -> str:
    star = " *" if term.is_prefix else ""
    whole = words_in(term.text)
    parts = [part for word in whole for part in _PART.findall(word)]
    phrases = [f'"{" ".join(whole)}"{star}']
    if len(parts) > len(whole):
        phrases.append(f'"{" ".join(parts)}"{star}')
    return " OR ".join(phrases)


class Snippet(NamedTuple):
    """A piece of a text. `marks` are the ranges (start, end) of the query's words in it."""

    text: str
    marks: tuple[tuple[int, int], ...]


def snippet(text: str, terms: list[Term], length: int = SNIPPET_CHARS) -> Snippet:
    """Returns the piece of `text`, at most `length` characters, with the most words of the query.
    Line breaks become blanks.
    """
    hits = list(_hits(text, terms))
    start = _word_start(text, _best_start(hits, length))
    end = min(len(text), start + length)
    piece = re.sub(r"\s", " ", text[start:end])
    marks = tuple((at - start, to - start) for at, to in hits if start <= at and to <= end)
    return Snippet(piece, marks)


def _hits(text: str, terms: list[Term]) -> Iterator[tuple[int, int]]:
    wanted = {folded(word) for term in terms for word in _words_of(term)}
    prefixes = tuple(folded(list(_words_of(term))[-1]) for term in terms if term.is_prefix)
    unspaced = [words_in(word) for word in wanted if is_unspaced(word)]
    for found in word_pattern().finditer(text):
        if unspaced and is_unspaced(found[0]):
            yield from _unspaced_hits(found[0], found.start(), unspaced)
            continue
        word = folded(found[0])
        parts = {folded(part) for part in _PART.findall(found[0])}
        has_prefix = bool(prefixes) and any(one.startswith(prefixes) for one in (word, *parts))
        if has_prefix or word in wanted or not wanted.isdisjoint(parts):
            yield found.span()


def _unspaced_hits(run: str, start: int, wanted: list[list[str]]) -> Iterator[tuple[int, int]]:
    """Yields where words of a script without spaces stand in a run of its characters."""
    pieces = [
        (word, found.start(), found.end())
        for found in piece_pattern().finditer(run)
        for word in words_in(found[0])
    ]
    words = [word for word, _, _ in pieces]
    at = 0
    while at < len(pieces):
        longest = max((len(one) for one in wanted if words[at : at + len(one)] == one), default=0)
        if longest:
            yield start + pieces[at][1], start + pieces[at + longest - 1][2]
        at += longest or 1


def _words_of(term: Term) -> Iterator[str]:
    for word in word_pattern().findall(term.text):
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
    """Returns the start of the first whole word from `at` on, or `at` if there is none within a few
    characters.
    """
    if at == 0 or text[at - 1].isspace():
        return at
    blank = re.compile(r"\s").search(text, at, at + _LONGEST_CUT_CHARS)
    return blank.end() if blank is not None else at


def folded(word: str) -> str:
    """Returns a word in lower case and without accents."""
    return searchable(word).strip().lower()
