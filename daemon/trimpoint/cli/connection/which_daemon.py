"""Asks a daemon which one it is: its pid, and the state directory that it uses."""

from pathlib import Path

from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import ProfileChosen, ProfileParams, SidecarStatus

from trimpoint.cli.connection.client import Client, ConnectionLost, RemoteError, ask, connect
from trimpoint.cli.connection.profile import is_asked, use_profile
from trimpoint.cli.exits import CliError
from trimpoint.codex.appserver.launch_requests import is_same_path


async def keeps_state_in(place: Path, state_dir: Path) -> bool | None:
    """Returns whether the daemon at `place` uses the state directory `state_dir`; None if no daemon
    answers there or it does not report its directory.
    """
    try:
        async with connect(place) as client:
            return is_same_path((await identify(client, ProfileParams())).state_dir, state_dir)
    except (OSError, RemoteError, ConnectionLost):
        return None


async def identify(client: Client, profile: ProfileParams) -> ProfileChosen:
    """Selects `profile` at the daemon and returns the daemon's pid and state directory.

    :raises RemoteError: when the daemon refused the profile.
    :raises CliError: when the daemon is of an earlier version, which has no profiles.
    """
    try:
        return await use_profile(client, profile)
    except RemoteError as error:
        if error.reason != Reason.NOT_INITIALIZED:
            raise
    # It is of an earlier version, and has one Codex for all.
    if is_asked(profile):
        raise CliError(
            "The running daemon is an older version that has one Codex for all clients.",
            "Stop it with `trimpoint daemon shutdown`, then start this client again.",
            reason="daemon_too_old",
        )
    await client.initialize("trimpoint-stdio")
    status = await ask(client, SidecarStatus, "sidecar/status")
    return ProfileChosen(profile="", pid=status.pid, state_dir=status.state_dir)
