"""Prints the processor time of the tests by folder, their processes included, so that one sees
what makes the suite slow. A process counts once its parent has waited for it.
"""

import os
from collections import Counter
from collections.abc import Generator

import pytest

TESTS = "tests"
DEEPER = frozenset({"cli", "e2e"})  # large ones, of which each folder is shown
AT_LEAST_S = 5.0
HANDED_OVER = "processor_seconds"

_seconds: Counter[str] = Counter()


def _used() -> float:
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    before = _used()
    try:
        return (yield)
    finally:
        _seconds[_folder(item)] += _used() - before


def _folder(item: pytest.Item) -> str:
    folders = item.nodeid.partition("::")[0].split("/")[:-1]
    shown = folders[1:] if folders[:1] == [TESTS] else folders
    return "/".join(shown[: 2 if shown and shown[0] in DEEPER else 1]) or TESTS


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hands the times of a worker to the process that prints the report."""
    if session.config.getoption("numprocesses", None):
        return  # it only hands out the tests
    _seconds["collecting"] = _used() - _seconds.total()
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output[HANDED_OVER] = dict(_seconds)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    _seconds.update(getattr(node, "workeroutput", {}).get(HANDED_OVER, {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _seconds.total() < AT_LEAST_S:
        return
    shown = [f"{name} {spent:.0f}" for name, spent in _seconds.most_common() if spent >= 1]
    terminalreporter.write_line(
        f"processor seconds: {_seconds.total():.0f} in all; {', '.join(shown)}"
    )
