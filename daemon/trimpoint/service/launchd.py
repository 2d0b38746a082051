"""The daemon as an agent of macOS's launchd: a property list, and `launchctl`. Written to Apple's
manuals; it has not run on a Mac of ours yet.

Always true: as with systemd's units (`units`), only a list that was written here is replaced or
removed. A comment in it has a checksum of the rest.
"""

import hashlib
import os
import plistlib
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from trimpoint_protocol.locations import home

from trimpoint.atomic_files import replace_file
from trimpoint.service.units import CARRIED_VARIABLES, Standing, UnitForeign

LABEL = "trimpoint.daemon"
_MARKED = re.compile(r"<!-- Written by trimpoint \(([0-9a-f]{16})\)\. -->\n")
_DEADLINE_S = 60.0
_SETTLES_S = 20.0
_LOOK_AGAIN_S = 0.1
# Exit codes, as errno(2) has them on macOS. Of `bootout`: the agent is still ending; there is none.
_IN_PROGRESS, _NOT_LOADED = 36, 3
# Of `bootstrap`, also when the one before has not quite gone.
_TOO_EARLY = (5, 37)
_READABLE = 0o644
_STATE = re.compile(r"^\s*(state|pid|last exit code) = (.+)$", re.MULTILINE)


class LaunchdUnavailable(Exception):
    """Raised when `launchctl` is missing or refused; `problem` has its own words."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"launchd: {self.problem.rstrip('.')}"


class Loaded(NamedTuple):
    """What launchd knows of the agent. `domain` is where it is loaded: another one than `domain()`
    says, if it was installed over SSH and is asked for in a session with windows, or the reverse.
    """

    domain: str
    state: str
    pid: int | None
    last_exit: str | None


def agent_path(environ: Mapping[str, str]) -> Path:
    """Returns the file of this user's agent.

    :raises HomeUnknown: when the user has no home folder.
    """
    return home(environ) / "Library" / "LaunchAgents" / f"{LABEL}.plist"


def log_path(environ: Mapping[str, str]) -> Path:
    """Returns the file that the agent logs to."""
    return home(environ) / "Library" / "Logs" / "trimpoint.log"


def rendered(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """Returns the property list of the agent. It starts the daemon at login, and again when it
    failed, not when it was told to end.
    """
    log = str(log_path(environ))
    carried = {name: environ[name] for name in CARRIED_VARIABLES if environ.get(name)}
    body = plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(command),
            # launchd's own PATH has the system's folders alone.
            "EnvironmentVariables": carried,
            # Otherwise it is for sessions with windows alone.
            "LimitLoadToSessionType": "Background" if _is_remote(environ) else "Aqua",
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            # Others are slowed down while somebody waits for an answer.
            "ProcessType": "Interactive",
            "ExitTimeOut": 20,
            "SoftResourceLimits": {"NumberOfFiles": 4096},
            "StandardOutPath": log,
            "StandardErrorPath": log,
        },
        sort_keys=False,
    ).decode()
    mark = f"<!-- Written by trimpoint ({_checksum(body)}). -->\n"
    declaration, _, rest = body.partition("\n")
    return f"{declaration}\n{mark}{rest}"


def standing(path: Path, text: str) -> Standing:
    """Returns the state of the file, compared with `text`, the list as it would be written now."""
    if not os.path.lexists(path):
        return "absent"
    if path.is_symlink() or not path.is_file():
        return "foreign"
    found = path.read_text(encoding="utf-8", errors="replace")
    mark = _MARKED.search(found)
    if mark is None or mark[1] != _checksum(found[: mark.start()] + found[mark.end() :]):
        return "foreign"
    return "current" if found == text else "outdated"


def install(path: Path, text: str) -> bool:
    """Writes the list if it is missing or outdated; returns whether it did.

    :raises UnitForeign: when the file was not written by trimpoint.
    :raises OSError: when it cannot be written.
    """
    found = standing(path, text)
    if found == "foreign":
        raise UnitForeign(path)
    if found == "current":
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text.encode(), mode=_READABLE)
    return True


def uninstall(path: Path) -> bool:
    """Removes the list; returns whether there was one.

    :raises UnitForeign: when the file was not written by trimpoint.
    """
    found = standing(path, "")
    if found == "foreign":
        raise UnitForeign(path)
    path.unlink(missing_ok=True)
    return found != "absent"


def domain(environ: Mapping[str, str]) -> str:
    """Returns where launchd keeps the agent: in the session with windows, or over SSH in that of
    the user alone.
    """
    return _domains(environ)[0]


def load_command(path: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the words for `launchctl` that start the agent."""
    return ("bootstrap", domain(environ), str(path))


