"""The console entry: reads the command line, runs the command, turns how it ended into a message and an exit code.

The law: nothing heavy is imported before it is known which command it is (`--help` takes less than 150 ms).
"""

import importlib
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext

from trimpoint.cli.daemon_commands import app_server
from trimpoint.cli.exits import CliError, Exit, sole_error
from trimpoint.cli.parsing.arguments import parse

_DAEMON = "trimpoint.cli.daemon_commands.serve"
INTERRUPTED = 130  # what a shell says of a command that Ctrl-C ended


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _close_broken_pipe()
    except (CliError, BaseExceptionGroup) as raised:
        error = sole_error(raised)
        if not isinstance(error, CliError):
            raise
        return _report(error, as_json="--json" in arguments)


def _run(arguments: list[str]) -> int:
    if app_server.is_meant(arguments):
        return app_server.run(arguments)
    parsed = parse(arguments)
    module, _, function = parsed.run.partition(":")
    with _without_rich() if module == _DAEMON else nullcontext():
        command = importlib.import_module(module)
    code = int(getattr(command, function)(parsed))
    sys.stdout.flush()
    return code


@contextmanager
def _without_rich() -> Generator[None]:
    """Has no module find rich while the block runs.

    structlog would import it for tracebacks on a terminal. That is 7 MB and a third of the start-up of a daemon, which
    writes plain tracebacks.
    """
    sys.modules["rich"] = None  # type: ignore[assignment] # what Python reads as: there is no such module
    try:
        yield
    finally:
        del sys.modules["rich"]


def _report(error: CliError, *, as_json: bool) -> int:
    try:
        if as_json:
            import json

            document = {"error": {"reason": error.reason, "message": error.message, "hint": error.hint}}
            print(json.dumps(document, ensure_ascii=False), flush=True)
        else:
            from trimpoint.cli.terminal import show_error

            show_error(error)
    except BrokenPipeError:
        _close_broken_pipe()
    return error.code


def _close_broken_pipe() -> int:
    """Whoever read our output has gone, as `head` does; what Python still holds back for it goes nowhere."""
    null_fd = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_fd, 1)
    os.close(null_fd)
    return Exit.DONE
