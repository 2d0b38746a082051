"""Where a context may be split: the properties of a split, for random and for hand-written
histories.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from trimpoint.core.context.split_point import find_split

from tests.core.given import raw, raw_message

CALLS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "tool_search_call": "tool_search_output",
}
MODEL_SAYS = ("reasoning", "web_search_call", *CALLS)


def call(call_id: str, kind: str = "function_call") -> bytes:
    return raw(type=kind, call_id=call_id, name="exec_command", arguments="{}")


def output(call_id: str, kind: str = "function_call") -> bytes:
    return raw(type=CALLS[kind], call_id=call_id, output="done")


def think(sealed: str = "sealed") -> bytes:
    return raw(type="reasoning", summary=[], encrypted_content=sealed)


def ask(text: str = "go") -> bytes:
    return raw_message("user", text)


def answer(text: str = "done") -> bytes:
    return raw_message("assistant", text)


def cut(items: Sequence[bytes], *, share: float = 1.0, at_least: int = 0) -> int | None:
    """Splits items that all have the same size."""
    return find_split(items, [1] * len(items), oldest_share=share, min_messages=at_least)


# --- histories at random
# --------------------------------------------------------------------------------------------

# Few ids, so that they are used again and by calls at the same time.
CALL_IDS = st.sampled_from(["c1", "c2", "c3"])
KINDS = st.sampled_from(sorted(CALLS))
ITEMS = st.one_of(
    st.builds(ask),
    st.builds(answer),
    st.builds(think),
    st.builds(call, CALL_IDS, KINDS),
    st.builds(output, CALL_IDS, KINDS),
    st.just(raw(type="web_search_call", id="ws_1", status="completed")),
    st.just(raw(type="compaction", encrypted_content="blob")),
)
HISTORIES = st.lists(ITEMS, max_size=40)


@st.composite
def conversations(draw: st.DrawFn) -> list[bytes]:
    """Draws items as Codex records them: answers of the model with reasoning, texts and calls, then
    the results of the calls.
    """
    items: list[bytes] = []
    for turn in range(draw(st.integers(1, 6))):
        items.append(ask(f"prompt {turn}"))
        for step in range(draw(st.integers(0, 3))):
            items += [think()] * draw(st.booleans()) + [answer("I will look.")] * draw(
                st.booleans()
            )
            asked = [(f"{turn}.{step}.{n}", draw(KINDS)) for n in range(draw(st.integers(0, 3)))]
            items += [call(*one) for one in asked]
            items += [output(*one) for one in draw(st.permutations(asked))]
        items += [think()] * draw(st.booleans()) + [answer(f"answer {turn}")] * draw(st.booleans())
    return items


def types(items: Sequence[bytes]) -> list[str]:
    decoded: list[dict[str, Any]] = [msgspec.json.decode(item) for item in items]
    return [str(item.get("role", item["type"])) for item in decoded]


def message_count(items: Sequence[bytes]) -> int:
    return sum(kind in ("user", "assistant") for kind in types(items))


def parts_a_call(items: Sequence[bytes], at: int) -> bool:
    """Returns whether a result behind the cut answers a call before it. A result belongs to the
    newest open call with its id.
    """
    open_calls: dict[str, list[int]] = {}
    for position, item in enumerate(msgspec.json.decode(item) for item in items):
        if item["type"] in CALLS:
            open_calls.setdefault(item["call_id"], []).append(position)
        elif (
            item["type"] in CALLS.values()
            and open_calls.get(item["call_id"])
            and open_calls[item["call_id"]].pop() < at <= position
        ):
            return True
    return False


def parts_a_thought(items: Sequence[bytes], at: int) -> bool:
    """Returns whether the cut separates items that the model produced in one answer after
    reasoning.
    """
    kinds = types(items)
    if at == len(kinds) or kinds[at] == "reasoning" or kinds[at] not in ("assistant", *MODEL_SAYS):
        return False
    before = kinds[:at]
    while before and before[-1] in ("assistant", "web_search_call", *CALLS):
        before.pop()
    return bool(before) and before[-1] == "reasoning"


def may_cut(items: Sequence[bytes], at: int) -> bool:
    return (
        types(items)[at - 1] == "assistant"
        and not parts_a_call(items, at)
        and not parts_a_thought(items, at)
    )


@given(
    items=HISTORIES | conversations(),
    tokens=st.data(),
    share=st.sampled_from([0.0, 0.5, 0.75, 1.0]),
    at_least=st.integers(0, 12),
    beyond=st.integers(0, 6),
)
@example(items=[], tokens=None, share=0.75, at_least=0, beyond=0)
def test_of_all_places_the_last_one_within_the_share_is_chosen_or_the_first_beyond(
    items: list[bytes], tokens: st.DataObject | None, share: float, at_least: int, beyond: int
) -> None:
    count = len(items)
    costs = (
        tokens.draw(st.lists(st.integers(0, 50), min_size=count, max_size=count))
        if tokens is not None
        else []
    )
    places = [
        at
        for at in range(1, count + 1)
        if may_cut(items, at) and message_count(items[:at]) >= at_least and at >= beyond
    ]
    within = [at for at in places if sum(costs[:at]) <= share * sum(costs)]
    expected = within[-1] if within else places[0] if places else None
    assert (
        find_split(items, costs, oldest_share=share, min_messages=at_least, min_items=beyond)
        == expected
    )


@given(items=conversations())
def test_both_sides_of_a_cut_hold_whole_calls_only(items: list[bytes]) -> None:
    at = cut(items, share=0.75)
    for side in (items[:at], items[at:]) if at is not None else ():
        decoded = [msgspec.json.decode(item) for item in side]
        called = [item["call_id"] for item in decoded if item["type"] in CALLS]
        answered = [item["call_id"] for item in decoded if item["type"] in CALLS.values()]
        assert sorted(called) == sorted(answered)


# --- one at a time
# --------------------------------------------------------------------------------------------------


def test_the_oldest_three_quarters_and_at_least_ten_messages_go_unless_said_otherwise() -> None:
    assert find_split([ask(), answer()] * 10, [1] * 20) == 14
    assert find_split([ask(), answer()] * 5, [1] * 10) == 10
    assert find_split([ask(), answer()] * 4 + [ask()], [1] * 9) is None


def test_the_split_depends_on_tokens_and_not_on_the_number_of_items() -> None:
    assert find_split([ask(), answer()] * 3, [1, 1, 1, 1, 50, 50], min_messages=2) == 4
    assert find_split([ask(), answer()] * 3, [50, 50, 1, 1, 1, 1], min_messages=2) == 2


@pytest.mark.parametrize("kind", sorted(CALLS))
def test_a_call_stays_with_its_result(kind: str) -> None:
    assert cut([ask(), call("c1", kind), answer(), output("c1", kind)]) is None
    assert cut([ask(), call("c1", kind), output("c1", kind), answer()]) == 4


def test_calls_made_at_the_same_time_stay_together() -> None:
    assert (
        cut([call("c1"), call("c2"), output("c2"), answer(), output("c1"), answer("later"), ask()])
        == 6
    )


def test_a_call_that_was_never_answered_blocks_no_other() -> None:
    assert cut([ask(), call("c1"), answer(), ask()]) == 3


def test_a_result_belongs_to_the_call_before_it_however_often_the_id_is_used() -> None:
    assert cut([call("c1"), output("c1"), answer(), call("c1"), output("c1")]) == 3


@pytest.mark.parametrize("last", [ask(), output("c1"), call("c1"), think()])
def test_a_split_is_only_possible_behind_an_answer(last: bytes) -> None:
    assert cut([ask(), last]) is None


def test_a_thought_is_not_parted_from_the_call_that_came_of_it() -> None:
    assert cut([ask(), think(), answer("I will look."), call("c1"), output("c1")]) is None
    assert cut([ask(), answer("I will look."), call("c1"), output("c1")]) == 2


def test_another_thought_begins_something_else() -> None:
    assert cut([ask(), think(), answer("first"), think(), call("c1"), output("c1")]) == 3


def test_with_the_result_the_thought_is_over() -> None:
    assert (
        cut([ask(), think(), call("c1"), output("c1"), answer("done"), call("c2"), output("c2")])
        == 5
    )
