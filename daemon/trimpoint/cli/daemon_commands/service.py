"""`trimpoint daemon service install | uninstall | status | logs`: manages the daemon as a service
of the current user: of systemd, or of launchd (`launch_agent`).
"""

import argparse
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rich.table import Table
from rich.text import Text
from trimpoint_protocol.locations import HomeUnknown

from trimpoint import event_loop
from trimpoint.cli.connection.settings import Settings, codex_binary, settings_of
from trimpoint.cli.connection.sockets import answering
from trimpoint.cli.daemon_commands import launch_agent
from trimpoint.cli.daemon_commands.log_lines import print_log_of
from trimpoint.cli.exits import CliError, Exit, UsageError
from trimpoint.cli.terminal import one_line, print_json, print_line, stdout_console
from trimpoint.config.loading import default_config_path
from trimpoint.service import units
from trimpoint.service.systemctl import (
    SystemdUnavailable,
    journalctl_command,
    properties,
    systemctl,
)
from trimpoint.system import SYSTEM

T = TypeVar("T")

_ACTIVATE = (("daemon-reload",), ("enable", "--now", units.SOCKET))
# Nothing listens for plain `codex` before the daemon runs, so that one is started with the user's
# session.
_ACTIVATE_NOW = (*_ACTIVATE, ("enable", "--now", units.SERVICE))
_DEACTIVATE = (("disable", "--now", units.SOCKET, units.SERVICE),)
_AFTERWARDS = ("daemon-reload",)
_FOREIGN_HINT = (
    "Move it away if you want trimpoint's own in its place; for changes to that one use `systemctl "
    "--user edit`."
)
_NO_SYSTEMD_HINT = (
    "Log in as this user (ssh, or a session of its own; `su` and `sudo` start no service manager) "
    "and run it again, "
    "or run the daemon with `trimpoint serve`."
)


def run_install(arguments: argparse.Namespace) -> int:
    """Writes the systemd units and has systemd listen on the socket.

    :raises CliError: when a file that trimpoint did not write is in the way, or systemd cannot be
        reached.
    """
    codex_binary(arguments)  # a service that could not start is not worth installing
    if SYSTEM.service_manager == "launchd":
        return launch_agent.run_install(arguments, _command(arguments))
    settings, folder = settings_of(arguments), _folder()
    try:
        wanted = units.rendered(
            _command(arguments), settings.socket if settings.socket_is_named else None, os.environ
        )
    except units.NotForUnits as error:
        raise CliError(f"{error}.", reason="unit_impossible") from None
    steps = _ACTIVATE_NOW if settings.config.codex.control_socket else _ACTIVATE
    if arguments.dry_run:
        return _show_plan(arguments, {folder / name: text for name, text in wanted.items()}, steps)
    _refuse_if_served(settings)
    written = _changed(lambda: units.install(folder, wanted))
    for words in steps:
        _ask_systemd(*words)
    return _print_change(arguments, "written", written, _what_now(settings, written))


def run_uninstall(arguments: argparse.Namespace) -> int:
    """Stops the service and removes its units; the state directory stays.

    :raises CliError: when one of the units was not written by trimpoint.
    """
    if SYSTEM.service_manager == "launchd":
        return launch_agent.run_uninstall(arguments)
    folder = _folder()
    present = [folder / name for name in units.NAMES if os.path.lexists(folder / name)]
    if arguments.dry_run:
        return _show_plan(arguments, dict.fromkeys(present, ""), (*_DEACTIVATE, _AFTERWARDS))
    if not present:
        return _print_change(arguments, "removed", [], f"There is nothing to remove in {folder}.")
    _changed(lambda: units.check_ours(folder))
    for words in _DEACTIVATE:
        _ask_systemd(*words)
    removed = _changed(lambda: units.uninstall(folder))
    _ask_systemd(*_AFTERWARDS)
    return _print_change(
        arguments,
        "removed",
        removed,
        f"Journals and configuration are where they were: {settings_of(arguments).state_dir}.",
    )


def run_status(arguments: argparse.Namespace) -> int:
    """Shows the state of the service; the exit code is 0 if clients can connect, and 4 if not.

    :raises CliError: when systemd cannot be reached.
    """
    if SYSTEM.service_manager == "launchd":
        return launch_agent.run_status(arguments)
    folder = _folder()
    try:
        service = properties(
            units.SERVICE,
            "ActiveState",
            "SubState",
            "Result",
            "StatusText",
            "MainPID",
            "FragmentPath",
            "NRestarts",
        )
        socket = properties(
            units.SOCKET, "ActiveState", "SubState", "Listen", "UnitFileState", "FragmentPath"
        )
    except SystemdUnavailable as error:
        raise CliError(f"{error}.", _NO_SYSTEMD_HINT, reason="systemd_unavailable") from None
    standings = {name: units.standing(folder / name, "") for name in units.NAMES}
    if arguments.json:
        ours = {name: standing in {"current", "outdated"} for name, standing in standings.items()}
        print_json({"service": service, "socket": socket, "writtenByTrimpoint": ours})
    else:
        stdout_console().print(_status_table(service, socket))
    return (
        Exit.DONE
        if "active" in (service.get("ActiveState"), socket.get("ActiveState"))
        else Exit.NO_DAEMON
    )


def run_logs(arguments: argparse.Namespace) -> int:
    """Shows the log of the service; with systemd, what `journalctl` prints.

    :raises CliError: when the service or `journalctl` is not installed.
    """
    is_launchd = SYSTEM.service_manager == "launchd"
    return launch_agent.run_logs(arguments) if is_launchd else _show_journal(arguments)


