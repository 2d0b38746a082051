"""Tells a key that is meant for a question from one that was meant for something else."""

SETTLED_S = 0.5
"""No key answers a question sooner than this after it has appeared."""
REPEATED_S = 0.7
"""A held key comes again within this time: keyboards wait up to 660 ms before the first repeat."""


class Deliberate:
    """Judges the keys that would answer a question. A terminal does not say that a key is held, so
    the time since the same key tells it.
    """

    def __init__(self) -> None:
        self._since = 0.0
        self._last: tuple[str, float] = ("", 0.0)

    def begin(self, now: float) -> None:
        """Records that something new to answer has appeared."""
        self._since = now

    def takes(self, key: str, now: float) -> bool:
        """Returns whether a key that came now may answer."""
        before, self._last = self._last, (key, now)
        is_held = before[0] == key and now - before[1] < REPEATED_S
        return not is_held and now - self._since >= SETTLED_S
