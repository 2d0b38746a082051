"""Shows the fleet to the daemon's own clients, as the person at this machine is allowed to see it.

Always true: requests use that person's credentials, because the daemon's own do not permit reading
other machines' threads. Each request opens a connection of its own.
"""

from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import NamedTuple

import anyio
import msgspec
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import CommandOutcome
from trimpoint_protocol.readmodel import EventEnvelope
from trimpoint_protocol.shapes import fleet as f

from trimpoint.config.sections import FLEET_NAME, FleetSection
from trimpoint.fleet.commands.asking import HostAway, ask, may_command, person_of
from trimpoint.fleet.commands.requests import FleetAnswer, FleetCommand
from trimpoint.fleet.hub.connection import Hub, connected
from trimpoint.fleet.hub.errors import HubFailed, HubUnreachable
from trimpoint.fleet.names import Names
from trimpoint.fleet.reading import ThreadOfHost, events_of, hosts, threads
from trimpoint.fleet.service import credentials_path, host_name, place_of
from trimpoint.gateway.methods.extension.fleet_methods import no_fleet
from trimpoint.gateway.session.requests.errors import Refusal

FRESH_S = 2.0
"""So long an overview is given to all who ask."""
DEADLINES_S = {"clear": 60.0, "compact": 600.0, "interrupt": 60.0}


class _Read(NamedTuple):
    at: float
    overview: f.FleetOverview


class PersonsView:
    """The fleet as the person sees it."""

    def __init__(self, section: FleetSection) -> None:
        self._section = section
        self._names = Names(section.tenant)
        self._reading = anyio.Lock()
        self._last: _Read | None = None

    async def overview(self) -> f.FleetOverview:
        """Returns the machines and their threads.

        :raises Refusal: when the hub cannot be reached, or does not permit it.
        """
        if not self._is_shown:
            return f.FleetOverview(hosts=[], threads=[])
        async with self._reading:
            if self._last is None or anyio.current_time() - self._last.at > FRESH_S:
                overview = await self._overview()
                self._last = _Read(anyio.current_time(), overview)
            return self._last.overview

    async def events(self, params: f.FleetEventsParams) -> f.FleetEventsResult:
        """Returns the newest events of a thread.

        :raises Refusal: when the hub cannot be reached, or does not permit it.
        """
        _check_host(params.host)
        kept, count = deque[EventEnvelope](maxlen=params.limit), 0
        async with self._hub() as (hub, _):
            async for event in events_of(hub, self._names, params.host, params.thread_id):
                kept.append(event)
                count += 1
        return f.FleetEventsResult(events=list(kept), earlier=count - len(kept))

    async def execute(self, params: f.FleetExecuteParams) -> CommandOutcome:
        """Sends a command to a machine and waits for the outcome.

        :raises Refusal: when, as far as is known, nothing was done.
        """
        _check_host(params.host)
        command = FleetCommand(
            params.thread_id, params.command_id, params.keep, params.guidance,
            DEADLINES_S[params.command],
        )  # fmt: skip
        self._last = None
        async with self._hub() as (hub, person):
            try:
                answer = await ask(hub, self._names, params.host, person, params.command, command)
            except HostAway as error:
                raise _away(error) from None
        return _outcome(params, answer)

    async def _overview(self) -> f.FleetOverview:
        async with self._hub() as (hub, person):
            there = await hosts(hub, self._names)
            found = await threads(hub, self._names)
        online = {host.host for host in there}
        return f.FleetOverview(
            host=host_name(self._section),
            person=person,
            may_command=may_command(credentials_path(self._section.person_credentials), person),
            hosts=there,
            threads=[_shown(one, is_online=one.host in online) for one in found],
        )

    @property
    def _is_shown(self) -> bool:
        """Returns whether the fleet is shown: not if only the daemon has credentials and the person
        has none.
        """
        section = self._section
        return section.person_credentials is not None or section.credentials is None

    @asynccontextmanager
    async def _hub(self) -> AsyncGenerator[tuple[Hub, str]]:
        """Yields a connection and the name of the person that it belongs to."""
        if not self._is_shown:
            raise no_fleet()
        credentials = self._section.person_credentials
        try:
            person = person_of(credentials_path(credentials))
            async with connected(place_of(self._section, person, credentials)) as hub:
                yield hub, person
        except (OSError, ValueError) as error:
            problem = f"person_credentials of [fleet] cannot be used: {error}."
            hint = "trimpoint config path names the file; the daemon reads it when it starts."
            raise Refusal(Reason.NOT_SUPPORTED, problem, hint) from None
        except HubUnreachable as error:
            problem = f"The hub cannot be reached: {error.detail}."
            raise Refusal(Reason.FLEET_UNREACHABLE, problem) from None
        except HubFailed as error:
            hint = "Check that your credentials allow it, then try again."
            problem = f"The hub did not carry out the request: {error.detail}."
            raise Refusal(Reason.FLEET_UNREACHABLE, problem, hint) from None


def _check_host(name: str) -> None:
    """Raises Refusal unless `name` is a valid host name, which is one token of a subject and no
    wildcard.
    """
    if not FLEET_NAME.fullmatch(name):
        raise Refusal(Reason.INVALID_PARAMS, f"{name!r} is not a valid machine name.")


def _shown(one: ThreadOfHost, *, is_online: bool) -> f.ThreadOnHost:
    return f.ThreadOnHost(host=one.host, online=is_online, **msgspec.structs.asdict(one.thread))


def _away(error: HostAway) -> Refusal:
    if error.is_known:
        problem = f"The machine {error.host} is offline; nothing was done."
        return Refusal(Reason.HOST_OFFLINE, problem, "Its threads can still be read.")
    problem = f"The machine {error.host} does not answer."
    return Refusal(Reason.HOST_OFFLINE, problem, "It may have the command all the same.")


def _outcome(params: f.FleetExecuteParams, answer: FleetAnswer) -> CommandOutcome:
    if answer.kind == "refused":
        known = set(map(str, Reason))
        reason = Reason(answer.reason) if answer.reason in known else Reason.INTERNAL
        raise Refusal(reason, answer.message, answer.hint)
    if answer.outcome is not None:
        return answer.outcome
    return CommandOutcome(
        handled=True, command=params.command, status="failed",
        reason=str(Reason.PROVIDER_TIMEOUT), message=answer.message,
    )  # fmt: skip
