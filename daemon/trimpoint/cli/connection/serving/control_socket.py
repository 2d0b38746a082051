"""The control socket: the path where Codex's own programs (plain `codex`, `codex archive`, `codex
queue`) look for a Codex that runs in the background.

They use whatever program listens there (measured: 0.163, 0.171). A daemon that is running there is
never replaced, and a socket that trimpoint made is removed when it stops.
"""

from collections.abc import Mapping
from pathlib import Path

from trimpoint_protocol.locations import codex_home

from trimpoint.transport.listeners import ListenError, SocketInUse, SocketPathTaken

_IN_USE_HINT = (
    "Codex's own background server runs there. End it with `codex app-server daemon stop`, which "
    "ends what its agents do, "
    "and start this again; or continue without plain `codex`, by leaving --as-codex-daemon and "
    "control_socket out."
)
_TAKEN_HINT = (
    "Codex's own background server left it: `codex app-server daemon stop`, then remove it if it "
    "is still there."
)


def control_socket_path(environ: Mapping[str, str], configured_home: str | None = None) -> Path:
    """Returns the path of the control socket: in `configured_home`, or else in the Codex home of
    the environment.

    :raises HomeUnknown: when neither CODEX_HOME nor HOME is set.
    """
    named = Path(configured_home).expanduser() if configured_home else codex_home(environ)
    return named.absolute() / "app-server-control" / "app-server-control.sock"


def remove_dead_link(path: Path) -> None:
    """Removes a symbolic link to a socket that no longer exists. Codex's own server leaves one when
    it is killed.
    """
    if path.is_symlink() and not path.exists():
        path.unlink()


def explained(error: ListenError) -> tuple[str, str]:
    """Returns what is wrong with the control socket, and what a person can do about it."""
    match error:
        case SocketInUse():
            return f"{error}", _IN_USE_HINT
        case SocketPathTaken():
            return f"{error}", _TAKEN_HINT
        case _:
            return f"{error}", f"{error.hint} Or leave --as-codex-daemon and control_socket out."
