"""Arguments of the commands for trimpoint's installation on this machine: service, configuration,
journals, checks, completion.
"""

import argparse

from trimpoint.cli.parsing.options import (
    Commands,
    add_location_options,
    as_codex_daemon,
    command,
    for_daemons,
    json_option,
    log_options,
)

EXPIRE = """\
Threads that were archived more than retention.archived_after_days ago go to the folder
expired/ of the state directory, or for good if retention.delete says so. In doubt they stay.
Exit code 3: the rule is off, or names nothing.
"""

REPAIR = """\
exit codes:
  0  repaired
  1  something is left as it was, for the reason given
  3  there was nothing to repair
"""

COMPLETION = """\
  bash:  trimpoint completion bash >> ~/.bashrc
  zsh:   trimpoint completion zsh >> ~/.zshrc
  fish:  trimpoint completion fish > ~/.config/fish/completions/trimpoint.fish
"""


def add_journal(commands: Commands) -> None:
    """Adds the command `journal`."""
    parser = command(
        commands,
        "journal",
        "daemon_commands.journal:run_inspect",
        "inspect, verify, repair and export the journals on disk",
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True, title="actions")
    _offline(actions, "inspect", "show the journals, or all about one")
    _offline(actions, "verify", "read everything and say what is wrong; exit code 1 if anything is")
    repair = _offline(
        actions, "repair", "cut off torn ends; no daemon may run, and nothing is deleted", REPAIR
    )
    repair.add_argument(
        "--salvage",
        action="store_true",
        help="rewrite damaged journals with all that can still be read",
    )
    expire = _offline(
        actions, "expire", "remove what the rule in [retention] names; no daemon may run", EXPIRE
    )
    expire.add_argument("--dry-run", action="store_true", help="only show what would go")
    export = _offline(actions, "export", "write events as JSON lines, of all threads or one")
    export.add_argument(
        "--private",
        action="store_true",
        help="include data that no client is shown: Codex's own ids, raw items, settings",
    )


def _offline(
    actions: Commands, name: str, summary: str, details: str = ""
) -> argparse.ArgumentParser:
    run = f"daemon_commands.journal:run_{name}"
    parser = command(actions, name, run, summary, details)
    parser.add_argument(
        "-t",
        "--thread",
        metavar="ID",
        help="which thread: its id, or the beginning or end of it (default: all)",
    )
    json_option(parser)
    add_location_options(parser)
    return parser


def add_service(commands: Commands) -> None:
    """Adds the command `service`."""
    parser = command(
        commands,
        "service",
        "daemon_commands.service:run_status",
        "run the daemon as a service of yours: of systemd, or of launchd on macOS",
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True, title="actions")
    for action, summary, changes in (
        (
            "install",
            "write the units and have systemd listen, or launchd start it",
            True,
        ),
        ("uninstall", "stop the service and remove its units; journals stay", True),
        ("status", "show what systemd or launchd knows of it", False),
    ):
        run = f"daemon_commands.service:run_{action}"
        sub = command(actions, action, run, summary)
        if changes:
            sub.add_argument(
                "--dry-run", action="store_true", help="print what would be done, and do nothing"
            )
        json_option(sub)
        if action == "install":
            as_codex_daemon(sub)
        for_daemons(sub)
    logs = command(actions, "logs", "daemon_commands.service:run_logs", "show its log")
    log_options(logs)


def add_doctor(commands: Commands) -> None:
    """Adds the command `doctor`."""
    parser = command(
        commands,
        "doctor",
        "daemon_commands.doctor:run",
        "check this machine, and say what to fix and how",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also show the checks that passed, and all settings",
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="print a page to send: kinds and counts, and nothing that was read",
    )
    json_option(parser)
    for_daemons(parser)


def add_schema(commands: Commands) -> None:
    """Adds the command `schema`."""
    parser = command(
        commands,
        "schema",
        "daemon_commands.schema:run",
        "write what trimpoint adds to the protocol as JSON Schema",
    )
    parser.add_argument(
        "--out", metavar="DIR", required=True, help="where to write; created if missing"
    )
    json_option(parser)


def add_demo(commands: Commands) -> None:
    """Adds the command `demo`."""
    parser = command(
        commands,
        "demo",
        "programs.demo:run",
        "see on one screen what a clear does, without an account",
    )
    parser.add_argument("--all", action="store_true", help="also /compact, /new and the timeline")
    parser.add_argument("--plain", action="store_true", help="no colour and no animation")
    parser.add_argument("--web", action="store_true", help="play it in the web page, live")
    parser.add_argument(
        "--print", action="store_true", help="with --web: print the address, open no browser"
    )
    parser.add_argument("--codex", metavar="PATH", help="the Codex binary to run")
    json_option(parser)


def add_config(commands: Commands) -> None:
    """Adds the command `config`."""
    parser = command(
        commands,
        "config",
        "daemon_commands.config:run_show",
        "show the configuration, or start one",
    )
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True)
    for action, summary in (
        ("show", "show the settings in force and where each comes from"),
        ("init", "write a file with all settings, commented out"),
        ("path", "print where the file is"),
        ("socket", "print where the daemon listens, or would"),
    ):
        run = f"daemon_commands.config:run_{action}"
        sub = command(actions, action, run, summary)
        json_option(sub)
        for_daemons(sub)


def add_completion(commands: Commands) -> None:
    """Adds the command `completion`."""
    parser = command(
        commands,
        "completion",
        "daemon_commands.completion:run",
        "print the completion script of a shell",
        COMPLETION,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")
    parser.add_argument("--words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
