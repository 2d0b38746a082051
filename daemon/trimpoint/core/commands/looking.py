"""`/context`, `/search`, `/stats` and `/timeline`: what the agent knows, and what was said.

The shell has commands of these names with more options (`trimpoint search --pruned`).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from trimpoint.core.commands.arguments import GROUPING, SINCE, TURNS_LISTED, option, text, word
from trimpoint.core.commands.declaration import Command, Group, Reading
from trimpoint.core.model.spelling import Said

if TYPE_CHECKING:
    from trimpoint_protocol.shapes.stats import Grouping

    from trimpoint.core.model.decision import Policy
    from trimpoint.core.model.state import ThreadState


@dataclass(frozen=True, slots=True)
class Context(Command):
    """Shows how the active context is filled. It reads Codex's rollout, so the gateway answers it
    (`gateway/commands/views/context_inspections.py`).
    """

    command: ClassVar = "context"
    summary: ClassVar = "Show what the agent's context holds, and what would help when it is full"
    details: ClassVar = (
        "A bar for each kind of thing, the five largest items, and, from the warning level on, "
        "the trims that would help most. Nothing changes."
    )


@dataclass(frozen=True, slots=True)
class Search(Command):
    """Searches the thread for the words of `query`; an empty query finds nothing. It needs the
    index, so the gateway answers it (`gateway/commands/views/history_searches.py`).
    """

    command: ClassVar = "search"
    summary: ClassVar = "Find what was said and done, also what has left the context"
    details: ClassVar = (
        "Looks in this thread for what has all the words; where nothing has, for all but one. "
        'conf* finds words that begin so, and "words in quotes" follow each other. Nothing '
        "changes."
    )

    query: str = text("words…", "words to find", "")


@dataclass(frozen=True, slots=True)
class Timeline(Reading):
    """Lists the newest `turns` turns; None means the default number."""

    command: ClassVar = "timeline"
    summary: ClassVar = "List the turns with their numbers, and where the context was trimmed"
    details: ClassVar = (
        "The last 20 turns, or the last N. {revert}, {pin} and {clear} count as this list does. "
        "Nothing changes."
    )

    turns: int | None = word("N", TURNS_LISTED, "how many turns to list")

    def answer(self, state: "ThreadState", policy: "Policy") -> Said:
        """Returns the turns as text."""
        from trimpoint.core.views.timeline_text import timeline_text

        return Said(timeline_text(state, self.turns))


@dataclass(frozen=True, slots=True)
class Stats(Reading):
    """Counts the model calls of the thread, and what its trims have saved. With an option it
    counts those of all threads, which the gateway answers (`gateway/commands/views/spending.py`).
    """

    command: ClassVar = "stats"
    summary: ClassVar = "Count the model's calls, and the tokens that trims have saved"
    details: ClassVar = (
        "Calls, tokens in and out, how much came from the provider's cache, and the trims: how "
        "many tokens they have kept from being sent until now, by an estimate, and what the first "
        "calls after them read anew. With --by or --since these are the sums of all threads. "
        "Nothing changes."
    )
    shell_group: ClassVar[Group | None] = "context"

    by: str | None = option("WHAT", GROUPING, "sum all threads by thread, folder, day or model")
    since: str | None = option("AGE", SINCE, "sum all threads since 7d, 12h … or a date")

    @property
    def is_of_all(self) -> bool:
        """Returns whether all threads are summed."""
        return self.by is not None or self.since is not None

    @property
    def grouping(self) -> "Grouping":
        """Returns by what the sums are made."""
        return cast("Grouping", self.by or "thread")

    def answer(self, state: "ThreadState", policy: "Policy") -> Said:
        """Returns the counts as text."""
        from trimpoint.core.views.stats_text import stats_text

        return Said(stats_text(state))
