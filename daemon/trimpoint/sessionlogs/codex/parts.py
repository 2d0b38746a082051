"""The parts of a session's files that the reader takes. Pure."""

from typing import NamedTuple


class Part(NamedTuple):
    """A file of the session. `cuts` are the ordinals at which other files go on from it, rising;
    `stop` is where it ends for this session, if it is another's; `base` is the file and ordinal
    that it goes on from. `anew`: it begins with a rewind to before the first turn.
    """

    name: str
    id: str
    base: tuple[str, int] | None = None
    cuts: tuple[int, ...] = ()
    stop: int | None = None
    inherited: bool = False
    is_whole: bool = False
    anew: bool = False
