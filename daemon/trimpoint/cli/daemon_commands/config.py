"""`trimpoint config`: shows the settings in force and the path of the file, and writes a first
file.
"""

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from rich.table import Table
from rich.text import Text
from trimpoint_protocol.lenient import as_dict

from trimpoint.cli.daemon_commands.doctor import installation_of, setting_text
from trimpoint.cli.exits import CliError, Exit, UsageError
from trimpoint.cli.terminal import print_json, stdout_console
from trimpoint.config.sections import FIXED, Config
from trimpoint.doctor.configuration import settings

_HEAD = """\
# Settings of trimpoint. Each line is a default: take away the # to change it.
# docs/configuration.md explains them; `trimpoint config show` tells what is in force.
"""
# Without a default: found anew at each start, or off.
_EXAMPLES = {
    "daemon.idle_exit_s": "60.0",
    "metrics.listen": '"127.0.0.1:9464"',
    "http.listen": '"127.0.0.1:4750"',
    "fleet.host": '"name-of-this-machine"',
    "fleet.domain": '"hub"',
    "codex.path": '"/path/to/codex"',
    "socket": '"/path/to/trimpoint.sock"',
    "state_dir": '"/path/to/state"',
}


def run_show(arguments: argparse.Namespace) -> int:
    """Shows every setting and where it comes from.

    :raises UsageError: when the configuration file has a mistake.
    """
    installation = installation_of(arguments)
    if installation.config_problem is not None:
        raise UsageError(installation.config_problem, "", reason="config_invalid")
    found = list(settings(installation))
    if arguments.json:
        values = {one.key: {"value": one.value, "origin": one.origin} for one in found}
        print_json({"path": str(installation.config_path), "settings": values})
        return Exit.DONE
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    for one in found:
        table.add_row(
            Text(one.key, "" if one.origin != "default" else "dim"),
            setting_text(one.value, one.origin),
        )
    stdout_console().print(table)
    return Exit.DONE


def run_socket(arguments: argparse.Namespace) -> int:
    """Prints the path of the socket where the daemon listens, or would listen."""
    return _show_path(installation_of(arguments).socket, as_json=arguments.json)


def run_path(arguments: argparse.Namespace) -> int:
    """Prints the path of the configuration file, whether it exists or not."""
    return _show_path(installation_of(arguments).config_path, as_json=arguments.json)


def _show_path(path: Path, *, as_json: bool) -> Exit:
    if as_json:
        print_json({"path": str(path), "exists": path.exists()})
    else:
        print(path)
    return Exit.DONE


def run_init(arguments: argparse.Namespace) -> int:
    """Writes a configuration file with all settings as comments.

    :raises CliError: when the file exists already, or cannot be written.
    """
    path = installation_of(arguments).config_path
    text = "\n".join([_HEAD, *template_lines(msgspec.to_builtins(Config()))]) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise CliError(
            f"{path} exists already.",
            "Edit it; `trimpoint config show` shows the settings in force.",
        ) from None
    except OSError as error:
        raise CliError(
            f"{path}: {error.strerror}.", "Name another file with --config.", reason="cannot_write"
        ) from None
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(text)
    if arguments.json:
        print_json({"path": str(path)})
    else:
        stdout_console().print(Text(f"Written to {path}."))
    return Exit.DONE


def template_lines(defaults: dict[str, Any]) -> Iterator[str]:
    """Yields the settings as commented lines of TOML, the top-level ones first."""
    for name, value in defaults.items():
        if not isinstance(value, dict):
            yield _line(name, name, value)
    for table, inner in defaults.items():
        keys = as_dict(inner)
        lines = [
            _line(f"{table}.{name}", name, keys[name])
            for name in keys
            if f"{table}.{name}" not in FIXED
        ]
        if lines:
            yield f"\n[{table}]"
            yield from lines


def _line(key: str, name: str, value: Any) -> str:
    shown = _EXAMPLES.get(key, '""') if value is None else json.dumps(value, ensure_ascii=False)
    return f"# {name} = {shown}"
