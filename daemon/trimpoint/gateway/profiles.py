"""The launch profiles that are running, each with its own Codex."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from trimpoint.codex.appserver.launch_requests import LaunchRequest
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.ids.handles import Handles
from trimpoint.gateway.session.own_questions import OwnQuestions
from trimpoint.gateway.session.server_requests import PendingServerRequests
from trimpoint.gateway.session.startup_notifications import StartupNotifications
from trimpoint.gateway.session.unused import Work


class ProfileParts(NamedTuple):
    """The objects that serve clients on behalf of one Codex."""

    handles: Handles
    server_requests: PendingServerRequests
    own_questions: OwnQuestions
    startup: StartupNotifications
    work: Work


class RunningProfile:
    """The objects of one Codex. `key` is empty for the daemon's own launch profile, which always
    runs.

    `request` is the profile's launch request. `owns(thread_id)` returns whether a thread belongs to
    this profile, and `is_sub_agent(thread_id)` whether a thread that is not ours belongs to a
    sub-agent of such a thread.
    """

    def __init__(
        self,
        key: str,
        request: LaunchRequest,
        link: CodexLink,
        parts: ProfileParts,
        owns: Callable[[str], bool],
        is_sub_agent: Callable[[str], bool],
    ) -> None:
        self.key = key
        self.request = request
        self.link = link
        self.handles, self.server_requests, self.own_questions, self.startup, self._work = parts
        self.owns = owns
        self.is_sub_agent = is_sub_agent
        self.requests = 0
        """How many requests of clients are being handled by this profile."""

    async def is_working(self) -> bool:
        """Returns whether a turn, an operation or a background terminal is running; see
        `Work.is_working`.
        """
        return await self._work.is_working()

    def has_unfinished_thread(self) -> bool:
        """Returns whether a turn or an operation is running, or anything is not durable."""
        return self._work.has_unfinished_thread()


class Totals(msgspec.Struct):
    """Counters over all launch profiles, those that have ended included."""

    starts: int = 0
    messages: int = 0
    size_bytes: int = 0


class RunningProfiles:
    """The running launch profiles, by key."""

    def __init__(self) -> None:
        self._running: dict[str, RunningProfile] = {}
        self._ended = Totals()

    def __iter__(self) -> Iterator[RunningProfile]:
        return iter(list(self._running.values()))

    def __len__(self) -> int:
        return len(self._running)

    @property
    def default(self) -> RunningProfile:
        """Returns the daemon's own launch profile."""
        return self._running[""]

    def add(self, profile: RunningProfile) -> None:
        """Adds a launch profile that is ready for requests."""
        self._running[profile.key] = profile

    def remove(self, profile: RunningProfile) -> None:
        """Removes a launch profile, which then gets no more requests, and keeps its counters."""
        del self._running[profile.key]
        self._ended = _added(self._ended, profile.link)

    def totals(self) -> Totals:
        """Returns the counters of all launch profiles, those that have ended included."""
        totals = self._ended
        for profile in self:
            totals = _added(totals, profile.link)
        return totals


def _added(totals: Totals, link: CodexLink) -> Totals:
    return Totals(
        totals.starts + link.epoch,
        totals.messages + link.traffic.messages,
        totals.size_bytes + link.traffic.size_bytes,
    )
