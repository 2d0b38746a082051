"""A client's launch request, and the launch profile that it results in.

A thread keeps the launch request of the client that began it in its journal. Requests that result
in the same launch profile share a child.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from trimpoint_protocol.locations import home_or_root

from trimpoint.codex.appserver.launch import LaunchProfile, child_environment

_HOME_VARIABLE = "CODEX_HOME"


class LaunchRequest(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A client's wishes for its Codex beyond the daemon's configuration.

    `overrides` are Codex's `key=value` pairs, as for `-c`; they follow the daemon's own, and so
    take precedence. Paths are absolute. Whatever is not set is as configured.
    """

    overrides: tuple[str, ...] = ()
    codex: str | None = None
    codex_home: str | None = None

    def encode(self) -> bytes:
        """Returns the request as JSON for journals; empty if nothing is requested."""
        return b"" if self == LaunchRequest() else msgspec.json.encode(self)


def decode_launch_request(stored: bytes) -> LaunchRequest:
    """Returns the launch request for the bytes that `encode` made."""
    return msgspec.json.decode(stored, type=LaunchRequest) if stored else LaunchRequest()


def resolve_launch(
    default: LaunchProfile, request: LaunchRequest, inherited: Mapping[str, str]
) -> LaunchProfile:
    """Returns the launch profile for a request, or a profile equal to `default` if the request
    changes nothing.

    :param inherited: the daemon's own environment.
    """
    asked_codex, asked_home = request.codex, request.codex_home
    codex, home, environment = default.codex, default.codex_home, default.environment
    if asked_codex is not None and not is_same_path(asked_codex, codex):
        codex = Path(asked_codex)
    if asked_home is not None and not is_same_path(asked_home, codex_home(default, inherited)):
        home = Path(asked_home)
        environment = tuple(pair for pair in environment if pair[0] != _HOME_VARIABLE)
    overrides = (*default.overrides, *_own(default.overrides, request.overrides))
    return LaunchProfile(codex, overrides, home, environment, default.cwd)


def codex_home(profile: LaunchProfile, inherited: Mapping[str, str]) -> Path:
    """Returns the folder in which a child of the profile keeps its threads."""
    environment = child_environment(profile, inherited)
    named = environment.get(_HOME_VARIABLE)
    return Path(named) if named else home_or_root(environment) / ".codex"


def _own(default: Sequence[str], asked: Sequence[str]) -> list[str]:
    """Returns the requested overrides that are not in effect already."""
    own: list[str] = []
    for override in asked:
        if any(_overlap(override, other) for other in own) or not _holds(default, override):
            own.append(override)
    return own


def _holds(overrides: Sequence[str], wanted: str) -> bool:
    """Returns whether the last of the overrides for this key equals `wanted`."""
    last = next((one for one in reversed(overrides) if _overlap(one, wanted)), None)
    return last == wanted


def _overlap(one: str, other: str) -> bool:
    """Returns whether two overrides set the same key, or one sets a part of the other's."""
    keys = [text.partition("=")[0].strip() for text in (one, other)]
    short, long = sorted(keys, key=len)
    return long == short or long.startswith(f"{short}.")


def is_same_path(one: str | Path, other: str | Path) -> bool:
    """Returns whether two paths lead to the same file or folder."""
    return os.path.realpath(one) == os.path.realpath(other)
