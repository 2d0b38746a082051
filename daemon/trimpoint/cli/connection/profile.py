"""The Codex configuration that a client asks for: its flags, and the folder where its Codex keeps
threads.

The request always names a home, `CODEX_HOME` or the client's own `~/.codex`, because the result
must not depend on who started the daemon.
"""

import argparse
from collections.abc import Mapping
from typing import Any

import msgspec
import orjson
from trimpoint_protocol.jsonrpc.framing import AutoFramer, Frame
from trimpoint_protocol.locations import codex_home_to_ask_for
from trimpoint_protocol.methods import USE_PROFILE, ProfileChosen, ProfileParams

from trimpoint.cli.connection.client import Client, ConnectionLost, RemoteError
from trimpoint.cli.connection.relay import read_some, write_all
from trimpoint.cli.connection.settings import codex_binary
from trimpoint.streams.ends import StreamEnd

_REQUEST_ID = "trimpoint-profile"
_MAX_ANSWER_BYTES = 1024 * 1024


def profile_of(arguments: argparse.Namespace, environ: Mapping[str, str]) -> ProfileParams:
    """Returns the profile that the flags and the environment ask for.

    :raises CliError: when the Codex of `--codex` does not exist.
    """
    return ProfileParams(
        overrides=list(getattr(arguments, "overrides", ())),
        codex=str(codex_binary(arguments)) if getattr(arguments, "codex", None) else None,
        codex_home=codex_home_to_ask_for(environ),
    )


def is_asked(profile: ProfileParams) -> bool:
    """Returns whether `profile` differs from the empty one."""
    return profile != ProfileParams()


async def use_profile(client: Client, profile: ProfileParams) -> ProfileChosen:
    """Selects the profile for a client that is not initialized yet, and returns the daemon's
    answer.

    :raises RemoteError: when the daemon refused it, or is too old to have profiles.
    """
    answer = await client.request(USE_PROFILE, **_members(profile))
    return msgspec.convert(answer, ProfileChosen)


async def announce_profile(daemon: StreamEnd, profile: ProfileParams, first: bytes) -> None:
    """Selects the profile as `use_profile` does, but on the client's own connection, in the framing
    that its first bytes `first` use. `first` is not sent.

    :raises RemoteError: when the daemon refused the profile.
    :raises ConnectionLost: when the daemon closed the connection.
    """
    client_side, daemon_side = AutoFramer(_MAX_ANSWER_BYTES), AutoFramer(_MAX_ANSWER_BYTES)
    client_side.feed(first[:_MAX_ANSWER_BYTES])
    request = {"id": _REQUEST_ID, "method": USE_PROFILE, "params": _members(profile)}
    await write_all(daemon, client_side.encode(orjson.dumps(request)))
    frames: list[Frame] = []
    while not frames:
        data = await read_some(daemon)
        if not data:
            raise ConnectionLost
        frames = daemon_side.feed(data)
    answer: dict[str, Any] = orjson.loads(frames[0]) if isinstance(frames[0], bytes) else {}
    error: dict[str, Any] | None = answer.get("error")
    if error is not None:
        raise RemoteError(error.get("code", 0), error.get("message", ""), error.get("data"))


def _members(profile: ProfileParams) -> dict[str, Any]:
    members: dict[str, Any] = msgspec.to_builtins(profile)
    return {name: value for name, value in members.items() if value}
