"""Discards of random threads keep calls together with their results, and respect the floor."""

from collections import Counter
from typing import Any

import msgspec
from hypothesis import example, settings
from hypothesis import given as drawn
from hypothesis import strategies as st
from trimpoint.core.context.active_context import injectable
from trimpoint.core.context.segments import ContextSegment, context_segments
from trimpoint.core.decide.discarding import (
    CompressionPlan,
    plan_compression,
    total_tokens,
)
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Accepted, DiscardPolicy, Policy, Rejected
from trimpoint.core.model.tokens import estimate_tokens
from trimpoint_protocol.errors import Reason

from tests.core.discards import (
    active,
    compress,
    discard,
)
from tests.core.given import Conversation, started
from tests.core.items import call, changed, decoded, message, output, ran, thought, turn

UNANSWERED = "never answered"


STEPS = ("message", "thought", "call", "change", "two calls", "unfinished", "reused id")


def build(thread: Conversation, steps: list[str], seed: int) -> None:
    parts: list[Any] = []
    for number, step in enumerate(steps):
        name = f"{seed}.{number}"
        match step:
            case "message":
                parts.append(message("assistant", f"on the way {name}", id=f"m{name}"))
            case "thought":
                parts.append(thought(f"rs{name}"))
            case "call":
                parts.append((call(name), output(name, f"{name} " * 60), ran("", name)))
            case "change":
                parts.append((call(name, name="apply_patch"), output(name), changed("", name)))
            case "two calls":
                parts.append(
                    (
                        call(name),
                        call(f"{name}b"),
                        output(name, "x " * 80),
                        output(f"{name}b"),
                        ran("", name),
                        ran("", f"{name}b"),
                    )
                )
            case "unfinished":
                parts.append(call(name + UNANSWERED))
            case _:
                parts.append((call("call_0"), output("call_0", "y " * 50), ran("", "call_0")))
    turn(thread, f"prompt {seed}", f"answer {seed}", *parts)


def stand_alone(items: list[bytes]) -> bool:
    """Returns whether each result has its call, and each call its result, except for calls that
    never had one.
    """
    seen = decoded(items)
    calls = Counter(item["call_id"] for item in seen if item["type"] == "function_call")
    outputs = Counter(item["call_id"] for item in seen if item["type"] == "function_call_output")
    return (
        all(UNANSWERED in name for name in calls - outputs)
        and not outputs - calls
        and injectable(items) == items
    )


histories = st.lists(st.lists(st.sampled_from(STEPS), max_size=6), min_size=1, max_size=5)


@settings(deadline=None)
@drawn(histories, st.lists(st.integers(0, 10_000), max_size=6), st.integers(1, 400))
def test_random_discards_keep_pairs_and_the_floor_and_stable_ids(
    history: list[list[str]], picks: list[int], floor: int
) -> None:
    thread = started(policy=Policy(discard=DiscardPolicy(floor, max(floor, 400))))
    for seed, steps in enumerate(history):
        build(thread, steps, seed)
    for pick in picks:
        before = {unit.short_id: unit for unit in context_segments(thread.state)}
        unit = list(before.values())[pick % len(before)]
        decision = thread.when(discard(unit.entry_ids[0])).decision
        if isinstance(decision, Rejected):
            assert decision.reason in (Reason.ENTRY_PROTECTED, Reason.BELOW_FLOOR)
            continue
        thread.do(discard(unit.entry_ids[0]))
        thread.settle()
        after = {one.short_id: one for one in context_segments(thread.state)}
        check(thread, before, after, unit, floor)


def check(
    thread: Conversation,
    before: dict[str, ContextSegment],
    after: dict[str, ContextSegment],
    unit: ContextSegment,
    floor: int,
) -> None:
    assert unit.protected is None
    assert before.keys() - {unit.short_id} == after.keys()
    assert all(after[name].positions == before[name].positions for name in after)
    assert total_tokens(after.values()) >= floor
    assert stand_alone(active(thread.state))
    assert total_tokens(after.values()) == sum(map(estimate_tokens, active(thread.state)))
    assert thread.replayed() == thread.state


@settings(deadline=None)
@drawn(histories, st.integers(1, 2_000), st.integers(1, 2_000), st.booleans())
# A placeholder that names an entry is longer than one that does not.
@example([["call"]] * 2 + [["reused id"], ["call"] * 3 + ["reused id"] * 2], 895, 1, False)
@example([["call"]] * 2 + [["reused id"], ["call"] * 3 + ["reused id"] * 2], 895, 1, True)
def test_compress_never_takes_what_is_protected_and_never_too_much(
    history: list[list[str]], floor: int, above: int, can_read: bool
) -> None:
    policy = DiscardPolicy(floor, floor + above)
    thread = started(policy=Policy(discard=policy))
    thread.write(ev.SettingsChanged(msgspec.json.encode({"agentTools": can_read})))
    for seed, steps in enumerate(history):
        build(thread, steps, seed)
    units = {unit.entry_ids: unit for unit in context_segments(thread.state)}
    plan = plan_compression(thread.state, floor + above, policy)
    decision = thread.when(compress(floor + above)).decision
    if isinstance(decision, Accepted):
        thread.do(compress(floor + above))
        thread.settle()
        left = {unit.entry_ids: unit for unit in context_segments(thread.state)}
        assert all(units[name].protected is None for name in units.keys() - left.keys())
        assert isinstance(plan, CompressionPlan)
        assert total_tokens(left.values()) == plan.left_tokens >= floor
        assert stand_alone(active(thread.state))
