"""`trimpoint daemon logs`: shows the log of the running daemon, wherever its stderr goes."""

import argparse
import os
import subprocess

from rich.text import Text

from trimpoint.cli.connection.settings import settings_of
from trimpoint.cli.daemon_commands.log_lines import print_log_of
from trimpoint.cli.daemon_commands.service import run_logs
from trimpoint.cli.exits import CliError, Exit, NoDaemon
from trimpoint.cli.pager import paged
from trimpoint.cli.terminal import printable
from trimpoint.doctor.kernel import lock_holders
from trimpoint.service.systemctl import is_running
from trimpoint.system import SYSTEM


def run(arguments: argparse.Namespace) -> int:
    """Shows the newest lines of the file that the daemon's standard error goes to, or of systemd's
    journal.

    :raises NoDaemon: when no daemon runs, and systemd is not there either.
    :raises CliError: when the log goes to a terminal, or cannot be read.
    """
    holders = lock_holders(settings_of(arguments).state_dir / "lock")
    if not holders:
        if is_running():
            return run_logs(arguments)
        raise NoDaemon("No daemon runs.", "`trimpoint serve` logs to its stderr.")
    target = SYSTEM.place_of(holders[0], 2)
    if target is None:
        if SYSTEM.service_manager == "launchd":
            return run_logs(arguments)
        raise CliError(f"The log of the daemon (pid {holders[0]}) cannot be found from here.")
    if target.startswith("socket:"):
        return run_logs(arguments)
    if not os.path.isfile(target):
        where = "to a terminal" if target.startswith("/dev/") else "nowhere that can be read again"
        said = f"The daemon (pid {holders[0]}) logs {where}: {target}."
        raise CliError(
            said,
            "Start it as `trimpoint serve 2>> FILE`, or with `trimpoint daemon service install`.",
        )
    tail = ["tail", "-n", str(arguments.lines), target]
    if arguments.follow:
        return print_log_of([*tail, "-F"])
    with paged(from_end=True) as console:
        log = subprocess.run(tail, capture_output=True, check=False).stdout
        console.print(Text(printable(log.decode(errors="replace"))), end="", soft_wrap=True)
    return Exit.DONE
