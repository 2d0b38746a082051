"""The folder that a client works in: what it leaves out, or names by a relative path, is meant from
there.

Codex means its own folder, which is that of the client who has started it (measured: 0.163). Behind
a daemon the two part, and an agent must not be let loose in the daemon's folder because its client
named none.
"""

import os
from typing import Any, Final

import msgspec
from msgspec import Raw
from trimpoint_protocol import jsonrpc

#: Whose `cwd` is a path from Codex's own folder.
NAME_A_FOLDER: Final = frozenset(
    {
        "thread/start",
        "thread/resume",
        "thread/fork",
        "thread/settings/update",
        "turn/start",
        "command/exec",
    }
)
#: What goes to Codex's own folder when none is named, and by which member it would be.
DEFAULT_TO_ONE: Final[dict[str, str]] = {
    "thread/start": "cwd",
    "command/exec": "cwd",
    "skills/list": "cwds",
    "hooks/list": "cwds",
}


class _Named(msgspec.Struct):
    cwd: Any = None
    cwds: Any = None


def resolve_working_directory(request: jsonrpc.Request, folder: str | None) -> jsonrpc.Request:
    """Returns the request as Codex must get it when its client works in `folder` and Codex in this
    process's.

    Unchanged where they are the same or `folder` is not known, and where its parameters are wrong:
    Codex says so in its own words.
    """
    if request.method not in NAME_A_FOLDER and request.method not in DEFAULT_TO_ONE:
        return request
    if folder is None or _is_here(folder):
        return request
    try:
        named = msgspec.json.decode(request.params or b"{}", type=_Named)
    except msgspec.DecodeError:
        return request
    change = _change(request.method, named, folder)
    if not change:
        return request
    params = msgspec.json.decode(request.params or b"{}", type=dict[str, Raw])
    return msgspec.structs.replace(request, params=Raw(msgspec.json.encode({**params, **change})))


def _is_here(folder: str) -> bool:
    try:
        return os.getcwd() == folder
    except OSError:  # this process's folder was removed
        return False


def _change(method: str, named: _Named, folder: str) -> dict[str, Any]:
    if method in NAME_A_FOLDER and isinstance(named.cwd, str) and not os.path.isabs(named.cwd):
        return {"cwd": os.path.normpath(os.path.join(folder, named.cwd))}
    match DEFAULT_TO_ONE.get(method):
        case "cwd" if named.cwd is None:
            return {"cwd": folder}
        case "cwds" if not named.cwds:
            return {"cwds": [folder]}
        case _:
            return {}
