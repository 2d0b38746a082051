"""Builds the command line and the environment of a Codex child."""

import hashlib
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import msgspec

from trimpoint.system import SYSTEM

# What systemd gives to a service alone (systemd.exec(5), sd_notify(3), sd_listen_fds(3)). A child
# that inherits it could report the daemon as ready or stopping, find the credentials of its unit,
# or write into the journal as the unit.
SERVICE_VARIABLES = frozenset(
    {
        "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_PIDFDID",
        "LISTEN_FDS", "LISTEN_FDNAMES", "FDSTORE", "MAINPID", "MAINPIDFDID", "PIDFILE",
        "MANAGERPID", "MANAGERPIDFDID", "SYSTEMD_EXEC_PID", "INVOCATION_ID", "JOURNAL_STREAM",
        "CREDENTIALS_DIRECTORY", "RUNTIME_DIRECTORY", "STATE_DIRECTORY", "CACHE_DIRECTORY",
        "LOGS_DIRECTORY", "CONFIGURATION_DIRECTORY", "MEMORY_PRESSURE_WATCH",
        "MEMORY_PRESSURE_WRITE", "SERVICE_RESULT", "EXIT_CODE", "EXIT_STATUS", "TRIGGER_UNIT",
        "TRIGGER_PATH", "TRIGGER_TIMER_REALTIME_USEC", "TRIGGER_TIMER_MONOTONIC_USEC",
    }
)  # fmt: skip
_OWN_PREFIX = "TRIMPOINT_"

# Runs in a fresh interpreter that becomes Codex (about 15 ms): asks for SIGTERM at the parent's
# death, makes up for a parent that died before it could ask, resets signals, and replaces itself.
# exec keeps signals ignored and blocked: Python ignores two, a script's background job SIGINT and
# SIGQUIT, `nohup` SIGHUP. An agent's commands must not inherit that, or Ctrl-C and `kill -QUIT`
# would do nothing to them. Not a `preexec_fn`: Python between fork and exec can deadlock in a
# process with threads, and is deprecated there. SIGTERM, not SIGKILL, lets Codex end its own
# children; `orphans` ends a Codex that does not end.
_SHIM = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_SETMASK, ())
exec(sys.argv[1])
if os.getppid() != int(sys.argv[2]):
    os._exit(0)
for number in signal.valid_signals():
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
try:
    os.execv(sys.argv[3], sys.argv[3:])
except OSError as error:
    print(f"cannot execute {sys.argv[3]}: {error.strerror}", file=sys.stderr)
    os._exit(126)
"""


class LaunchProfile(msgspec.Struct, frozen=True):
    """The command line and environment of a child (docs/spec/sessions.md). Clients with equal
    profiles share a child.

    `overrides` are Codex's `key=value` pairs, each passed with `-c`. `environment` is added to the
    daemon's environment; of pairs with the same name, the last one applies.
    """

    codex: Path
    overrides: tuple[str, ...] = ()
    codex_home: Path | None = None
    environment: tuple[tuple[str, str], ...] = ()
    cwd: Path | None = None

    @property
    def key(self) -> str:
        """Returns 16 hexadecimal digits for file names and logs. Equal profiles have the same key
        in every run.
        """
        facts = (
            str(self.codex),
            self.overrides,
            str(self.codex_home),
            self.environment,
            str(self.cwd),
        )
        return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()[:16]


def launch_command(profile: LaunchProfile) -> list[str]:
    """Returns the command line of `codex app-server` with the profile's overrides. Call it on the
    thread that spawns the child.

    On the main thread, the command starts a shim that, on Linux, ends the child when the daemon
    dies.
    """
    overrides = [argument for override in profile.overrides for argument in ("-c", override)]
    command = [str(profile.codex), "app-server", *overrides]
    # The kernel signals the child when the *thread* that forked ends, not the process; only the
    # main thread lives as long as the daemon.
    if sys.executable and threading.current_thread() is threading.main_thread():
        shim = (sys.executable, "-I", "-S", "-c", _SHIM, SYSTEM.exit_statement, str(os.getpid()))
        return [*shim, *command]
    return command


def passed_on(name: str) -> bool:
    """Returns whether a variable of the daemon's environment reaches Codex, and so agents.

    All do but those of the service and of trimpoint itself. A list of what is passed on instead
    would break what people rely on: a provider's key has any name that env_key of Codex's
    configuration gives it, and compilers, package managers and proxies have theirs. What of it an
    agent's commands get is decided by Codex's `shell_environment_policy` (docs/security.md).
    """
    return name not in SERVICE_VARIABLES and not name.startswith(_OWN_PREFIX)


def child_environment(profile: LaunchProfile, inherited: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment for a child: what of the inherited one is passed on, with two
    changes.

    `CODEX_HOME` and the profile's own variables are set. The folder `vendor/<triple>/path` comes
    first in `PATH`, if it exists, because older npm releases relied on their wrapper for that.
    """
    environment = {name: value for name, value in inherited.items() if passed_on(name)}
    tools = profile.codex.parent.parent / "path"
    if profile.codex.parent.name == "codex" and tools.is_dir():
        environment["PATH"] = os.pathsep.join(filter(None, (str(tools), environment.get("PATH"))))
    if profile.codex_home is not None:
        environment["CODEX_HOME"] = str(profile.codex_home)
    return environment | dict(profile.environment)
