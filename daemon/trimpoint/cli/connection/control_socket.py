"""The place where Codex's own programs look for a Codex that runs in the background: plain `codex`,
`codex archive`, `codex queue`.

The program that listens there serves them (measured: 0.163, 0.171). A live daemon is never
displaced, and what was made here is removed at the end.
"""

from collections.abc import Mapping
from pathlib import Path

from trimpoint_protocol.locations import codex_home

from trimpoint.gateway.transport.listeners import ListenError, SocketInUse, SocketPathTaken

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
    """Return where Codex's programs connect.

    :raises HomeUnknown: neither CODEX_HOME nor HOME says where.
    """
    named = Path(configured_home).expanduser() if configured_home else codex_home(environ)
    return named.absolute() / "app-server-control" / "app-server-control.sock"


def remove_dead_link(path: Path) -> None:
    """Remove a link to a socket that is gone: Codex's own server leaves one when it is killed."""
    if path.is_symlink() and not path.exists():
        path.unlink()


def explained(error: ListenError) -> tuple[str, str]:
    """Return what is wrong with the place, and what a person can do about it."""
    match error:
        case SocketInUse():
            return f"{error}", _IN_USE_HINT
        case SocketPathTaken():
            return f"{error}", _TAKEN_HINT
        case _:
            return f"{error}", f"{error.hint} Or leave --as-codex-daemon and control_socket out."
