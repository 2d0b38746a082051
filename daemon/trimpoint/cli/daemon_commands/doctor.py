"""`trimpoint doctor`: checks this installation and says what is wrong and how to repair it."""

import argparse
import json
import os
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from trimpoint_protocol.locations import HomeUnknown

from trimpoint.cli.connection.endpoint import read_published_socket
from trimpoint.cli.connection.settings import (
    CONFIG_INVALID,
    Settings,
    place_despite_mistakes,
    settings_of,
)
from trimpoint.cli.daemon_commands.doctor_report import report
from trimpoint.cli.exits import Exit, UsageError
from trimpoint.cli.terminal import one_line, print_json, printable, stdout_console
from trimpoint.cli.views.timeline_view import with_glyph
from trimpoint.config.loading import default_config_path
from trimpoint.doctor.checks import CHECKS
from trimpoint.doctor.findings import CheckResult, Installation, examine, max_severity
from trimpoint.doctor.kernel import is_listening

_MARKS = {"ok": ("✓", "green"), "warn": ("!", "bold yellow"), "fail": ("✗", "bold red")}
_FLAGS = (("socket", "socket"), ("state_dir", "state_dir"), ("codex", "codex.path"))


def run(arguments: argparse.Namespace) -> int:
    """Runs all checks. The exit code is 1 if something will not work, and 0 otherwise, also with
    warnings.
    """
    results = examine(CHECKS, installation_of(arguments))
    status = max_severity(results)
    if arguments.json:
        findings = [{"check": result.check, **_document(result)} for result in results]
        print_json({"status": status, "findings": findings})
    elif arguments.report:
        print(report(results), end="")
    else:
        _print(results, verbose=arguments.verbose)
    return Exit.FAILED if status == "fail" else Exit.DONE


def installation_of(arguments: argparse.Namespace) -> Installation:
    """Returns the installation that flags, environment and configuration file describe."""
    flags = {key: str(getattr(arguments, name)) for name, key in _FLAGS if getattr(arguments, name)}
    path, problem = _config_path(arguments), None
    try:
        settings = settings_of(arguments)
    except UsageError as error:
        if error.reason != CONFIG_INVALID:
            raise
        problem = f"{error.message} {error.hint}".strip()
        settings = place_despite_mistakes(arguments)
    return Installation(
        settings.config, path, settings.state_dir, _socket(settings), os.environ, flags, problem
    )


def _config_path(arguments: argparse.Namespace) -> Path:
    """Returns the path of the configuration file, whether it exists or not; it begins with `~` if
    there is no home folder.
    """
    try:
        return Path(arguments.config) if arguments.config else default_config_path(os.environ)
    except HomeUnknown:
        return Path("~/.config/trimpoint/config.toml")


def _socket(settings: Settings) -> Path:
    """Returns the named socket, or else the published socket of the state directory if a daemon
    listens there.
    """
    noted = read_published_socket(settings.state_dir)
    return (
        noted
        if noted is not None and not settings.socket_is_named and is_listening(noted)
        else settings.socket
    )


def _document(result: CheckResult) -> dict[str, object]:
    finding = result.finding
    return {
        "status": finding.status,
        "text": finding.text,
        "hint": finding.hint,
        "facts": finding.facts,
    }


def _print(results: list[CheckResult], *, verbose: bool) -> None:
    """Prints failures and warnings first, then one line that lists the checks that passed, and at
    the end the number of problems.
    """
    console = stdout_console()
    to_do = [result for result in results if result.finding.status != "ok"]
    fine = [result for result in results if result.finding.status == "ok"]
    for result in sorted(to_do, key=lambda one: one.finding.status != "fail"):
        console.print(_block(result))
    if verbose:
        for result in fine:
            console.print(_block(result))
        console.print(_settings(results))
    elif fine:
        names = ", ".join(dict.fromkeys(result.check for result in fine))
        console.print(with_glyph(*_MARKS["ok"], Text(names)))
    hint = "" if verbose else "  (all that was found: trimpoint doctor --verbose)"
    console.print(Text.assemble((_to_do(len(to_do)), "bold"), (hint, "dim")))


def _to_do(count: int) -> str:
    return f"{count} thing{'s' if count > 1 else ''} to do" if count else "Nothing to do"


def _block(result: CheckResult) -> RenderableType:
    """Returns a finding for the terminal: its mark and text, and below it what to do, wrapped to
    the width.
    """
    finding = result.finding
    text = Text.assemble((f"{result.check}: ", "bold"), one_line(finding.text, 1000))
    if finding.hint:
        text.append(f"\n→ {printable(finding.hint)}", "dim" if finding.status == "ok" else "")
    return with_glyph(*_MARKS[finding.status], text)


def _settings(results: list[CheckResult]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    for result in results:
        for key, setting in result.finding.facts.get("settings", {}).items():
            table.add_row(
                Text(f"  {key}", "dim"), setting_text(setting["value"], setting["origin"])
            )
    return table


def setting_text(value: object, origin: str) -> Text:
    """Returns the value of a setting, followed by its origin unless it is the default."""
    text = printable(json.dumps(value, ensure_ascii=False))
    shown = Text(text, "dim" if origin == "default" else "")
    return shown.append("" if origin == "default" else f"  ({one_line(origin)})", "dim")
