"""Resolves the paths of a request against the client's working directory.

Codex resolves relative and omitted paths against its own working directory, which is that of the
client that started it (measured: 0.163). With a daemon in between the two differ, and an agent must
not work in the daemon's directory because its client named none.
"""

import os
from typing import Any, Final

import msgspec
from msgspec import Raw
from trimpoint_protocol import jsonrpc

#: Methods whose relative `cwd` Codex resolves against its own working directory.
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
#: Methods that use Codex's own working directory if none is given, and the member that gives one.
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
    """Returns the request with its relative or omitted working directory resolved against `folder`,
    the client's working directory.

    Returns the request unchanged if `folder` is None or the daemon's own, and if the parameters are
    invalid, because Codex then answers with its own error.
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
