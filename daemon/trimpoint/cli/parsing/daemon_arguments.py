"""Arguments of the commands about the daemon."""

import argparse

from trimpoint.cli.parsing import machine_arguments as machine
from trimpoint.cli.parsing.options import (
    Commands,
    add_location_options,
    as_codex_daemon,
    command,
    for_clients,
    for_daemons,
    json_option,
    log_options,
)

APP_SERVER = """\
A client that is told that its codex binary is trimpoint starts it as
  trimpoint [-c KEY=VALUE …] app-server [--listen stdio://] [-c KEY=VALUE …]
which is the same thing, every -c and --config being an override for Codex.
"""

ACP = """\
An editor that speaks the Agent Client Protocol (Zed, JetBrains, Neovim, Emacs …) starts it by
itself; trimpoint help acp.md has what to write into each editor's configuration. It joins the
running daemon, or starts one in the background.
"""

TOKEN = """\
The token is in the file http-token of the state directory, made when it is first needed, and
only you can read it. Anyone who has it can do with your threads what you can.
"""


OF_DAEMON = ("status", "logs", "shutdown", "service", "metrics", "token", "journal")
"""The actions of `trimpoint daemon`."""


def add_daemon(commands: Commands) -> None:
    """Adds the command `daemon`."""
    parser = command(
        commands,
        "daemon",
        "thread_commands.status:run",
        f"manage the daemon: {', '.join(OF_DAEMON)}",
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True, title="actions")
    for add in (
        add_status,
        add_logs,
        add_shutdown,
        machine.add_service,
        add_metrics,
        add_token,
        machine.add_journal,
    ):
        add(actions)


def add_serve(commands: Commands) -> None:
    """Adds the command `serve`."""
    parser = command(commands, "serve", "programs.serve:run", "run the daemon in the foreground")
    parser.add_argument(
        "--background",
        action="store_true",
        help="leave it running, until nothing has used it for a minute",
    )
    # For ourselves: this process is to be the daemon, with the log that it was given.
    parser.add_argument("--detached", action="store_true", help=argparse.SUPPRESS)
    json_option(parser)
    as_codex_daemon(parser)
    for_daemons(parser)


def add_stdio(commands: Commands) -> None:
    """Adds the command `stdio`."""
    parser = command(
        commands,
        "stdio",
        "programs.stdio:run",
        "serve a client on stdin and stdout",
        APP_SERVER,
    )
    for_daemons(parser)


def add_acp(commands: Commands) -> None:
    """Adds the command `acp`."""
    parser = command(
        commands,
        "acp",
        "programs.acp:run",
        "serve an ACP editor on stdin and stdout",
        ACP,
    )
    parser.add_argument("--login", action="store_true", help="log Codex in, and end")
    # For ourselves: what starts a daemon would make this process twice as large.
    parser.add_argument("--start-daemon", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    add_location_options(parser)


def add_status(commands: Commands) -> None:
    """Adds the command `status`."""
    parser = command(
        commands,
        "status",
        "thread_commands.status:run",
        "show the daemon, its Codex and its threads",
    )
    parser.add_argument("-a", "--all", action="store_true", help="list archived threads too")
    for_clients(parser)


def add_metrics(commands: Commands) -> None:
    """Adds the command `metrics`."""
    parser = command(
        commands,
        "metrics",
        "daemon_commands.metrics:run",
        "show the daemon's metrics",
    )
    parser.add_argument(
        "--prometheus", action="store_true", help="print the text that Prometheus reads"
    )
    for_clients(parser)


def add_token(commands: Commands) -> None:
    """Adds the command `token`."""
    parser = command(
        commands,
        "token",
        "daemon_commands.token:run",
        "print the token for HTTP and WebSocket over TCP",
        TOKEN,
    )
    parser.add_argument(
        "--url",
        action="store_true",
        help="print an address that logs a browser in, once, within two minutes",
    )
    parser.add_argument(
        "--new",
        action="store_true",
        help="make another token; the old one ends when the daemon is started again",
    )
    for_clients(parser)


def add_shutdown(commands: Commands) -> None:
    """Adds the command `shutdown`."""
    parser = command(
        commands, "shutdown", "daemon_commands.shutdown:run", "stop the daemon and its Codex"
    )
    parser.add_argument(
        "--when-idle",
        action="store_true",
        help="wait until no agent works and everything is on disk, such as before an upgrade",
    )
    for_clients(parser)


def add_unlisted(commands: Commands) -> None:
    """Adds the command that `trimpoint --version` runs."""
    version = commands.add_parser("version", allow_abbrev=False)
    version.set_defaults(run="trimpoint.cli.daemon_commands.version:run", command="version")
    json_option(version)


def add_logs(commands: Commands) -> None:
    """Adds the command `logs`."""
    parser = command(commands, "logs", "daemon_commands.logs:run", "show the daemon's log")
    log_options(parser)
    add_location_options(parser)
