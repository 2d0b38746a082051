"""Maps a Codex thread to its stable thread, and to what is passed on of it."""

from enum import StrEnum
from typing import NamedTuple

# What a retired provider thread may still tell: the output of a terminal that outlives the trim.
RETIRED_THREAD_METHODS = frozenset({"item/commandExecution/outputDelta", "item/completed"})
# What is the scratch thread's own affair and not part of the compaction that clients watch.
TEMPORARY_THREAD_METHODS = frozenset(
    {
        "thread/started",
        "thread/closed",
        "thread/archived",
        "thread/deleted",
        "thread/name/updated",
        "warning",
        "thread/readState/changed",
        "thread/settings/updated",
        "thread/tokenUsage/updated",
        "rawResponseItem/completed",
    }
)


class ThreadRole(StrEnum):
    """The role of a provider thread: HIDDEN shows nothing to clients, TEMPORARY shows its turn."""

    CURRENT = "current"
    RETIRED = "retired"
    TEMPORARY = "temporary"
    HIDDEN = "hidden"


class Route(NamedTuple):
    """The thread that a provider thread belongs to, and its role there."""

    thread_id: str
    role: ThreadRole
    generation: int
