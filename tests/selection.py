"""Which tests run by default, and which only with `--thorough` (tests/README.md says why).

By default a test with processes runs

- only if it is in the quarter that the seed of the run chooses,
- with one of its cases, or with all if it is marked `each_case`,
- only if it is in the eighth that the seed chooses, where chance decides what happens (a parameter
  named `seed`) or there is a restart before each act,
- not at all if it is marked `thorough`.

`scripts/test --fast` runs at most three cases of each test.

Where a folder is named on the command line no test is left out for its quarter, and where a file
or a test is named all its cases run. The seed is the one that the end of the report names: the
same seed chooses the same cases, the next run has others.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path

import pytest

from tests.covering import covering, import_all
from tests.effort import FEW_CASES, few

SHARE = 4
CHANCE_SHARE = 8
NOT_REACHED = "not reached in the time that --time-box gives"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("trimpoint")
    group.addoption("--thorough", action="store_true", help="run all tests")
    group.addoption(
        "--left-out", action="store_true", help="run what neither the default nor --covering runs"
    )
    group.addoption(
        "--covering", action="store_true", help="run only the tests that the coverage gates need"
    )
    group.addoption(
        "--one-in", type=int, metavar="N", help="run one in N of the tests that start processes"
    )
    group.addoption(
        "--time-box",
        type=float,
        metavar="SECONDS",
        help="begin no test after this time, and name those that were not reached",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "thorough(reason): runs only with --thorough, or when its file is named"
    )
    config.addinivalue_line(
        "markers", "each_case(reason): runs by default with all its cases, which are cheap"
    )
    seconds = config.getoption("time_box")
    if seconds is not None:
        config.pluginmanager.register(TimeBox(seconds))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects what the default leaves out, or with `--left-out` everything else."""
    if config.getoption("covering"):
        import_all()
        _keep(config, items, set(covering(items)))
        return
    if config.getoption("thorough"):
        return
    if few():
        _keep(config, items, set(some_cases(items, seed_of(config), FEW_CASES)))
        return
    named = {path for path in map(_file_of, config.args) if path.is_file()}
    candidates = [
        item for item in items if item.get_closest_marker("processes") and item.path not in named
    ]
    all_folders = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    share = config.getoption("one_in") or (SHARE if all_folders else 1)
    rest = left_out(candidates, seed_of(config), share)
    if config.getoption("left_out"):
        items[:] = never_run_first(items, rest, covering(items))
        return
    _keep(config, items, set(items) - set(rest))


def _keep(config: pytest.Config, items: list[pytest.Item], kept: set[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def _file_of(argument: str) -> Path:
    return Path(argument.partition("::")[0]).resolve()


def seed_of(config: pytest.Config) -> str:
    return str(config.getoption("randomly_seed", 0))


def some_cases(items: Iterable[pytest.Item], seed: str, at_most: int) -> list[pytest.Item]:
    """Returns at most so many cases of each test, those that the seed chooses."""
    counts: Counter[str] = Counter()
    chosen = []
    for item in sorted(items, key=_order(seed)):
        counts[_test_of(item)] += 1
        if counts[_test_of(item)] <= at_most:
            chosen.append(item)
    return chosen


def left_out(items: Iterable[pytest.Item], seed: str, share: int = 1) -> list[pytest.Item]:
    """Returns those of the items that run only with `--thorough`. Of the tests, one in `share`
    runs without it.
    """
    shuffled = sorted(items, key=_order(seed))
    by_chance = [item for item in shuffled if _is_by_chance(item)]
    chosen = set(by_chance[: -(-len(by_chance) // CHANCE_SHARE)])
    seen: set[str] = set()
    out: list[pytest.Item] = []
    for item in shuffled:
        test = _test_of(item)
        if item.get_closest_marker("thorough") or _hash(seed, test) % share:
            out.append(item)
        elif _is_by_chance(item):
            if item not in chosen:
                out.append(item)
        elif test in seen and not item.get_closest_marker("each_case"):
            out.append(item)
        else:
            seen.add(test)
    return out


def never_run_first(
    items: Sequence[pytest.Item], rest: Iterable[pytest.Item], covering: Iterable[pytest.Item]
) -> list[pytest.Item]:
    """Returns those of the rest that the coverage gates do not run, for a run that may end early:
    one case of each test that has not run at all, then the others, both in the order of the items.
    """
    out = set(rest)
    elsewhere = set(covering)
    seen = {_test_of(item) for item in items if item not in out or item in elsewhere}
    first, later = [], []
    for item in items:
        if item in out and item not in elsewhere:
            (later if _test_of(item) in seen else first).append(item)
            seen.add(_test_of(item))
    return first + later


def _test_of(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _order(seed: str) -> Callable[[pytest.Item], int]:
    return lambda item: _hash(seed, item.nodeid)


def _hash(seed: str, name: str) -> int:
    return int.from_bytes(blake2b(f"{seed} {name}".encode(), digest_size=8).digest())


def _is_by_chance(item: pytest.Item) -> bool:
    values = item.callspec.params if hasattr(item, "callspec") else {}
    return "seed" in values or "restarted" in {values.get("harness"), values.get("sealed_harness")}


class TimeBox:
    """Begins no test when its time is over, so that the rest of a run's time bounds it."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if time.monotonic() > self._end:
            pytest.skip(NOT_REACHED)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        missed = [
            report.nodeid
            for report in terminalreporter.stats.get("skipped", [])
            if NOT_REACHED in str(report.longrepr)
        ]
        for nodeid in sorted(missed):
            terminalreporter.write_line(f"not reached: {nodeid}")
