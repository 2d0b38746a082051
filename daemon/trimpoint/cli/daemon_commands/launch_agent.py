"""`trimpoint daemon service` on macOS: manages the daemon as an agent of launchd."""

import argparse
import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from rich.text import Text
from trimpoint_protocol.locations import HomeUnknown

from trimpoint import event_loop
from trimpoint.cli.connection.settings import settings_of
from trimpoint.cli.connection.sockets import answering
from trimpoint.cli.daemon_commands.log_lines import print_log_of
from trimpoint.cli.exits import CliError, Exit, UsageError
from trimpoint.cli.terminal import one_line, print_json, print_line, stdout_console
from trimpoint.service import launchd
from trimpoint.service.units import UnitForeign

T = TypeVar("T")


def run_install(arguments: argparse.Namespace, command: Sequence[str]) -> int:
    """Writes the agent and has launchd start it.

    :raises CliError: when a file that trimpoint did not write is in the way, another daemon serves,
        or launchd cannot be reached.
    """
    path, settings = _path(), settings_of(arguments)
    try:
        text = launchd.rendered(command, os.environ)
    except ValueError as error:
        problem = f"A property list cannot hold that: {error}."
        raise CliError(problem, reason="unit_impossible") from None
    if arguments.dry_run:
        place = launchd.domain(os.environ)
        steps = [launchd.unload_command(place), launchd.load_command(path, os.environ)]
        return _show_plan(arguments, {path: text}, steps)
    ours = _asked(lambda: launchd.loaded(os.environ))
    if ours is None and event_loop.run(answering, [settings.socket]) is not None:
        raise CliError(
            f"A daemon that was not started by launchd serves {settings.socket}.",
            "Stop it first (`trimpoint daemon shutdown`), or give the service another --socket.",
            reason="already_served",
        )
    is_written = _changed(lambda: launchd.install(path, text))
    if ours is not None and not is_written:
        return _print_change(arguments, "written", [], f"It runs already, as {path} says.")
    launchd.log_path(os.environ).parent.mkdir(parents=True, exist_ok=True)
    if ours is not None:
        _asked(lambda: launchd.unload(ours.domain))
    _asked(lambda: launchd.load(path, os.environ, again=ours is not None))
    then = (
        "launchd has started it, and does so at each login; macOS tells you that a background item "
        f"was added. Its log: {launchd.log_path(os.environ)}."
    )
    return _print_change(arguments, "written", [path] if is_written else [], then)


def run_uninstall(arguments: argparse.Namespace) -> int:
    """Ends the agent and removes its file; the state directory stays.

    :raises CliError: when the file was not written by trimpoint.
    """
    path = _path()
    if arguments.dry_run:
        present = {path: ""} if os.path.lexists(path) else {}
        steps = [launchd.unload_command(launchd.domain(os.environ))]
        return _show_plan(arguments, present, steps)
    if launchd.standing(path, "") == "foreign":
        _changed(lambda: launchd.uninstall(path))
    if (ours := _asked(lambda: launchd.loaded(os.environ))) is not None:
        _asked(lambda: launchd.unload(ours.domain))
    is_removed = _changed(lambda: launchd.uninstall(path))
    then = (
        f"Journals and configuration are where they were: {settings_of(arguments).state_dir}."
        if is_removed
        else f"There is nothing to remove at {path}."
    )
    return _print_change(arguments, "removed", [path] if is_removed else [], then)


def run_status(arguments: argparse.Namespace) -> int:
    """Shows what launchd knows of the agent; the exit code is 0 if it runs, and 4 if not.

    :raises CliError: when launchd cannot be reached.
    """
    path = _path()
    found = _asked(lambda: launchd.loaded(os.environ))
    written = launchd.standing(path, "") == "outdated"
    if arguments.json:
        print_json(
            {
                "agent": found._asdict() if found is not None else None,
                "file": str(path),
                "writtenByTrimpoint": written,
            }
        )
    elif found is None:
        print_line(Text("Not loaded: trimpoint daemon service install"))
    else:
        pid = f", pid {found.pid}" if found.pid is not None else ""
        left = f", last exit code {one_line(found.last_exit)}" if found.last_exit else ""
        print_line(Text.assemble(("Service", "bold"), f"  {one_line(found.state)}{pid}{left}"))
    return Exit.DONE if found is not None and found.pid is not None else Exit.NO_DAEMON


def run_logs(arguments: argparse.Namespace) -> int:
    """Shows the end of the agent's log.

    :raises CliError: when there is none.
    """
    path = launchd.log_path(os.environ)
    if not path.is_file():
        hint = "trimpoint daemon service install makes a service that has one."
        raise CliError(f"There is no log at {path}.", hint, reason="not_installed")
    follow = ["-F"] if arguments.follow else []
    return print_log_of(["tail", "-n", str(arguments.lines), *follow, str(path)])


def _path() -> Path:
    try:
        return launchd.agent_path(os.environ)
    except HomeUnknown as error:
        raise UsageError(str(error), "Set HOME.", reason="no_home") from None


def _asked(question: Callable[[], T]) -> T:
    try:
        return question()
    except launchd.LaunchdUnavailable as error:
        hint = "Run the daemon with `trimpoint serve`, or try it in a session with windows."
        raise CliError(f"{error}.", hint, reason="launchd_unavailable") from None


def _changed(change: Callable[[], T]) -> T:
    try:
        return change()
    except UnitForeign as error:
        hint = "Move it away if you want trimpoint's own in its place."
        raise CliError(f"{error}.", hint, reason="unit_not_ours") from None
    except OSError as error:
        raise CliError(f"{error.filename}: {error.strerror}.", reason="unit_not_written") from None


def _show_plan(
    arguments: argparse.Namespace, files: dict[Path, str], commands: Sequence[tuple[str, ...]]
) -> int:
    lines = [shlex.join(["launchctl", *words]) for words in commands]
    if arguments.json:
        named = {str(path): text for path, text in files.items()}
        print_json({"dryRun": True, "files": named, "commands": lines})
        return Exit.DONE
    for path, text in files.items():
        print(f"──── {path}\n{text}", end="" if text else "\n")
    print("────", *lines, sep="\n")
    return Exit.DONE


def _print_change(arguments: argparse.Namespace, what: str, paths: list[Path], then: str) -> int:
    if arguments.json:
        print_json({what: [str(path) for path in paths], "message": then})
        return Exit.DONE
    for path in paths:
        stdout_console().print(Text.assemble(("✓ ", "bold green"), f"{what}: {path}"))
    stdout_console().print(Text(then, overflow="fold"))
    return Exit.DONE
