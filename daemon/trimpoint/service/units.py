"""The user units on disk: made for this installation from those in `systemd/`, written, recognised,
removed.

Always true: a file is replaced or removed only if it is, to the byte, one that was written here.
Its first line says so and holds a checksum of the rest, so that a unit of a person or a
distribution, or one of ours that a person changed, is left alone.
"""

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

from trimpoint_protocol.locations import home

SERVICE = "trimpoint.service"
SOCKET = "trimpoint.socket"
NAMES = (SOCKET, SERVICE)

Standing: TypeAlias = Literal["absent", "current", "outdated", "foreign"]
"""`current` and `outdated` are ours: as it would be written now, or as another version or with
other options.
"""

# What the daemon and Codex go by and a service manager started elsewhere may lack. No secrets: a
# unit can be read by every user.
CARRIED_VARIABLES = ("PATH", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")

_MARK = (
    "# Written by `trimpoint service install` ({}). Change it with `systemctl --user edit {}`, not "
    "here.\n"
)
_MARKED = re.compile(r"# Written by `trimpoint service install` \(([0-9a-f]{16})\)\. .*\n")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class UnitForeign(Exception):
    """A file that trimpoint did not write stands in a unit's place; it was left as it is."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path} was not written by trimpoint, or was changed since"


class NotForUnits(Exception):
    """The text cannot be part of a unit file."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word

    def __str__(self) -> str:
        return f"{self.word!r} has control characters, and cannot be written into a unit"


def unit_folder(environ: Mapping[str, str]) -> Path:
    """Returns where a user's own units are.

    :raises HomeUnknown: there is no home folder to look in.
    """
    configured = environ.get("XDG_CONFIG_HOME", "")
    base = Path(configured) if os.path.isabs(configured) else home(environ) / ".config"
    return base / "systemd" / "user"


def rendered(
    command: Sequence[str], socket: Path | None, environ: Mapping[str, str]
) -> dict[str, str]:
    """Returns the text of each unit.

    :param command: the whole command line of the daemon, its program as an absolute path
    :param socket: where clients connect; None for the place below the user's runtime folder
    :param environ: the `CARRIED_VARIABLES` are taken from it
    :raises NotForUnits: a word has control characters.
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
    """Returns what is at `path`, compared with `text`, which would be written now."""
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
    """Writes what is not there as it should be; either all of it or nothing.

    :returns: the files that were written
    :raises UnitForeign: one of them is not ours; nothing was written.
    :raises OSError: the folder cannot be written to.
    """
    stale = {
        folder / name: text
        for name, text in units.items()
        if standing(folder / name, text) != "current"
    }
    _refuse_foreign(stale)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in stale.items():
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)
    return list(stale)


def check_ours(folder: Path) -> None:
    """Returns whether everything of ours could be removed.

    :raises UnitForeign: one of them is not ours.
    """
    _refuse_foreign({folder / name: "" for name in NAMES})


def uninstall(folder: Path) -> list[Path]:
    """Removes our units.

    :returns: the files that were removed
    :raises UnitForeign: one of them is not ours; nothing was removed.
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
    """Returns the word as systemd reads it: quoted if need be, a percent sign doubled."""
    plain = _plain(word)
    if re.fullmatch(r"[\w@%+=:,./-]+", plain):
        return plain
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _plain(word: str) -> str:
    if _CONTROL.search(word):
        raise NotForUnits(word)
    return word.replace("%", "%%")
