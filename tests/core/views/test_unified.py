"""A thread in the form that sessions of all agents have."""

from trimpoint.core.model.decision import DiscardPolicy, Policy
from trimpoint.core.views.unified import unified_end, unified_records
from trimpoint_protocol import commands as wire
from trimpoint_protocol import unified as u

from tests.core.given import Conversation, client, started


def records(thread: Conversation, *, whole: bool = True) -> list[u.Record]:
    return list(unified_records(thread.state, include_compacted=whole))


def messages(thread: Conversation, *, whole: bool = True) -> list[u.MessageRecord]:
    return [one for one in records(thread, whole=whole) if isinstance(one, u.MessageRecord)]


def lived() -> Conversation:
    thread = started()
    thread.turn("one", "first", activities=["ls"])
    thread.compact("in short")
    thread.turn("two", "second")
    thread.clear()
    thread.turn("three", "third")
    return thread


def test_a_compaction_is_a_boundary_and_a_clear_is_certain() -> None:
    [boundary] = [one for one in records(lived()) if isinstance(one, u.BoundaryRecord)]
    [clear] = [one for one in records(lived()) if isinstance(one, u.ClearRecord)]
    assert (boundary.summary, boundary.trigger) == ("in short", "manual")
    assert (boundary.after_message_index, boundary.replaced_message_indices) == (2, [0, 1, 2])
    assert (clear.confidence, clear.after_message_index) == (1.0, 4)


def test_messages_say_whether_the_model_sees_them() -> None:
    said = messages(lived())
    assert [one.kind for one in said[:3]] == ["prompt", "tool_call", "answer"]
    assert [one.text for one in said if one.active] == ["three", "third"]
    assert all((one.compacted_at is None) == one.active for one in said)
    assert said[1].tool_calls[0].arguments["command"] == "ls"


def test_without_what_left_the_context_the_others_keep_their_numbers() -> None:
    assert [one.index for one in messages(lived(), whole=False)] == [5, 6]


def test_discarded_entries_are_not_active() -> None:
    policy = Policy(discard=DiscardPolicy(floor_tokens=1, target_tokens=1))
    thread = started(turns=3, policy=policy)
    entry = thread.state.entries[0]
    thread.do(client(wire.DiscardContext, entry_ids=[entry.id]))
    assert [one.active for one in messages(thread)] == [False, *[True] * 5]


def test_a_trim_of_which_the_context_was_only_a_summary_replaces_no_message() -> None:
    thread = started(turns=1)
    thread.compact("in short")
    thread.clear()
    points = [one for one in records(thread) if isinstance(one, u.BoundaryRecord | u.ClearRecord)]
    assert [type(one) for one in points] == [u.BoundaryRecord, u.ClearRecord]
    assert records(started())[0]


def test_the_end_counts_the_records() -> None:
    thread = lived()
    end = unified_end(thread.state, records(thread), "digest")
    assert (end.messages, end.active_messages, end.turns) == (7, 2, 3)
    assert (end.boundaries, end.clears, end.digest) == (1, 1, "digest")
