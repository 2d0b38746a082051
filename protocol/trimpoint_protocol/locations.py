"""Where the daemon listens and keeps its state by default."""

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


def home_or_root(environ: Mapping[str, str]) -> Path:
    """Returns the user's home folder; the root for a uid that has none, as in a container."""
    try:
        return home(environ)
    except HomeUnknown:
        return Path("/")


def codex_home(environ: Mapping[str, str]) -> Path:
    """Returns where a Codex that is started in this environment keeps its login and its threads.

    :raises HomeUnknown: neither `CODEX_HOME` nor a home folder says so.
    """
    named = environ.get("CODEX_HOME")
    return Path(named).absolute() if named else home(environ).absolute() / ".codex"


def codex_home_to_ask_for(environ: Mapping[str, str]) -> str | None:
    """Returns the same for a Codex that another process starts; None if nothing says where it is.

    Codex makes its usual home, and refuses a named one that is not there. So the usual one is made
    here.
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
    """Returns the directory that `variable` names; `fallback` in the home folder if it names none.

    :raises HomeUnknown: there is no home folder.
    """
    value = environ.get(variable, "")
    return Path(value) if os.path.isabs(value) else home(environ) / fallback
