"""The entry point of the command line: parses it, runs the command, and turns errors into messages
and exit codes.

Always true: a module that takes long to import is imported only after the command is known, so that
`--help` takes less than 150 ms.
"""

import gc
import importlib
import os
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from types import TracebackType

from trimpoint import first_frame
from trimpoint.cli.characters import write_plainly
from trimpoint.cli.exits import DISK_FULL, CliError, Exit, sole_error
from trimpoint.cli.parsing.arguments import parse
from trimpoint.cli.programs import app_server, codex_itself

# What a command never uses, and what it would import all the same. structlog would take rich for
# tracebacks on a terminal: 7 MB, and a third of the start-up of a daemon, which writes plain ones.
# asyncio takes ssl, which is 5 MB.
_UNUSED = {
    "trimpoint.cli.programs.serve": "rich",
    "trimpoint.cli.programs.acp": "ssl",
}
INTERRUPTED = 130  # what a shell says of a command that Ctrl-C ended


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit code.

    :raises KeyboardInterrupt: after Ctrl-C, when this process is the program `trimpoint`. Python
        then ends it by SIGINT, as the system ends other programs: the shell begins a new line, and
        a script that ran the command ends too.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_missing_streams()
    write_plainly(sys.stdout)
    write_plainly(sys.stderr)
    try:
        return _run(arguments, "trimpoint" if argv is not None else sys.argv[0])
    except KeyboardInterrupt:
        if argv is not None:
            return INTERRUPTED
        sys.excepthook = _without_traceback
        raise
    except BrokenPipeError:
        return _close_broken_pipe()
    except (CliError, OSError, BaseExceptionGroup) as raised:
        error = sole_error(raised)
        if isinstance(error, BrokenPipeError):
            return _close_broken_pipe()
        as_json = bool({"--json", "-j"}.intersection(arguments))
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            code = _report(_disk_full(error), as_json=as_json)
            if error.filename is None:
                _discard(1)  # else Python tries once more at its end, and fails aloud
            return code
        if not isinstance(error, CliError):
            raise
        return _report(error, as_json=as_json)


def _run(arguments: list[str], program: str) -> int:
    codex_itself.hand_over(arguments, program)
    if app_server.is_meant(arguments):
        return app_server.run(arguments)
    try:
        parsed = parse(arguments)
    except SystemExit:
        sys.stdout.flush()  # help was asked for; a full disk is said here, not at Python's end
        raise
    module, _, function = parsed.run.partition(":")
    unused = _without(_UNUSED[module]) if module in _UNUSED else nullcontext()
    with _uninterrupted(), unused, _uncollected():
        command = importlib.import_module(module)
    code = int(getattr(command, function)(parsed))
    sys.stdout.flush()
    return code


def _without_traceback(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, traceback)


@contextmanager
def _uninterrupted() -> Generator[None]:
    """Delays Ctrl-C until the block has ended.

    Python crashes with a segmentation fault if Ctrl-C comes while some extension modules are being
    imported (measured: 3.11.2).
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _uncollected() -> Generator[None]:
    """Stops the garbage collector while the block runs: modules are all kept, and looking for
    cycles among them takes a tenth of the time that their import takes.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def _without(name: str) -> Generator[None]:
    """Makes imports of the module `name` fail while the block runs."""
    before = sys.modules.get(name)
    # Python takes None for a module that does not exist.
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before


def _open_missing_streams() -> None:
    """Opens /dev/null for each standard stream that the caller has closed, so that no file that is
    opened later gets its file descriptor.
    """
    for fd, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
        try:
            os.fstat(fd)
        except OSError:
            opened = os.open(os.devnull, os.O_RDONLY if fd == 0 else os.O_WRONLY)
            if opened != fd:
                os.dup2(opened, fd)
                os.close(opened)
        if getattr(sys, name) is None:
            mode = "r" if fd == 0 else "w"
            stream = open(fd, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def _disk_full(error: OSError) -> CliError:
    place = error.filename or "where the output goes"
    return CliError(
        f"{place}: {error.strerror}.",
        "Free disk space, then run the command again.",
        reason="no_space",
    )


def _report(error: CliError, *, as_json: bool) -> int:
    first_frame.end()
    try:
        if as_json:
            from trimpoint.cli.json_output import print_json

            facts = {"reason": error.reason, "message": error.message, "hint": error.hint}
            print_json({"error": facts})
        else:
            from trimpoint.cli.terminal import show_error

            show_error(error)
    except OSError:
        _discard(1)
        _discard(2)
    return error.code


def _close_broken_pipe() -> int:
    """Discards buffered output whose reader has exited, as `head` does, and returns the exit code
    0.
    """
    _discard(1)
    return Exit.DONE


def _discard(fd: int) -> None:
    null_fd = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_fd, fd)
    os.close(null_fd)
