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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from trimpoint_protocol.locations import home

from trimpoint.atomic_files import replace_file
from trimpoint.service.units import CARRIED_VARIABLES, Standing, UnitForeign

LABEL = "trimpoint.daemon"
_MARKED = re.compile(r"<!-- Written by trimpoint \(([0-9a-f]{16})\)\. -->\n")
_DEADLINE_S = 60.0
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
    """What launchd knows of the agent."""

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
    kind = "user" if environ.get("SSH_CONNECTION") else "gui"
    return f"{kind}/{os.geteuid()}"


def load_commands(path: Path, environ: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Returns the words for `launchctl` that start the agent; what is loaded already would be
    refused.
    """
    place = domain(environ)
    return [("bootout", f"{place}/{LABEL}"), ("bootstrap", place, str(path))]


def unload_command(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the words for `launchctl` that end the agent."""
    return ("bootout", f"{domain(environ)}/{LABEL}")


def loaded(environ: Mapping[str, str]) -> Loaded | None:
    """Returns what launchd knows of the agent, or None if it is not loaded.

    :raises LaunchdUnavailable: when there is no launchd.
    """
    done = _launchctl("print", f"{domain(environ)}/{LABEL}")
    if done.returncode != 0:
        return None
    facts = {name: value.strip() for name, value in reversed(_STATE.findall(done.stdout))}
    pid = facts.get("pid", "")
    return Loaded(
        facts.get("state", "unknown"),
        int(pid) if pid.isdecimal() else None,
        facts.get("last exit code"),
    )


def launchctl(*words: str) -> None:
    """Runs `launchctl`.

    :raises LaunchdUnavailable: when it is missing or refused.
    """
    done = _launchctl(*words)
    if done.returncode != 0:
        problem = (done.stderr or done.stdout).strip().splitlines()
        raise LaunchdUnavailable(problem[0] if problem else f"exit code {done.returncode}")


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
