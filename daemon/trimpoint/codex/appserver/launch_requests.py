"""What a client asks of its Codex beyond what the daemon is configured with, and the launch that
comes of it.

A thread keeps the request of the client that began it, in its journal. Requests that come to the
same launch share a child.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from trimpoint_protocol.locations import home_or_root

from trimpoint.codex.appserver.launch import LaunchProfile, child_environment

_HOME_VARIABLE = "CODEX_HOME"


class LaunchRequest(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`overrides` are Codex's `key=value`, each as for `-c`; they come after the daemon's own, and
    so win. Paths are absolute. What is not set is as the daemon is configured.
    """

    overrides: tuple[str, ...] = ()
    codex: str | None = None
    codex_home: str | None = None

    def encode(self) -> bytes:
        """Returns the request as journals keep it; empty when nothing is asked for."""
        return b"" if self == LaunchRequest() else msgspec.json.encode(self)


def decode_launch_request(stored: bytes) -> LaunchRequest:
    """Returns the request behind what a journal keeps."""
    return msgspec.json.decode(stored, type=LaunchRequest) if stored else LaunchRequest()


def resolve_launch(
    default: LaunchProfile, request: LaunchRequest, inherited: Mapping[str, str]
) -> LaunchProfile:
    """Returns how the child for a request is launched; `default` where that comes to the same.

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
    """Returns where a child of the profile keeps its threads."""
    environment = child_environment(profile, inherited)
    named = environment.get(_HOME_VARIABLE)
    return Path(named) if named else home_or_root(environment) / ".codex"


def _own(default: Sequence[str], asked: Sequence[str]) -> list[str]:
    """Returns the requested overrides that are not in force by default."""
    own: list[str] = []
    for override in asked:
        if any(_overlap(override, other) for other in own) or not _holds(default, override):
            own.append(override)
    return own


def _holds(overrides: Sequence[str], wanted: str) -> bool:
    """Returns whether the last word on the key is this very override."""
    last = next((one for one in reversed(overrides) if _overlap(one, wanted)), None)
    return last == wanted


def _overlap(one: str, other: str) -> bool:
    """Returns whether two overrides set the same value, or one a part of the other's."""
    keys = [text.partition("=")[0].strip() for text in (one, other)]
    short, long = sorted(keys, key=len)
    return long == short or long.startswith(f"{short}.")


def is_same_path(one: str | Path, other: str | Path) -> bool:
    """Returns whether two paths lead to the same place."""
    return os.path.realpath(one) == os.path.realpath(other)
