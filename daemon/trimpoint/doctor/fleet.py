"""Checks whether the fleet's hub can be reached, if a fleet is configured."""

from collections.abc import Iterator

from trimpoint import event_loop
from trimpoint.doctor.findings import Finding, Installation, fail, ok, warn
from trimpoint.extras import install_command

_GOES_ON = "The daemon works all the same; what the hub misses is sent when it is there."


def check(installation: Installation) -> Iterator[Finding]:
    """Yields whether the hub accepts a connection like the daemon's."""
    section = installation.config.fleet
    if not section.servers:
        yield ok("not configured")
        return
    try:
        # Few machines are part of a fleet, and nats is an extra.
        from trimpoint.fleet.hub.connection import CredentialsUnusable, connected
        from trimpoint.fleet.hub.errors import HubUnreachable
        from trimpoint.fleet.service import host_name, place_of, unencrypted
    except ImportError as error:
        yield fail(
            "missing package", f"needs {error.name}", f"Install it: {install_command('fleet')}"
        )
        return
    if servers := unencrypted(section):
        hint = "Write tls:// in the place of nats://, have the servers encrypt, or send less."
        yield warn(
            "perhaps not encrypted",
            f"conversations go to {', '.join(servers)}, which need not be encrypted",
            hint,
            notEncrypted=servers,
        )
    try:
        place = place_of(section, host_name(section), section.credentials)

        async def connect() -> None:
            async with connected(place):
                pass

        event_loop.run(connect)
    except CredentialsUnusable as error:
        yield fail(
            "unusable credentials",
            f"the daemon does not use its credentials: {error}",
            f"chmod 600 {error.path}",
        )
        return
    except (HubUnreachable, ValueError, OSError) as error:
        yield warn("unreachable", f"the hub cannot be reached: {error}", _GOES_ON)
        return
    yield ok(f"connected as {place.name}", servers=list(section.servers), content=section.content)
