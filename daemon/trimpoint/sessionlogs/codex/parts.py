"""The part of a file that belongs to a session. Pure."""

from typing import NamedTuple


class Part(NamedTuple):
    """A file of the session. `cuts` are the ordinals where other files continue it, ascending;
    `stop` is where the session leaves the file, if the file is another session's; `base` is the
    file and ordinal that it continues. `anew`: the file begins with a rewind to before the first
    turn.
    """

    name: str
    id: str
    base: tuple[str, int] | None = None
    cuts: tuple[int, ...] = ()
    stop: int | None = None
    inherited: bool = False
    is_whole: bool = False
    anew: bool = False
