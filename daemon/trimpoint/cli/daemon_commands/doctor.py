"""`trimpoint doctor`: what is found here, what is wrong with it, and what to do."""

import argparse
import json
import os
from pathlib import Path

from rich.table import Table
from rich.text import Text

from trimpoint.cli.connection.endpoint import read_published_socket
from trimpoint.cli.connection.settings import Settings, settings_of
from trimpoint.cli.exits import Exit, UsageError
from trimpoint.cli.terminal import one_line, print_json, printable, stdout_console
from trimpoint.config import Config, default_config_path, default_socket_path, default_state_dir
from trimpoint.doctor.checks import CHECKS
from trimpoint.doctor.findings import CheckResult, Installation, examine, max_severity
from trimpoint.doctor.kernel import is_listening

_MARKS = {"ok": ("✓", "green"), "warn": ("!", "bold yellow"), "fail": ("✗", "bold red")}
_FLAGS = (("socket", "socket"), ("state_dir", "state_dir"), ("codex", "codex.path"))


def run(arguments: argparse.Namespace) -> int:
    """Look at everything; exit code 1 if something will not work, 0 otherwise, warnings or not."""
    results = examine(CHECKS, _installation(arguments))
    status = max_severity(results)
    if arguments.json:
        findings = [{"check": result.check, **_document(result)} for result in results]
        print_json({"status": status, "findings": findings})
    else:
        stdout_console().print(_table(results))
    return Exit.FAILED if status == "fail" else Exit.DONE


def _installation(arguments: argparse.Namespace) -> Installation:
    flags = {key: str(getattr(arguments, name)) for name, key in _FLAGS if getattr(arguments, name)}
    path = Path(arguments.config) if arguments.config else default_config_path(os.environ)
    try:
        settings = settings_of(arguments)
    except UsageError as error:
        problem = f"{error.message} {error.hint}".strip()
        socket, state_dir = default_socket_path(os.environ), default_state_dir(os.environ)
        return Installation(Config(), path, state_dir, socket, os.environ, flags, problem)
    return Installation(settings.config, path, settings.state_dir, _socket(settings), os.environ, flags)


def _socket(settings: Settings) -> Path:
    """Where the daemon of the state directory says that it listens, unless a person named another place."""
    noted = read_published_socket(settings.state_dir)
    return noted if noted is not None and not settings.socket_is_named and is_listening(noted) else settings.socket


def _document(result: CheckResult) -> dict[str, object]:
    finding = result.finding
    return {"status": finding.status, "text": finding.text, "hint": finding.hint, "facts": finding.facts}


def _table(results: list[CheckResult]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for column in (True, True, False):
        table.add_column(no_wrap=column, overflow="fold")
    before = ""
    for check, finding in results:
        mark = Text(*_MARKS[finding.status])
        table.add_row(mark, Text(check if check != before else "", "bold"), Text(one_line(finding.text, 1000)))
        if finding.hint:
            table.add_row("", "", Text(f"→ {printable(finding.hint)}", "dim" if finding.status == "ok" else ""))
        for key, setting in finding.facts.get("settings", {}).items():
            table.add_row("", Text(key, "dim"), _setting(setting["value"], setting["origin"]))
        before = check
    return table


def _setting(value: object, origin: str) -> Text:
    shown = Text(one_line(json.dumps(value, ensure_ascii=False), 200), "dim" if origin == "default" else "")
    return shown.append("" if origin == "default" else f"  ({one_line(origin)})", "dim")
