"""The user units: written for this installation from the templates in `systemd/`, recognized, and
removed.

Always true: a file is replaced or removed only if it is exactly one that was written here. Its
first line has a checksum of the rest, so that units of other origin, and units that a person
changed, are left alone.
"""

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

from trimpoint_protocol.locations import home

from trimpoint.atomic_files import replace_file

SERVICE = "trimpoint.service"
SOCKET = "trimpoint.socket"
NAMES = (SOCKET, SERVICE)

Standing: TypeAlias = Literal["absent", "current", "outdated", "foreign"]
"""`current` and `outdated` units were written by trimpoint. A current one equals what would be
written now; an outdated one is of another version or has other options.
"""

# Variables that the daemon and Codex use, and that a service manager may lack. No secrets, because
# every user can read a unit.
CARRIED_VARIABLES = ("PATH", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")

_MARK = (
    "# Written by `trimpoint service install` ({}). Change it with `systemctl --user edit {}`, not "
    "here.\n"
)
_MARKED = re.compile(r"# Written by `trimpoint service install` \(([0-9a-f]{16})\)\. .*\n")
_READABLE = 0o644
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class UnitForeign(Exception):
    """Raised when a unit's file exists and was not written by trimpoint. The file is left as it
    is.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path} was not written by trimpoint, or was changed since"


class NotForUnits(Exception):
    """Raised when a text cannot be part of a unit file."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word

    def __str__(self) -> str:
        return f"{self.word!r} has control characters, and cannot be written into a unit"


def unit_folder(environ: Mapping[str, str]) -> Path:
    """Returns the folder of this user's own units.

    :raises HomeUnknown: when the user has no home folder.
    """
    configured = environ.get("XDG_CONFIG_HOME", "")
    base = Path(configured) if os.path.isabs(configured) else home(environ) / ".config"
    return base / "systemd" / "user"


def rendered(
    command: Sequence[str], socket: Path | None, environ: Mapping[str, str]
) -> dict[str, str]:
    """Returns the text of each unit, by its name.

    :param command: the daemon's whole command line, with the program as an absolute path.
    :param socket: the path where clients connect, or None for the default below the user's runtime
        folder.
    :param environ: the environment from which the `CARRIED_VARIABLES` are taken.
    :raises NotForUnits: when a word has control characters.
    """
    lines = [f"ExecStart={' '.join(_quoted(word).replace('$', '$$') for word in command)}"]
    carried = ((name, environ[name]) for name in CARRIED_VARIABLES if environ.get(name))
    lines += [f"Environment={_quoted(f'{name}={value}')}" for name, value in carried]
    service = _with_setting(_template(SERVICE), "ExecStart", "\n".join(lines))
    socket_unit = _template(SOCKET)
    if socket is not None:
        socket_unit = _with_setting(
            socket_unit, "ListenStream", f"ListenStream={_plain(str(socket))}"
        )
    return {SOCKET: _marked(SOCKET, socket_unit), SERVICE: _marked(SERVICE, service)}


def standing(path: Path, text: str) -> Standing:
    """Returns the state of the unit file at `path`, compared with `text`, the unit as it would be
    written now.
    """
    if not os.path.lexists(path):
        return "absent"
    found = (
        None
        if path.is_symlink() or not path.is_file()
        else path.read_text(encoding="utf-8", errors="replace")
    )
    if found is None or not _is_ours(found):
        return "foreign"
    return "current" if found == text else "outdated"


def install(folder: Path, units: Mapping[str, str]) -> list[Path]:
    """Writes the units that are missing or outdated.

    :returns: the files that were written.
    :raises UnitForeign: when a unit was not written by trimpoint; then nothing was written.
    :raises OSError: when the folder cannot be written.
    """
    stale = {
        folder / name: text
        for name, text in units.items()
        if standing(folder / name, text) != "current"
    }
    _refuse_foreign(stale)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in stale.items():
        replace_file(path, text.encode(), mode=_READABLE)
    return list(stale)


def check_ours(folder: Path) -> None:
    """Raises if a unit was not written by trimpoint, so that `uninstall` would refuse.

    :raises UnitForeign: when a unit was not written by trimpoint.
    """
    _refuse_foreign({folder / name: "" for name in NAMES})


def uninstall(folder: Path) -> list[Path]:
    """Removes the units.

    :returns: the files that were removed.
    :raises UnitForeign: when a unit was not written by trimpoint; then nothing was removed.
    """
    check_ours(folder)
    present = [folder / name for name in NAMES if standing(folder / name, "") != "absent"]
    for path in present:
        path.unlink()
    return present


def _refuse_foreign(wanted: Mapping[Path, str]) -> None:
    for path, text in wanted.items():
        if standing(path, text) == "foreign":
            raise UnitForeign(path)


def _template(name: str) -> str:
    return (files("trimpoint.service") / "systemd" / name).read_text(encoding="utf-8")


def _with_setting(unit: str, key: str, line: str) -> str:
    return re.sub(rf"^{key}=.*$", lambda _: line, unit, count=1, flags=re.MULTILINE)


def _marked(name: str, body: str) -> str:
    return _MARK.format(_checksum(body), name) + body


def _is_ours(text: str) -> bool:
    mark = _MARKED.match(text)
    return mark is not None and mark[1] == _checksum(text[mark.end() :])


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def _quoted(word: str) -> str:
    """Returns the word in systemd's syntax: quoted if necessary, with percent signs doubled."""
    plain = _plain(word)
    if re.fullmatch(r"[\w@%+=:,./-]+", plain):
        return plain
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _plain(word: str) -> str:
    if _CONTROL.search(word):
        raise NotForUnits(word)
    return word.replace("%", "%%")
