"""Sets of indices and the window that is simulated with them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from trimpoint.sessionlogs.ranges import Ranges
from trimpoint.sessionlogs.window import ACTIVE, NEVER_LIVE, Fates, MessageState, Window

SETS = st.sets(st.integers(0, 40))


@given(SETS, SETS)
def test_ranges_are_sets(one: set[int], other: set[int]) -> None:
    first, second = Ranges.of(one), Ranges.of(other)
    assert list(first.minus(second)) == sorted(one - other)
    assert list(first.plus(second)) == sorted(one | other)
    assert list(first.both(second)) == sorted(one & other)
    assert list(first.before(20)) == sorted(index for index in one if index < 20)
    assert len(first) == len(one)
    assert first.highest() == max(one, default=-1)
    assert [index in first for index in range(42)] == [index in one for index in range(42)]


@given(SETS)
def test_ranges_are_packed_and_unpacked(members: set[int]) -> None:
    assert Ranges.unpacked(Ranges.of(members).packed()) == Ranges.of(members)


@given(SETS, st.lists(SETS, max_size=4))
def test_a_message_has_the_state_of_the_newest_removal_unless_it_is_live(
    live: set[int], removed: list[set[int]]
) -> None:
    removals = [(one, MessageState(False, 0, str(at))) for at, one in enumerate(removed)]
    fates = Fates(
        41, Ranges.of(live), ((Ranges.of(one).packed(), state) for one, state in removals)
    )
    for index in range(41):
        newest = next((state for one, state in removals if index in one), NEVER_LIVE)
        assert fates.of(index) == (ACTIVE if index in live else newest)


@given(SETS)
def test_ranges_have_no_runs_that_touch(members: set[int]) -> None:
    runs = Ranges.of(members).runs
    assert all(end < start for (_, end), (start, _) in pairwise(runs))


def test_a_boundary_takes_out_what_it_does_not_keep() -> None:
    window = Window()
    for _ in range(4):
        window.add()
    assert list(window.replace(Ranges.of([1]), "then")) == [0, 2, 3]
    fates = window.fates()
    assert [fates.of(index).compacted_at for index in range(4)] == ["then", None, "then", "then"]
    assert [fates.of(index).active for index in (3, 1)] == [False, True]


def test_a_rewind_takes_back_nothing_twice() -> None:
    window = Window()
    window.add()
    place = window.place()
    window.add()
    assert list(window.rewind(place)) == [1]
    window.add()
    assert list(window.rewind(place)) == [2]
    assert list(window.rewind(place)) == []
    assert window.branches == 2


def test_a_rewind_behind_a_boundary_brings_back_what_that_took() -> None:
    window = Window()
    window.add()
    window.add()
    window.replace(Ranges(), "then")
    window.add()
    assert list(window.rewind_before(1)) == [1, 2]
    assert list(window.live) == [0]
    assert window.fates().undone == {0}


def test_a_message_that_was_never_live_is_not_taken_back() -> None:
    window = Window()
    place = window.place()
    window.add(live=False)
    assert list(window.rewind(place)) == []
    assert not window.fates().of(0).active


def test_a_window_that_was_put_together_anew_is_what_is_live() -> None:
    window = Window()
    for _ in range(3):
        window.add()
    window.rewind_dropping(Ranges.of([2]))
    window.relive(Ranges.of([0, 2]))
    assert list(window.live) == [0, 2]
