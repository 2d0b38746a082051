"""Handles `fleet/*`: the threads of other machines, for clients of this daemon (docs/fleet.md)."""

from typing import Protocol

from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import CommandOutcome
from trimpoint_protocol.shapes import fleet as f

from trimpoint.gateway.session.requests.dispatch import Call, Handler
from trimpoint.gateway.session.requests.errors import Refusal


class FleetView(Protocol):
    """The fleet, as the person at this machine may see it.

    Each method raises `Refusal` when the hub cannot be reached, or does not permit the request.
    """

    async def overview(self) -> f.FleetOverview:
        """Returns the hosts of the fleet and their threads."""
        ...

    async def events(self, params: f.FleetEventsParams) -> f.FleetEventsResult:
        """Returns the newest events of a thread."""
        ...

    async def execute(self, params: f.FleetExecuteParams) -> CommandOutcome:
        """Sends a command to a host, and returns its outcome."""
        ...


class NoFleet:
    """The view of a daemon that belongs to no fleet."""

    async def overview(self) -> f.FleetOverview:
        """Returns an overview without hosts and threads."""
        return f.FleetOverview(hosts=[], threads=[])

    async def events(self, params: f.FleetEventsParams) -> f.FleetEventsResult:
        """Refuses the request.

        :raises Refusal: always.
        """
        raise no_fleet()

    async def execute(self, params: f.FleetExecuteParams) -> CommandOutcome:
        """Refuses the request.

        :raises Refusal: always.
        """
        raise no_fleet()


def no_fleet() -> Refusal:
    """Returns the refusal for a daemon without a configured fleet."""
    hint = "Set servers and person_credentials in [fleet]; docs/fleet.md tells how."
    return Refusal(Reason.NOT_SUPPORTED, "This daemon shows no fleet.", hint)


class FleetMethods:
    """Handles `fleet/*`. `table` maps method names to handlers."""

    def __init__(self, view: FleetView) -> None:
        self._view = view
        self.table: dict[str, Handler] = {
            "fleet/overview": self._overview,
            "fleet/events": self._events,
            "fleet/execute": self._execute,
        }

    async def _overview(self, call: Call, params: object) -> f.FleetOverview:
        return await self._view.overview()

    async def _events(self, call: Call, params: f.FleetEventsParams) -> f.FleetEventsResult:
        return await self._view.events(params)

    async def _execute(self, call: Call, params: f.FleetExecuteParams) -> CommandOutcome:
        return await self._view.execute(params)
