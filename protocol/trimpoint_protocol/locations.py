"""Where the daemon listens and keeps its state, unless it is told otherwise."""

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["HomeUnknown", "default_socket_path", "default_state_dir", "home", "xdg_directory"]


class HomeUnknown(Exception):
    """There is no home folder to keep anything in."""

    hint = "Set HOME, or name --state-dir and --socket (TRIMPOINT_STATE_DIR and TRIMPOINT_SOCKET)."

    def __str__(self) -> str:
        return f"HOME is not set, and the system knows no home of uid {os.getuid()}."


def default_state_dir(environ: Mapping[str, str]) -> Path:
    """Returns where journals live unless configured.

    :raises HomeUnknown: there is no home folder.
    """
    return xdg_directory(environ, "XDG_STATE_HOME", ".local/state") / "trimpoint"


def default_socket_path(environ: Mapping[str, str]) -> Path:
    """Returns where the daemon listens unless configured.

    That is beside the journals where there is no runtime directory.

    :raises HomeUnknown: there is no home folder.
    """
    runtime = environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return Path(runtime) / "trimpoint" / "trimpoint.sock"
    return default_state_dir(environ) / "run" / "trimpoint.sock"


def home(environ: Mapping[str, str]) -> Path:
    """Returns the user's home folder.

    :raises HomeUnknown: neither `HOME` nor the list of users names one, as in a container with a
        foreign uid.
    """
    try:
        return Path(environ.get("HOME") or "~").expanduser()
    except RuntimeError:
        raise HomeUnknown from None


def xdg_directory(environ: Mapping[str, str], variable: str, fallback: str) -> Path:
    """Returns the directory that `variable` names; `fallback` in the home folder if it names none.

    :raises HomeUnknown: there is no home folder.
    """
    value = environ.get(variable, "")
    return Path(value) if os.path.isabs(value) else home(environ) / fallback
