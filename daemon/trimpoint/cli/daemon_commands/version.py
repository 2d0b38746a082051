"""`trimpoint --version`: prints the versions that a bug report needs."""

import argparse
import platform
from collections.abc import Iterator

from trimpoint_protocol.methods import METHODS, NOTIFICATIONS

from trimpoint import __version__
from trimpoint.cli.connection.settings import codex_binary
from trimpoint.cli.exits import CliError, Exit
from trimpoint.cli.terminal import print_json
from trimpoint.codex.appserver.versions import (
    NEWEST_TESTED,
    OLDEST_SUPPORTED,
    binary_version,
    version_text,
)


def run(arguments: argparse.Namespace) -> int:
    """Prints the versions."""
    lines = list(version_lines())
    if arguments.json:
        print_json({"trimpoint": __version__, "details": lines[1:]})
    else:
        print("\n".join(lines))
    return Exit.DONE


def version_lines() -> Iterator[str]:
    """Yields trimpoint's version first, so that scripts can take the first line; then those of
    Python, Codex and the protocol.
    """
    yield f"trimpoint {__version__}"
    yield f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    yield f"Codex {_codex()}"
    yield (
        f"protocol: {len(METHODS)} methods and {len(NOTIFICATIONS)} notifications "
        "beside Codex's own"
    )


def _codex() -> str:
    tested = f"tested are {version_text(OLDEST_SUPPORTED)} to {version_text(NEWEST_TESTED)}"
    try:
        binary = codex_binary(argparse.Namespace(config=None, codex=None))
    except CliError as error:
        return f"not found: {error.message} {tested.capitalize()}."
    version = binary_version(binary)
    return f"{version_text(version) if version else 'of unknown version'}, {binary} ({tested})"
