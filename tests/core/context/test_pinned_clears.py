"""A `/clear` that would take nothing but pinned turns is refused, because they stay."""

import pytest
from trimpoint.core.context.injections import injection
from trimpoint_protocol.errors import Reason

from tests.core.given import raw_message, started, trim
from tests.core.pinning import pin, said, shown, unpin


@pytest.mark.parametrize(("keep", "pinned"), [(0, (1, 2, 3)), (1, (1, 2)), (2, (1,))])
def test_a_clear_of_nothing_but_pinned_turns_is_refused_with_the_way_on(
    keep: int, pinned: tuple[int, ...]
) -> None:
    thread = started(turns=3)
    pin(thread, *pinned)
    refusal = thread.when(trim(keep)).rejected(Reason.NOTHING_TO_TRIM)
    assert "pinned" in refusal.message
    assert [hint.command for hint in refusal.hints] == ["/unpin", "/pins"]
    assert shown(thread.state) == said(1, 2, 3)
    unpin(thread, 1)
    thread.clear(keep)
    kept = [number for number in (1, 2, 3) if number in pinned[1:] or number > 3 - keep]
    assert shown(thread.state) == said(*kept)


def test_a_clear_of_pinned_turns_that_takes_a_summary_is_none_of_nothing() -> None:
    thread = started(turns=2)
    thread.compact("in short", 1)
    pin(thread, 2)
    thread.clear(0)
    assert shown(thread.state) == said(2)


def test_a_clear_of_pinned_turns_that_brings_a_summary_is_none_of_nothing() -> None:
    thread = started(turns=1)
    pin(thread, 1)
    thread.clear(0, summary="by hand")
    [summary, *rest] = shown(thread.state)
    assert "by hand" in summary
    assert rest == said(1)


@pytest.mark.parametrize("keep", [0, 1])
def test_a_clear_of_pinned_turns_that_takes_injected_items_is_none_of_nothing(keep: int) -> None:
    thread = started()
    thread.report(*injection(thread.state, [raw_message("user", "injected")]))
    thread.turn()
    thread.turn()
    pin(thread, 1, 2)
    thread.clear(keep)
    assert shown(thread.state) == said(1, 2)
