"""Runs systemd's own tools for this user's units."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

_DEADLINE_S = 60.0


class SystemdUnavailable(Exception):
    """Raised when the user's service manager is missing or refused; `problem` has its own words."""

    def __init__(self, command: list[str], problem: str) -> None:
        super().__init__(command, problem)
        self.command = command
        self.problem = problem

    def __str__(self) -> str:
        return f"systemd: {self.problem.rstrip('.')}"


def systemctl(*words: str) -> str:
    """Runs `systemctl --user`, and returns its output.

    :raises SystemdUnavailable: when there is no systemd, or the command failed.
    """
    command = ["systemctl", "--user", *words]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_DEADLINE_S,
            check=False,
            env=manager_environment(os.environ),
        )
    except FileNotFoundError:
        raise SystemdUnavailable(command, "systemd is not installed") from None
    except subprocess.TimeoutExpired:
        raise SystemdUnavailable(command, f"no answer within {_DEADLINE_S:.0f} s") from None
    if done.returncode != 0:
        problem = done.stderr.strip().splitlines()
        raise SystemdUnavailable(command, problem[0] if problem else f"exit code {done.returncode}")
    return done.stdout


def properties(unit: str, *names: str) -> dict[str, str]:
    """Returns the properties of a unit, as systemd prints them.

    :raises SystemdUnavailable: see `systemctl`.
    """
    shown = systemctl("show", unit, f"--property={','.join(names)}")
    return {key: value for key, _, value in (line.partition("=") for line in shown.splitlines())}


def manager_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns `environ` with `XDG_RUNTIME_DIR` added if it is missing, as after a login with ssh or
    `su`. Without it, the service manager is not found.
    """
    usual = Path(f"/run/user/{os.geteuid()}")
    if environ.get("XDG_RUNTIME_DIR") or not usual.is_dir():
        return dict(environ)
    return {**environ, "XDG_RUNTIME_DIR": str(usual)}


def journalctl_command(unit: str, lines: int, *, follow: bool) -> list[str] | None:
    """Returns the command that shows the log of a user unit, or None if `journalctl` is not
    installed.
    """
    program = shutil.which("journalctl")
    if program is None:
        return None
    # Not `--user`: that finds nothing where journals are kept in memory only.
    command = [program, f"--user-unit={unit}", f"--lines={lines}", "--output=cat", "--no-pager"]
    return [*command, "--follow"] if follow else command


def is_running() -> bool:
    """Returns whether systemd runs this machine (sd_booted(3))."""
    return os.path.isdir("/run/systemd/system")
