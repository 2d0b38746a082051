"""What is left out by default, and that no test is lost by it."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.selection import left_out, never_run_first, some_cases


class Case(SimpleNamespace):
    """A test's case, as far as the selection looks at it."""

    __hash__ = object.__hash__

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return [mark for mark in self.marks if mark.name == name]

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next(iter(self.iter_markers(name)), None)


def cases(*marks: pytest.MarkDecorator, name: str = "test", **counts: int) -> list[Any]:
    """Returns a test's cases: of each parameter, so many values."""
    combinations: list[dict[str, int]] = [{}]
    for parameter, count in counts.items():
        combinations = [{**one, parameter: index} for one in combinations for index in range(count)]
    return [
        Case(
            nodeid=f"tests/a.py::{name}[{'-'.join(map(str, one.values()))}]",
            callspec=SimpleNamespace(params=one),
            marks=[mark.mark for mark in marks],
        )
        for one in combinations
    ]


def kept(items: list[Any], seed: str = "1") -> list[Any]:
    out = left_out(items, seed)
    return [item for item in items if item not in out]


def test_one_case_of_a_test_is_chosen_by_the_runs_seed() -> None:
    items = [*cases(a=3, b=4), *cases(name="other", a=2)]
    chosen = [kept(items, seed) for seed in map(str, range(80))]
    assert {len(one) for one in chosen} == {2}
    assert chosen[0] == kept(items, "0")
    assert {item.nodeid for one in chosen for item in one} == {item.nodeid for item in items}


@pytest.mark.parametrize("restarted", [False, True])
def test_an_eighth_of_what_chance_decides_is_chosen_by_the_runs_seed(*, restarted: bool) -> None:
    items = cases(a=20) if restarted else cases(seed=4, a=5)
    for item in items:
        item.callspec.params |= {"harness": "restarted"} if restarted else {}
    chosen = [kept(items, seed) for seed in map(str, range(80))]
    assert {len(one) for one in chosen} == {3}
    assert chosen[0] == kept(items, "0")
    assert {item.nodeid for one in chosen for item in one} == {item.nodeid for item in items}


def test_what_is_marked_thorough_is_left_out() -> None:
    assert kept(cases(pytest.mark.thorough(reason="as another"), a=2)) == []


def test_each_case_of_a_table_of_rules_stays() -> None:
    items = cases(pytest.mark.each_case(reason="each is another rule"), a=3, b=2)
    assert kept(items) == items


def test_a_share_of_the_tests_is_chosen_whole_by_the_runs_seed() -> None:
    tests = [f"test_{number}" for number in range(60)]
    table = pytest.mark.each_case(reason="each is another rule")
    items = [case for name in tests for case in cases(table, name=name, a=3)]
    chosen = []
    for seed in map(str, range(40)):
        out = left_out(items, seed, 4)
        names = [item.nodeid.partition("[")[0] for item in items if item not in out]
        assert all(names.count(name) == 3 for name in set(names))
        assert 5 <= len(set(names)) <= 30
        chosen.append(set(names))
    assert len(set.union(*chosen)) == len(tests)


def test_what_no_other_run_has_is_first_in_what_was_left_out() -> None:
    run, covered, never = (cases(name=name, a=3) for name in ("run", "covered", "never"))
    items = [*run, *covered, *never]
    rest = [*run[1:], *covered, *never]
    expected = [never[0], *run[1:], *covered[1:], *never[1:]]
    assert never_run_first(items, rest, covered[:1]) == expected


def test_at_most_so_many_cases_of_each_test_are_chosen_by_the_runs_seed() -> None:
    items = [*cases(a=9), *cases(name="other", a=2)]
    chosen = [some_cases(items, seed, 4) for seed in map(str, range(40))]
    assert {len(one) for one in chosen} == {6}
    assert {item.nodeid for one in chosen for item in one} == {item.nodeid for item in items}
