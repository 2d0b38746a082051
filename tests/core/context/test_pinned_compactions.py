"""A compaction that could summarize nothing but what is pinned, and stays, would make the context
larger: a person's is refused with the way on, and the automatic one does not begin.
"""

import pytest
from trimpoint.core.decide.trimming import not_smaller, replaced_tokens
from trimpoint_protocol.errors import Reason

from tests.core.auto_compaction import filled, poke, shown, succeed
from tests.core.given import Conversation, compact, started
from tests.core.pinning import pin, unpin

LONG = "many words " * 200


@pytest.mark.parametrize(("keep", "pinned"), [(None, (1, 2, 3)), (None, (1, 2)), (1, (1, 2))])
def test_a_compaction_of_nothing_but_pinned_turns_is_refused_with_the_way_on(
    keep: int | None, pinned: tuple[int, ...]
) -> None:
    thread = started(turns=3)
    pin(thread, *pinned)
    refusal = thread.when(compact(keep)).rejected(Reason.NOT_ENOUGH_MESSAGES)
    assert "pinned" in refusal.message
    assert [hint.command for hint in refusal.hints] == ["/unpin", "/pins", "/compact --force"]
    assert thread.do(compact(keep, force=True)).events


def with_a_long_turn() -> Conversation:
    thread = started(turns=2)
    pin(thread, 1, 2)
    thread.turn("short", LONG)
    return thread


def test_a_compaction_beside_pinned_turns_of_what_is_longer_than_a_summary_begins() -> None:
    assert with_a_long_turn().do(compact()).events


def test_a_compaction_of_the_summary_before_pinned_turns_begins() -> None:
    thread = started(turns=5)
    thread.compact(LONG, 4)
    pin(thread, 2, 3, 4, 5)
    assert thread.do(compact()).events


def test_a_summary_is_weighed_against_what_does_not_stay() -> None:
    thread = with_a_long_turn()
    thread.do(compact())
    operation = thread.state.open_operation
    assert operation is not None
    replaced = replaced_tokens(thread.state, operation)
    refusal = not_smaller(operation, LONG + LONG, replaced)
    assert refusal is not None
    assert not_smaller(operation, LONG[: len(LONG) // 2], replaced) is None


def test_the_automatic_compaction_does_not_begin_where_all_is_pinned_and_says_why() -> None:
    thread = filled(40_000, 95_000)
    pin(thread, 1, 2)
    assert poke(thread) == ()
    status = shown(thread)
    assert (status.state, [hint.command for hint in status.hints or []]) == (
        "idle", ["/unpin", "/pins"],
    )  # fmt: skip
    assert "What could be summarized is pinned." in status.message
    unpin(thread)
    assert poke(thread)
    succeed(thread)
    assert poke(thread) == ()