def _show_journal(arguments: argparse.Namespace) -> int:
    command = journalctl_command(units.SERVICE, arguments.lines, follow=arguments.follow)
    if command is None:
        raise CliError(
            "journalctl is not installed.",
            "A daemon that runs without systemd logs to its stderr.",
            reason="systemd_unavailable",
        )
    if not os.path.lexists(_folder() / units.SERVICE):
        raise CliError(
            "The service is not installed.",
            "trimpoint daemon service install does that; trimpoint daemon logs shows the log of a "
            "daemon that started by itself.",
            reason="not_installed",
        )
    return print_log_of(command)


def _folder() -> Path:
    try:
        return units.unit_folder(os.environ)
    except HomeUnknown as error:
        raise UsageError(str(error), "Set HOME.", reason="no_home") from None


def _command(arguments: argparse.Namespace) -> list[str]:
    """Returns the command line that starts this installation's daemon, with the paths that flags or
    environment set.
    """
    script = Path(sys.executable).parent / "trimpoint"
    program = [str(script)] if os.access(script, os.X_OK) else [sys.executable, "-m", "trimpoint"]
    options = (
        ("--state-dir", arguments.state_dir or os.environ.get("TRIMPOINT_STATE_DIR")),
        ("--codex", arguments.codex or os.environ.get("TRIMPOINT_CODEX")),
        ("--config", arguments.config),
    )
    given = [
        word
        for name, value in options
        if value
        for word in (name, os.path.abspath(os.path.expanduser(value)))
    ]
    as_codex = ["--as-codex-daemon"] if getattr(arguments, "as_codex_daemon", False) else []
    return [
        *program,
        "serve",
        *as_codex,
        *given,
        *(word for override in arguments.overrides for word in ("-c", override)),
    ]


def _refuse_if_served(settings: Settings) -> None:
    """Raises CliError if a daemon that was started by hand listens at the socket: systemd would
    take over the path, and clients could not find that daemon any more.
    """
    try:
        is_listening = properties(units.SOCKET, "ActiveState").get("ActiveState") == "active"
    except SystemdUnavailable as error:
        raise CliError(f"{error}.", _NO_SYSTEMD_HINT, reason="systemd_unavailable") from None
    if not is_listening and event_loop.run(answering, [settings.socket]) is not None:
        hint = "Stop it first (`trimpoint daemon shutdown`), or give the service another --socket."
        raise CliError(
            f"A daemon that was not started by systemd serves {settings.socket}.",
            hint,
            reason="already_served",
        )


def _changed(change: Callable[[], T]) -> T:
    try:
        return change()
    except units.UnitForeign as error:
        raise CliError(f"{error}.", _FOREIGN_HINT, reason="unit_not_ours") from None
    except OSError as error:
        raise CliError(f"{error.filename}: {error.strerror}.", reason="unit_not_written") from None


def _ask_systemd(*words: str) -> None:
    try:
        systemctl(*words)
    except SystemdUnavailable as error:
        hint = f"The units are in {_folder()}. {_NO_SYSTEMD_HINT}"
        raise CliError(f"{error}.", hint, reason="systemd_unavailable") from None


def _show_plan(
    arguments: argparse.Namespace, files: dict[Path, str], commands: tuple[tuple[str, ...], ...]
) -> int:
    lines = [shlex.join(["systemctl", "--user", *words]) for words in commands]
    if arguments.json:
        print_json(
            {
                "dryRun": True,
                "files": {str(path): text for path, text in files.items()},
                "commands": lines,
            }
        )
        return Exit.DONE
    for path, text in files.items():
        print(f"──── {path}\n{text}", end="" if text else "\n")
    print("────", *lines, sep="\n")
    return Exit.DONE


def _what_now(settings: Settings, written: list[Path]) -> str:
    if written and properties(units.SERVICE, "ActiveState").get("ActiveState") == "active":
        return (
            "It runs as it was; `systemctl --user restart trimpoint.service` restarts it, which "
            "ends what its agents are doing."
        )
    return (
        f"The first client that connects starts it (socket {settings.socket}; configuration "
        f"{default_config_path(os.environ)})."
    )


def _print_change(arguments: argparse.Namespace, what: str, paths: list[Path], then: str) -> int:
    if arguments.json:
        print_json({what: [str(path) for path in paths], "message": then})
        return Exit.DONE
    for path in paths:
        stdout_console().print(Text.assemble(("✓ ", "bold green"), f"{what}: {path}"))
    stdout_console().print(Text(then, overflow="fold"))
    if what == "written":
        print_line(
            Text(
                "It ends when you log out of your last session, unless: loginctl enable-linger "
                '"$USER"',
                "dim",
            )
        )
    return Exit.DONE


def _status_table(service: dict[str, str], socket: dict[str, str]) -> Table:
    table = Table.grid(padding=(0, 2))
    is_failed = "failed" in (service.get("ActiveState"), socket.get("ActiveState"))
    pid = f", pid {service['MainPID']}" if service.get("MainPID", "0") != "0" else ""
    restarts = (
        f", restarted {service['NRestarts']} times" if service.get("NRestarts", "0") != "0" else ""
    )
    result = f" ({service.get('Result')})" if is_failed else ""
    table.add_row(
        Text("Service", "bold"),
        Text(f"{service.get('ActiveState')}{result}{pid}{restarts}", "red" if is_failed else ""),
    )
    if service.get("StatusText") and pid:
        table.add_row("", Text(one_line(service["StatusText"]), "dim"))
    listening = (
        one_line(socket.get("Listen", "")) or "not installed: trimpoint daemon service install"
    )
    table.add_row(
        Text("Socket", "bold"),
        Text(f"{socket.get('ActiveState')}, {socket.get('UnitFileState') or 'no unit'}"),
    )
    table.add_row("", Text(listening, "dim"))
    return table
