"""`fleet/*`: the threads of other machines, for clients of this one (docs/fleet.md)."""

from typing import Protocol

from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import CommandOutcome
from trimpoint_protocol.shapes import fleet as f

from trimpoint.gateway.session.dispatch import Call, Handler
from trimpoint.gateway.session.errors import Refusal


class FleetView(Protocol):
    """The fleet as the person at this machine sees it.

    Each method raises `Refusal` where the hub cannot be reached, or does not allow it.
    """

    async def overview(self) -> f.FleetOverview:
        """Returns machines and threads."""
        ...

    async def events(self, params: f.FleetEventsParams) -> f.FleetEventsResult:
        """Returns the newest events of a thread."""
        ...

    async def execute(self, params: f.FleetExecuteParams) -> CommandOutcome:
        """Asks a machine to carry out a command, and waits for the outcome."""
        ...


class NoFleet:
    """The view of a daemon that belongs to no fleet."""

    async def overview(self) -> f.FleetOverview:
        """Returns an overview of nothing."""
        return f.FleetOverview(hosts=[], threads=[])

    async def events(self, params: f.FleetEventsParams) -> f.FleetEventsResult:
        """:raises Refusal: always."""
        raise no_fleet()

    async def execute(self, params: f.FleetExecuteParams) -> CommandOutcome:
        """:raises Refusal: always."""
        raise no_fleet()


def no_fleet() -> Refusal:
    """Returns the refusal of a daemon that shows no fleet."""
    hint = "Set servers and person_credentials in [fleet]; docs/fleet.md tells how."
    return Refusal(Reason.NOT_SUPPORTED, "This daemon shows no fleet.", hint)


class FleetMethods:
    """`table` maps method names to handlers."""

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
