"""Fixtures and hooks for all tests: signals as in a terminal, the marker of tests that start
processes, and a guard for tests without it.

A fast test starts no process. Every other test has the marker `processes`: a test with the real
Codex, a test in one of the folders below, or a test that sets it. `scripts/test --fast` runs the
fast tests.
"""

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.covering import MEASURED_MODULES
from tests.effort import tries
from tests.forking.client import Forking

pytest_plugins = ("tests.selection", "tests.processor_time")

TESTS = Path(__file__).parent
PLATFORM = os.environ.get("TRIMPOINT_PLATFORM") or sys.platform
FOLDERS_WITH_PROCESSES = frozenset({"clients", "e2e", "fuzz", "git"})
STARTS_A_PROCESS = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "subprocess.Popen",
    }
)

# `coverage run` has it inherited by every program, which then measures itself.
COVERAGE_VARIABLE = "COVERAGE_PROCESS_CONFIG"


def _reset_signals() -> None:
    """Resets signals that a shell or `nohup` makes background jobs ignore.

    Every process that a test starts would inherit them, and ignore Ctrl-C. Python itself ignores
    SIGPIPE and SIGXFSZ.
    """
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


class ProcessGuard:
    """Fails a test that starts a process while `watches` is set. An audit hook cannot be removed,
    so there is one for the whole run.
    """

    def __init__(self) -> None:
        self.watches = False
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.watches and event in STARTS_A_PROCESS:
            # Not an Exception: the code under test would take it for a program that cannot be
            # started.
            pytest.fail(
                f"A fast test starts a process ({event}: {arguments[0]!r}). Mark it: @pytest.mark.processes"
            )


# No test asserts how long anything takes, on a busy machine least of all.
settings.register_profile(
    "untimed",
    deadline=None,
    max_examples=tries(50),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("untimed")
# A repository in the folder of temporary files is none of a test in it, nor of its programs.
os.environ["GIT_CEILING_DIRECTORIES"] = os.path.realpath(tempfile.gettempdir())
_reset_signals()
_guard = ProcessGuard()
_coverage_config = os.environ.get(COVERAGE_VARIABLE)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Returns asyncio, the only event loop of trimpoint; older versions of anyio would run each
    test on trio too.
    """
    return "asyncio"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out folders without a fast test where only those run, for importing them takes long."""
    if config.getoption("markexpr") != "not processes" or TESTS not in collection_path.parents:
        return None
    folder = collection_path.relative_to(TESTS).parts[0]
    return True if folder in FOLDERS_WITH_PROCESSES else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks every test that starts processes, before `-m` selects tests."""
    for item in items:
        path = item.path.relative_to(TESTS)
        if path.parts[0] in FOLDERS_WITH_PROCESSES or item.get_closest_marker("codex"):
            item.add_marker("processes")
        if path.as_posix() in MEASURED_MODULES:
            item.add_marker("measured")
        if PLATFORM != "linux" and (mark := item.get_closest_marker("linux")):
            item.add_marker(pytest.mark.skip(f"only on Linux: {mark.args[0]}"))


def pytest_collection_finish() -> None:
    """Excludes the collected tests from garbage collection. They live for the whole run, and each
    collection would visit them all.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Collects garbage after a test, so that a warning about an unclosed resource belongs to the
    test that left it open.
    """
    if item.get_closest_marker("processes"):
        gc.collect()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Prints how to repeat the order of tests. pytest prints it at the beginning, but not in quiet
    mode.
    """
    if config.pluginmanager.hasplugin("randomly") and config.getoption("randomly_reorganize"):
        terminalreporter.write_line(
            f"random order: --randomly-seed={config.getoption('randomly_seed')}"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Sets the guard's `watches` while a fast test is set up, runs and is torn down."""
    fast = item.get_closest_marker("processes") is None
    measured = item.get_closest_marker("measured") is not None
    _guard.watches = fast
    Forking.set_for(item.path.relative_to(TESTS).as_posix())
    _measure_children(wanted=measured)
    try:
        return (yield)
    finally:
        _guard.watches = False
        Forking.enabled = False


def _measure_children(*, wanted: bool) -> None:
    """Switches the measurement of coverage in child processes on or off."""
    if _coverage_config is None:
        return
    if wanted:
        os.environ[COVERAGE_VARIABLE] = _coverage_config
    else:
        os.environ.pop(COVERAGE_VARIABLE, None)
