"""What is left out by default, and that no test is lost by it."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.selection import left_out


class Case(SimpleNamespace):
    """A test's case, as far as the selection looks at it."""

    __hash__ = object.__hash__

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return [mark for mark in self.marks if mark.name == name]

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next(iter(self.iter_markers(name)), None)


def cases(*marks: pytest.MarkDecorator, **counts: int) -> list[Any]:
    """Returns a test's cases: of each parameter, so many values."""
    combinations: list[dict[str, int]] = [{}]
    for name, count in counts.items():
        combinations = [{**one, name: index} for one in combinations for index in range(count)]
    own = [pytest.mark.parametrize(name, range(count)).mark for name, count in counts.items()]
    return [
        Case(
            nodeid=f"tests/a.py::test[{'-'.join(map(str, one.values()))}]",
            callspec=SimpleNamespace(params=one),
            marks=[*own, *(mark.mark for mark in marks)],
        )
        for one in combinations
    ]


def kept(items: list[Any], seed: str = "1") -> list[Any]:
    out = left_out(items, seed)
    return [item for item in items if item not in out]


@pytest.mark.parametrize("seed", "12345")
def test_each_value_and_each_pair_of_three_parameters_stays(seed: str) -> None:
    single, double, triple = cases(a=5), cases(a=3, b=4), cases(a=2, b=3, c=4)
    assert kept(single, seed) == single
    of_two = [item.callspec.params for item in kept(double, seed)]
    assert {one["a"] for one in of_two} == {0, 1, 2}
    assert {one["b"] for one in of_two} == {0, 1, 2, 3}
    assert len(of_two) <= 7
    of_three = [item.callspec.params for item in kept(triple, seed)]
    for one, other, pairs in (("a", "b", 6), ("a", "c", 8), ("b", "c", 12)):
        assert len({(case[one], case[other]) for case in of_three}) == pairs
    assert len(of_three) < 24


def test_parameters_that_are_set_together_are_one() -> None:
    items = cases(a=4)
    for item in items:
        item.callspec.params["b"] = 0
        item.marks = [pytest.mark.parametrize(("a", "b"), [(1, 2)] * 4).mark]
    assert kept(items) == items


def test_one_seed_of_several_is_kept_with_each_value() -> None:
    assert len(kept(cases(seed=6))) == 1
    by_value = [item.callspec.params["a"] for item in kept(cases(seed=6, a=3))]
    assert sorted(by_value) == [0, 1, 2]


def test_a_fifth_of_the_restarted_cases_is_chosen_by_the_runs_seed() -> None:
    items = cases(a=12)
    for item in items:
        item.callspec.params["harness"] = "restarted"
    chosen = [kept(items, seed) for seed in map(str, range(40))]
    assert {len(one) for one in chosen} == {3}
    assert chosen[0] == kept(items, "0")
    assert {item.nodeid for one in chosen for item in one} == {item.nodeid for item in items}


def test_what_is_marked_thorough_is_left_out() -> None:
    assert kept(cases(pytest.mark.thorough(reason="as another"), a=2)) == []
