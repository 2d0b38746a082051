"""The default paths of the daemon's socket and state, and of Codex's home."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

__all__ = [
    "HomeUnknown",
    "codex_home",
    "codex_home_to_ask_for",
    "default_socket_path",
    "default_state_dir",
    "home",
    "home_or_root",
    "xdg_directory",
]


class HomeUnknown(Exception):
    """Raised when there is no home folder."""

    hint = "Set HOME, or name --state-dir and --socket (TRIMPOINT_STATE_DIR and TRIMPOINT_SOCKET)."

    def __str__(self) -> str:
        return f"HOME is not set, and the system knows no home of uid {os.getuid()}."


def default_state_dir(environ: Mapping[str, str]) -> Path:
    """Returns the default state directory.

    :raises HomeUnknown: when there is no home folder.
    """
    return xdg_directory(environ, "XDG_STATE_HOME", ".local/state") / "trimpoint"


def default_socket_path(environ: Mapping[str, str]) -> Path:
    """Returns the default path of the daemon's socket: in the runtime directory, or in the state
    directory if there is none.

    :raises HomeUnknown: when there is no home folder.
    """
    runtime = environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return Path(runtime) / "trimpoint" / "trimpoint.sock"
    return default_state_dir(environ) / "run" / "trimpoint.sock"


def home(environ: Mapping[str, str]) -> Path:
    """Returns the user's home folder.

    :raises HomeUnknown: when neither `HOME` nor the user database names one, as in a container with
        a foreign uid.
    """
    try:
        return Path(environ.get("HOME") or "~").expanduser()
    except RuntimeError:
        raise HomeUnknown from None


def home_or_root(environ: Mapping[str, str]) -> Path:
    """Returns the user's home folder, or `/` if there is none."""
    try:
        return home(environ)
    except HomeUnknown:
        return Path("/")


def codex_home(environ: Mapping[str, str]) -> Path:
    """Returns the Codex home of this environment: the folder of Codex's login and threads.

    :raises HomeUnknown: when neither `CODEX_HOME` nor a home folder is known.
    """
    named = environ.get("CODEX_HOME")
    return Path(named).absolute() if named else home(environ).absolute() / ".codex"


def codex_home_to_ask_for(environ: Mapping[str, str]) -> str | None:
    """Returns the Codex home of this environment for a Codex that another process starts; None if
    it is unknown.

    Codex creates its default home, but refuses a named one that does not exist. So the default home
    is created here.
    """
    try:
        place = codex_home(environ)
    except HomeUnknown:
        return None
    if not environ.get("CODEX_HOME"):
        with suppress(OSError):
            place.mkdir(exist_ok=True)
    return str(place)


def xdg_directory(environ: Mapping[str, str], variable: str, fallback: str) -> Path:
    """Returns the directory in the environment variable `variable`, or else `fallback` in the home
    folder.

    :raises HomeUnknown: when there is no home folder.
    """
    value = environ.get(variable, "")
    return Path(value) if os.path.isabs(value) else home(environ) / fallback
