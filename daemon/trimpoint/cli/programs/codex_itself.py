"""Runs the real Codex for commands that are not trimpoint's: Codex's subcommands, and everything
but `app-server` if trimpoint was called as `codex`.

Modules that take long to import are imported only after it is known whose command it is.
"""

import argparse
import importlib
import os
import sys
from pathlib import Path
from typing import NoReturn

from trimpoint.cli.programs.app_server import NAME, first_word

CODEX = "codex"
# The commands of Codex (0.171) that trimpoint has none of the same name for. `trimpoint codex WORD`
# reaches the rest.
COMMANDS = frozenset(
    {
        "a", "agents", "apply", "cloud", "debug", "e", "exec", "exec-server", "features", "login",
        "logout", "mcp", "mcp-server", "migrate-rollouts", "plugin", "queue", "remote-control",
        "resume", "review", "sandbox", "update",
    }
)  # fmt: skip
# Codex's own tools for its app-server: nothing of a conversation passes through them.
_OF_APP_SERVER = frozenset({"daemon", "generate-ts", "generate-json-schema"})
_VERSION = frozenset({"--version", "-V"})


def hand_over(arguments: list[str], program: str) -> None:
    """Replaces this process by Codex if the command line is Codex's; returns if it is trimpoint's.

    :param program: the name that trimpoint was called by.
    :raises CliError: when there is no usable Codex.
    """
    word = first_word(arguments)
    if word == NAME:
        rest = arguments[arguments.index(NAME) + 1 :]
        if _VERSION.intersection(rest):
            become(["--version"])
        if _OF_APP_SERVER.intersection(rest):
            become(arguments)
    elif arguments[:1] == [CODEX]:
        become(arguments[1:])
    elif word in COMMANDS or os.path.basename(program) == CODEX:
        become(arguments)


def become(arguments: list[str]) -> NoReturn:
    """Replaces this process by the real Codex."""
    settings = importlib.import_module("trimpoint.cli.connection.settings")
    codex: Path = settings.codex_binary(argparse.Namespace(config=None, codex=None))
    sys.stdout.flush()
    os.execv(codex, [CODEX, *arguments])
