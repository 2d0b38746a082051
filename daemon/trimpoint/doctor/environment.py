"""Checks the daemon's environment: the user, git, file descriptors and systemd, and whether the
journals can be read.
"""

import os
import pwd
import re
import resource
import subprocess
from collections import Counter
from collections.abc import Iterator
from typing import Any

from trimpoint_protocol.locations import HomeUnknown

from trimpoint.core.model.decision import counted
from trimpoint.doctor.findings import Finding, Installation, fail, ok, warn
from trimpoint.git.plumbing.repository import MINIMUM_VERSION
from trimpoint.journal.port import Damage
from trimpoint.journal.storage.inspection import inspect
from trimpoint.programs import find_program
from trimpoint.service import launchd, units
from trimpoint.system import SYSTEM

_GIT_DEADLINE_S = 10.0


def check_user(installation: Installation) -> Iterator[Finding]:
    """Yields the user that the daemon and its agents run as."""
    del installation
    uid = os.geteuid()
    if uid == 0:
        hint = "Run trimpoint as an ordinary user, unless this is a container of its own."
        yield warn("root", "you are root, and so is every command of the agent", hint, uid=uid)
    else:
        yield ok(f"{_user_name()}, uid {uid}", uid=uid)


def check_git(installation: Installation) -> Iterator[Finding]:
    """Yields whether git is recent enough for checkpoints."""
    del installation
    found_git = find_program("git")
    if found_git is None:
        yield warn(
            "not installed",
            "git is not installed, so there are no checkpoints",
            "Install git, or put it in the daemon's PATH.",
        )
        return
    path = str(found_git)
    try:
        done = subprocess.run(
            [path, "version"], capture_output=True, text=True, timeout=_GIT_DEADLINE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        yield warn(
            "does not run",
            f"{path} does not run, so there are no checkpoints",
            "Reinstall git.",
            path=path,
        )
        return
    found = re.search(r"(\d+)\.(\d+)", done.stdout)
    version, wanted = done.stdout.strip(), ".".join(map(str, MINIMUM_VERSION))
    if found is None or (int(found[1]), int(found[2])) < MINIMUM_VERSION:
        yield warn(
            "too old",
            f"{version or path}: too old, so there are no checkpoints",
            f"Install git {wanted} or newer.",
            path=path,
            version=version,
        )
    else:
        yield ok(f"{version}, {path}", path=path, version=version)


def check_journals(installation: Installation) -> Iterator[Finding]:
    """Yields how many journals are whole, after reading each of them. One with damage in the
    middle, or from a newer version, can only be read.
    """
    paths = sorted((installation.state_dir / "threads").glob("*.journal"))
    kinds = Counter(inspect(path).report.damage for path in paths)
    torn, whole = kinds.pop(Damage.TORN_TAIL, 0), kinds.pop(Damage.NONE, 0)
    facts = {"threads": len(paths), "readOnly": kinds.total(), "torn": torn, "whole": whole}
    if kinds:
        what = ", ".join(
            f"{count} {kind.name.lower().replace('_', ' ')}"
            for kind, count in sorted(kinds.items())
        )
        hint = (
            "Those threads are read-only; all others work. Keep the files: nothing in them is "
            "thrown away."
        )
        yield warn(
            "threads that cannot be continued",
            f"{counted(kinds.total(), 'thread')} of {len(paths)} cannot be continued ({what})",
            hint,
            **facts,
        )
    elif torn:
        yield ok(
            f"{counted(len(paths), 'thread')}; {torn} with a torn end, which is cut off and kept "
            "when the thread is opened",
            **facts,
        )
    else:
        yield ok(f"{counted(len(paths), 'thread', 'no')}{', all whole' if paths else ''}", **facts)


def check_descriptors(installation: Installation) -> Iterator[Finding]:
    """Yields whether enough file descriptors are allowed for `max_clients` clients."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = installation.config.limits.descriptors
    if hard != resource.RLIM_INFINITY and hard < wanted:
        hint = f"Raise it (ulimit -Hn {wanted})."
        yield warn(
            "too few open files",
            f"at most {hard} open files, which is too few for "
            f"{installation.config.limits.max_clients} clients",
            hint,
            hard=hard,
        )
    else:
        yield ok(
            f"enough open files for {installation.config.limits.max_clients} clients", hard=hard
        )


def check_service(installation: Installation) -> Iterator[Finding]:
    """Yields whether this user's systemd units, or launchd's agent, are installed."""
    if SYSTEM.service_manager == "launchd":
        yield from _agent(installation)
        return
    try:
        folder = units.unit_folder(installation.environ)
    except HomeUnknown:
        yield ok("no home folder to keep units in")
        return
    standings = {name: units.standing(folder / name, "") for name in units.NAMES}
    facts: dict[str, Any] = {"folder": str(folder), "units": standings}
    if set(standings.values()) == {"absent"}:
        yield Finding(
            "ok",
            "not installed",
            "To have systemd start the daemon: trimpoint daemon service install",
            facts,
        )
    elif "absent" in standings.values():
        yield fail(
            "half installed",
            "only one of the two units is there",
            "Reinstall it: trimpoint daemon service install",
            **facts,
        )
    elif "foreign" in standings.values():
        yield ok(f"units that trimpoint did not write, in {folder}", **facts)
    else:
        yield _installed(facts)


def _agent(installation: Installation) -> Iterator[Finding]:
    try:
        path = launchd.agent_path(installation.environ)
    except HomeUnknown:
        yield ok("no home folder to keep an agent in")
        return
    standing = launchd.standing(path, "")
    facts: dict[str, Any] = {"file": str(path), "standing": standing}
    if standing == "absent":
        hint = "To have launchd start the daemon: trimpoint daemon service install"
        yield Finding("ok", "not installed", hint, facts)
    elif standing == "foreign":
        yield ok(f"an agent that trimpoint did not write: {path}", **facts)
    else:
        yield ok("installed; it starts when you log in", **facts)


def _installed(facts: dict[str, Any]) -> Finding:
    linger = os.path.exists(f"/var/lib/systemd/linger/{_user_name()}")
    until = (
        "stays when you log out"
        if linger
        else 'ends when you log out (`loginctl enable-linger "$USER"` changes that)'
    )
    return ok(f"installed; {until}", **facts, linger=linger)


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
