"""Adds up what many sessions take under each policy: numbers only."""

from collections.abc import Callable
from typing import Any

import msgspec

from trimpoint.core.model.decision import Policy
from trimpoint.journal.codec.records import UnreadableRecord
from trimpoint.sessionlogs.opening import CannotRead
from trimpoint.sessionlogs.replay.policies import ASSUMPTIONS, Sums, policies_of, replayed
from trimpoint.sessionlogs.replay.story import Story

LONG_CALLS = 100
"""A session of so many calls is a long one, of which a group of its own is shown."""
LONG = f"{LONG_CALLS} calls and more"
ALL = "all"


class Group(msgspec.Struct):
    """Sessions, and what they take by policy. Of `reported` tokens, which the agents say that they
    have sent, `replayed` are those that doing nothing takes in the same sessions.
    """

    sessions: int = 0
    turns: int = 0
    without_usage: int = 0
    reported: int = 0
    replayed: int = 0
    policies: dict[str, Sums] = {}

    def add(self, story: Story, sums: dict[str, Sums]) -> None:
        """Adds a session."""
        self.sessions += 1
        self.turns += len(story.turns)
        if story.reported is None:
            self.without_usage += 1
        else:
            self.reported += story.reported
            self.replayed += sums["none"].sent
        for name, one in sums.items():
            self.policies.setdefault(name, Sums()).add(one)


class Report:
    """What sessions take: all, those of each agent, and long ones. `without_calls` and
    `unreadable` count those that were left out.
    """

    def __init__(self, policy: Policy) -> None:
        self._policies = policies_of(policy)
        self.groups: dict[str, Group] = {ALL: Group()}
        self.without_calls = self.unreadable = 0

    def add(self, agent: str, read: Callable[[], Story | None]) -> None:
        """Adds a session of an agent.

        :param read: reads it; it returns None if the session is not wanted.
        """
        try:
            story = read()
        except (CannotRead, OSError, RecursionError, UnreadableRecord):
            self.unreadable += 1
            return
        if story is None:
            return
        if story.calls:
            self._add(agent, story)
        else:
            self.without_calls += 1

    def _add(self, agent: str, story: Story) -> None:
        sums = {name: replayed(story, policy) for name, policy in self._policies.items()}
        names = (ALL, agent, *((LONG,) if len(story.calls) >= LONG_CALLS else ()))
        for name in names:
            self.groups.setdefault(name, Group()).add(story, sums)

    def document(self) -> dict[str, Any]:
        """Returns the numbers as JSON has them."""
        return {
            "groups": {name: _group(group) for name, group in self.groups.items()},
            "sessionsWithoutCalls": self.without_calls,
            "sessionsUnreadable": self.unreadable,
            "assumptions": list(ASSUMPTIONS),
        }


def _group(group: Group) -> dict[str, Any]:
    return {
        "sessions": group.sessions,
        "turns": group.turns,
        "sessionsWithoutUsage": group.without_usage,
        "reportedTokens": group.reported,
        "replayedTokens": group.replayed,
        "policies": {
            name: {
                "calls": one.calls,
                "sentTokens": one.sent,
                "cachedTokens": one.cached,
                "uncachedTokens": one.uncached,
                "price": round(one.price),
                "masks": one.masks,
                "compactions": one.compactions,
                "fullestPercent": round(one.fullest * 100, 1),
                "turnsThatAskedForMasked": one.asked_for,
                "turnsThatAskedForCompacted": one.gone,
            }
            for name, one in group.policies.items()
        },
    }
