"""Facts that have happened and are not in the journal yet."""

from __future__ import annotations

import msgspec

from trimpoint.core.decide.decider import AnyCommand
from trimpoint.core.model import commands as internal

ExternalFact = internal.RecordFacts | internal.AbandonOpenWork | internal.RollBackTurns
"""Commands that report facts, which have happened whether or not they can be written. They are kept
while the disk refuses.
"""


class UnwrittenFacts:
    """The facts that the disk has refused, in their order. `size_bytes` says how much memory they
    take, roughly.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        self._facts: list[ExternalFact] = []

    def __bool__(self) -> bool:
        return bool(self._facts)

    def keep(self, fact: ExternalFact) -> None:
        """Appends a fact."""
        self._facts.append(fact)
        self.size_bytes += len(msgspec.msgpack.encode(fact))

    def take(self) -> list[ExternalFact]:
        """Removes all facts and returns them."""
        taken, self._facts, self.size_bytes = self._facts, [], 0
        return taken


def as_fact(command: AnyCommand) -> ExternalFact | None:
    """Returns the command if it reports a fact, which must survive a failure of the journal; None
    if it is a request.
    """
    match command:
        case (
            internal.RecordFacts()
            | internal.AbandonOpenWork()
            | internal.RollBackTurns(provider_did=True)
        ):
            return command
        case _:
            return None
