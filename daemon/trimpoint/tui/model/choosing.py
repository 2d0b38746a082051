"""A list of options that is filtered by typed text."""

from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Option(NamedTuple, Generic[T]):
    """A value to choose; `words` is the text that the filter searches."""

    value: T
    words: str


def matches(words: str, typed: str) -> bool:
    """Returns whether `words` contains each typed word, or at least its letters in their order."""
    text = words.casefold()
    return all(part in text or _has_letters(text, part) for part in typed.casefold().split())


def rows_around(values: Sequence[T], chosen: int, height: int) -> list[tuple[int, T]]:
    """Returns `height` values with their positions, so that the chosen one is among them."""
    first = max(0, min(chosen - height // 2, len(values) - height))
    return list(enumerate(values[first : first + height], first))


def _has_letters(text: str, part: str) -> bool:
    letters = iter(text)
    return len(part) > 2 and all(letter in letters for letter in part)


class Choosing(Generic[T]):
    """A filtered list. `shown` are the matching options, the best first; `chosen` is a position in
    it.
    """

    def __init__(self, options: Iterable[Option[T]] = ()) -> None:
        self._options = list(options)
        self._typed = ""
        self.chosen = 0
        self.shown = self._options

    @property
    def count(self) -> int:
        """Returns the number of all options, including those that do not match."""
        return len(self._options)

    def offer(self, options: Iterable[Option[T]]) -> None:
        """Replaces the options; the filter and the chosen position stay."""
        self._options = list(options)
        self._refresh()

    def type(self, typed: str) -> None:
        """Sets the filter."""
        if typed != self._typed:
            self._typed, self.chosen = typed, 0
            self._refresh()

    def move(self, step: int) -> None:
        """Moves the choice by `step` rows and stops at the ends."""
        self.chosen = max(0, min(len(self.shown) - 1, self.chosen + step))

    @property
    def choice(self) -> T | None:
        """Returns the chosen value; None if no option matches."""
        return self.shown[self.chosen].value if self.shown else None

    def _refresh(self) -> None:
        found = [option for option in self._options if matches(option.words, self._typed)]
        exact = self._typed.casefold()
        # Letters in order match a lot; what has the words themselves comes first.
        self.shown = sorted(found, key=lambda option: exact not in option.words.casefold())
        self.chosen = max(0, min(len(self.shown) - 1, self.chosen))
