"""What can be done with a turn and those before or after it, to make room in the context."""

from typing import NamedTuple

from trimpoint.core.commands.clear import Clear
from trimpoint.core.commands.compact import Compact
from trimpoint.core.commands.mask import Mask

_KINDS = (
    (Clear, "Clear", "the agent forgets"),
    (Compact, "Compact", "a summary stands in the place of"),
    (Mask, "Mask", "one line stands in the place of each output of"),
)


class Act(NamedTuple):
    """A command for a stretch of turns; `words` and `meaning` are for a person."""

    command: str
    words: str
    meaning: str


def acts_at(turn: int, newest: int) -> list[Act]:
    """Returns what can be done with this turn alone, with all up to it and with all from it on.
    `newest` is the number of the newest turn.
    """
    stretches = {f"{turn}..{turn}": _named(turn, turn)}
    if turn > 1:
        stretches[f"..{turn}"] = f"{_named(1, turn)}, up to here"
    if turn < newest:
        stretches[f"{turn}..{newest}"] = f"{_named(turn, newest)}, from here on"
    return [
        Act(f"/{kind.command} {stretch}", f"{verb} {named}", f"{meaning} {named.partition(',')[0]}")
        for kind, verb, meaning in _KINDS
        for stretch, named in stretches.items()
    ]


def _named(first: int, last: int) -> str:
    return f"turn {first}" if first == last else f"turns {first} to {last}"
