"""Maps a provider thread to its thread, and lists the notifications that are passed on for each
role.
"""

from enum import StrEnum
from typing import NamedTuple

# Notifications of a retired provider thread that are recorded and passed on: a terminal's output
# after a trim, and a turn that Codex began just before it, with what it asks.
TURN_LIMITS = frozenset({"turn/started", "turn/completed"})
RETIRED_THREAD_METHODS = TURN_LIMITS | {
    "item/commandExecution/outputDelta", "item/completed", "serverRequest/resolved",
}  # fmt: skip
# Notifications of a temporary thread that are not part of the compaction that clients see.
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
    """The role of a provider thread. Clients see nothing of a HIDDEN one, and the turn of a
    TEMPORARY one.
    """

    CURRENT = "current"
    RETIRED = "retired"
    TEMPORARY = "temporary"
    HIDDEN = "hidden"


class Route(NamedTuple):
    """The thread that a provider thread belongs to, and its role and generation there."""

    thread_id: str
    role: ThreadRole
    generation: int
