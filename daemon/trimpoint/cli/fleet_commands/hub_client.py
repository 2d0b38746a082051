"""Connects a person to the servers of the fleet, and finds the thread that the command line
names.
"""

import argparse
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from trimpoint import event_loop
from trimpoint.cli.connection.settings import settings_of
from trimpoint.cli.exits import CliError, Exit, UsageError
from trimpoint.config.sections import FLEET_NAME
from trimpoint.extras import install_command

try:
    from trimpoint.fleet.commands.asking import person_of
    from trimpoint.fleet.hub.connection import Hub, Place, connected
    from trimpoint.fleet.hub.errors import HubFailed, HubUnreachable
    from trimpoint.fleet.names import Names, inbox_of
    from trimpoint.fleet.reading import ThreadOfHost, threads
except ImportError as error:
    raise CliError(
        f"The fleet needs packages that are not installed ({error.name}).",
        f"Install them with: {install_command('fleet')}",
        reason="not_installed",
    ) from error


class Person(NamedTuple):
    """The connection of a person to the fleet, with the person's name."""

    name: str
    names: Names
    hub: Hub


Action = Callable[[Person], Awaitable[int]]


def with_hub(arguments: argparse.Namespace, action: Action) -> int:
    """Runs `action` with a connection to the servers and returns its exit code.

    :raises CliError: when the servers cannot be reached, or refuse the credentials.
    """
    place, names = _place(arguments)
    return event_loop.run(partial(_run, place, names, action))


async def _run(place: Place, names: Names, action: Action) -> int:
    try:
        async with connected(place) as hub:
            return await action(Person(place.name, names, hub))
    except HubUnreachable as error:
        raise CliError(
            f"The hub cannot be reached: {error.detail}.",
            "See whether the server runs, and whether your credentials are still valid.",
            reason="hub_unreachable",
        ) from None
    except HubFailed as error:
        raise CliError(
            f"The hub did not carry out the request: {error.detail}.",
            "Check that your credentials allow it, then try again.",
            reason="hub_failed",
        ) from None


def _place(arguments: argparse.Namespace) -> tuple[Place, Names]:
    # The settings of a daemon that this command line does not have.
    bare = argparse.Namespace(**{"overrides": [], "http_listen": None, **vars(arguments)})
    section = settings_of(bare).config.fleet
    servers = tuple(arguments.server) or section.servers
    if not servers:
        raise UsageError(
            "No server of a fleet is configured.", "Set servers in [fleet], or give --server URL."
        )
    tenant = arguments.tenant or section.tenant
    if not FLEET_NAME.fullmatch(tenant):
        raise UsageError(f"{tenant!r} is not a valid tenant name.", "Use letters, digits, - and _.")
    named = arguments.credentials or section.person_credentials
    credentials = Path(named).expanduser() if named else None
    try:
        name = person_of(credentials)
    except (OSError, ValueError) as error:
        raise UsageError(f"The credentials cannot be used: {error}.") from None
    ca = Path(section.ca).expanduser() if section.ca else None
    place = Place(servers, credentials, inbox_of(name), name, ca, section.domain)
    return place, Names(tenant)


async def chosen_thread(person: Person, arguments: argparse.Namespace) -> ThreadOfHost:
    """Returns the thread that the command line names by its id, or by the beginning or end of its
    id.

    :raises CliError: when no thread or more than one matches.
    """
    found = [
        one
        for one in await threads(person.hub, person.names, arguments.host or "*")
        if one.thread.id.endswith(arguments.thread) or one.thread.id.startswith(arguments.thread)
    ]
    exact = [one for one in found if one.thread.id == arguments.thread]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if not found:
        raise CliError(
            f"The fleet has no thread {arguments.thread!r}.",
            "See trimpoint fleet threads.",
            reason="thread_not_found",
        )
    where = ", ".join(sorted(f"{one.thread.id} on {one.host}" for one in found[:4]))
    raise CliError(
        f"{arguments.thread!r} could be {where}.", "Give more of the id, or --host.",
        reason="ambiguous",
    )  # fmt: skip


def exit_for(status: str | None) -> Exit:
    """Returns the exit code for a command's outcome."""
    return {"completed": Exit.DONE, "skipped": Exit.SKIPPED}.get(status or "", Exit.FAILED)