def unload_command(place: str) -> tuple[str, ...]:
    """Returns the words for `launchctl` that end the agent of a domain."""
    return ("bootout", f"{place}/{LABEL}")


def loaded(environ: Mapping[str, str]) -> Loaded | None:
    """Returns what launchd knows of the agent, or None if it is not loaded.

    :raises LaunchdUnavailable: when there is no launchd.
    """
    for place in _domains(environ):
        done = _launchctl("print", f"{place}/{LABEL}")
        if done.returncode == 0:
            facts = {name: value.strip() for name, value in reversed(_STATE.findall(done.stdout))}
            pid = facts.get("pid", "")
            return Loaded(
                place,
                facts.get("state", "unknown"),
                int(pid) if pid.isdecimal() else None,
                facts.get("last exit code"),
            )
    return None


def load(path: Path, environ: Mapping[str, str], *, again: bool = False) -> None:
    """Has launchd start the agent, which must not be loaded.

    :param again: whether it was unloaded just now; launchd may then refuse it for some seconds.
    :raises LaunchdUnavailable: when it is missing or refused.
    """
    give_up_at = time.monotonic() + (_SETTLES_S if again else 0)
    while True:
        done = _launchctl(*load_command(path, environ))
        if done.returncode not in _TOO_EARLY or time.monotonic() > give_up_at:
            return _check(done)
        time.sleep(_LOOK_AGAIN_S)


def unload(place: str) -> None:
    """Ends the agent of a domain, and waits until launchd has forgotten it: before that, it could
    not be loaded again.

    :raises LaunchdUnavailable: when launchd is missing or refused, or the agent does not end.
    """
    done = _launchctl(*unload_command(place))
    if done.returncode not in (_IN_PROGRESS, _NOT_LOADED):
        _check(done)
    give_up_at = time.monotonic() + _DEADLINE_S
    while _launchctl("print", f"{place}/{LABEL}").returncode == 0:
        if time.monotonic() > give_up_at:
            raise LaunchdUnavailable(f"the agent has not ended within {_DEADLINE_S:.0f} s")
        time.sleep(_LOOK_AGAIN_S)


def _check(done: "subprocess.CompletedProcess[str]") -> None:
    if done.returncode != 0:
        problem = (done.stderr or done.stdout).strip().splitlines()
        raise LaunchdUnavailable(problem[0] if problem else f"exit code {done.returncode}")


def _domains(environ: Mapping[str, str]) -> list[str]:
    """Returns the domains where the agent may be, that of this session first."""
    kinds = ("user", "gui") if _is_remote(environ) else ("gui", "user")
    return [f"{kind}/{os.geteuid()}" for kind in kinds]


def _is_remote(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("SSH_CONNECTION"))


def _launchctl(*words: str) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            ["launchctl", *words],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_DEADLINE_S,
            check=False,
        )
    except FileNotFoundError:
        raise LaunchdUnavailable("launchctl is not installed") from None
    except subprocess.TimeoutExpired:
        raise LaunchdUnavailable(f"no answer within {_DEADLINE_S:.0f} s") from None


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:16]
