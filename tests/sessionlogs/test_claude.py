"""Sessions of Claude Code: those that the real one wrote, and what readers of them are known to get
wrong.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trimpoint.sessionlogs.carry import carried
from trimpoint.sessionlogs.live import live_window
from trimpoint.sessionlogs.sessions import Reading

from tests.effort import tries
from tests.sessionlogs.claude_rows import (
    CHAIN,
    REAL,
    SESSION,
    active,
    answer,
    boundary,
    prompt,
    summary,
    text,
    write,
)
from tests.sessionlogs.sessions import (
    document_of,
    live_texts,
    only_session,
    sessions_in,
    texts,
)


def test_a_real_compaction_by_hand_is_read_with_what_it_kept() -> None:
    document = document_of(only_session(REAL / "compacted-by-hand"))
    first, second = document.compaction.boundaries
    assert (first.trigger, first.summary, first.pre_tokens) == ("manual", "SUMMARY", 1013)
    assert first.post_tokens is not None
    assert texts(document, first.kept_message_indices) == ["reply 3"]
    assert document.messages[first.summary_message_index or 0].kind == "summary"
    assert texts(document, second.kept_message_indices) == ["reply 5"]
    assert document.end.unparsed == 0


def test_live_messages_are_those_that_the_real_model_was_sent() -> None:
    inputs = json.loads((REAL / "compacted-by-hand" / "inputs.json").read_text())
    sent = [part for message in inputs[-1] for part in _texts_in(message["content"])]
    *live, newest = live_texts(only_session(REAL / "compacted-by-hand"))
    assert newest == "reply 7"
    # The kept answer comes before the summary in the file, and behind it in the model's input.
    assert sorted(words.strip() for words in live if "<local-command" not in words) == sorted(
        words.strip()
        for words in sent
        if "<local-command" not in words
        and "reminder>" not in words
        and "Continue from where" not in words
    )


def _texts_in(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [part.get("text", "") for part in content]


def test_rows_of_one_answer_are_one_message_and_are_counted_once(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    rows = [
        prompt("u1", None, "go"),
        answer("a1", "u1", {"type": "thinking", "thinking": "hm"}, message_id="m"),
        answer("a2", "a1", text("I look"), message_id="m"),
        answer("a3", "a2", call, message_id="m"),
        prompt("r1", "a3", [{"type": "tool_result", "tool_use_id": "t1", "content": "out"}]),
        answer("a4", "r1", text("done")),
    ]
    write(tmp_path, rows)
    document = document_of(only_session(tmp_path))
    assert [one.kind for one in document.messages] == ["prompt", "answer", "tool_result", "answer"]
    merged = document.messages[1]
    assert (merged.text, merged.thoughts, merged.tool_calls[0].name) == ("I look", "hm", "Bash")
    assert document.messages[2].tool_results[0].call_message_index == 1
    assert (document.usage.calls, document.usage.total_tokens) == (2, 222)


def test_calls_that_run_at_the_same_time_are_no_rewind(tmp_path: Path) -> None:
    calls: list[dict[str, Any]] = [
        {"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {}} for n in (1, 2)
    ]
    results = [
        [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"r{n}"}] for n in (1, 2)
    ]
    rows = [
        prompt("u1", None, "go"),
        answer("a1", "u1", calls[0], message_id="m"),
        answer("a2", "a1", calls[1], message_id="m"),
        prompt("r1", "a1", results[0]),
        prompt("r2", "a2", results[1]),
        answer("a3", "r2", text("done")),
    ]
    write(tmp_path, rows)
    document = document_of(only_session(tmp_path))
    assert document.rewinds == []
    assert all(one.active for one in document.messages)
    assert len(document.messages[1].tool_calls) == 2


def test_a_prompt_beside_another_is_a_rewind(tmp_path: Path) -> None:
    write(tmp_path, [*CHAIN, prompt("u3", "a1", "another two"), answer("a3", "u3", text("third"))])
    document = document_of(only_session(tmp_path))
    [rewind] = document.rewinds
    assert texts(document, rewind.dropped_message_indices) == ["two", "second"]
    assert active(tmp_path) == ["one", "first", "another two", "third"]


def test_an_answer_that_was_written_before_its_prompt_is_no_rewind(tmp_path: Path) -> None:
    attached = {"type": "attachment", "uuid": "x3", "parentUuid": "u3", "attachment": {"type": "x"}}
    early = [answer("a3", "x3", text("thinks"), message_id="m"), answer("a4", "a3", text("third"))]
    later = [prompt("u3", "a2", "three"), attached, prompt("u4", "a4", "four")]
    write(tmp_path, [*CHAIN, *early, *later])
    assert active(tmp_path) == ["one", "first", "two", "second", "three", "thinks", "third", "four"]
    document = document_of(only_session(tmp_path))
    assert document.rewinds == []
    assert [one.source_ref.line for one in document.messages] == [1, 2, 3, 4, 7, 5, 6, 9]


def test_an_answer_whose_prompt_is_gone_continues_the_conversation(tmp_path: Path) -> None:
    lost = [*CHAIN, answer("a3", "gone", text("third"))]
    write(tmp_path, lost)
    assert active(tmp_path)[-1] == "third"
    chain = [prompt(f"u{at}", f"u{at - 1}" if at > 4 else "a3", f"p{at}") for at in range(4, 40)]
    write(tmp_path, [*lost, *chain])
    assert active(tmp_path)[4:] == ["third", *(f"p{at}" for at in range(4, 40))]
    beside = [prompt(f"v{at}", f"v{at - 1}" if at > 4 else "a2", f"q{at}") for at in range(4, 40)]
    write(tmp_path, [*lost, *beside])
    assert active(tmp_path)[4:] == [f"q{at}" for at in range(4, 40)]
    write(tmp_path, [*lost, boundary("b"), summary("s", "b")])
    assert document_of(only_session(tmp_path)).compaction.boundaries[0].after_message_index == 4


def test_a_compaction_that_keeps_the_end_leaves_summary_and_end(tmp_path: Path) -> None:
    rows = [*CHAIN, boundary("b", ["u2", "a2"]), summary("s", "b"), prompt("u3", "s", "three")]
    write(tmp_path, [*rows, answer("a3", "u3", text("third"))])
    document = document_of(only_session(tmp_path))
    [found] = document.compaction.boundaries
    assert (found.uuid, found.trigger, found.pre_tokens) == ("b", "auto", 155116)
    assert (found.after_message_index, found.summary) == (3, "S")
    assert (found.replaced_message_indices, found.kept_message_indices) == ([0, 1], [2, 3])
    assert document.rewinds == []
    assert len(active(tmp_path)) == 5


def test_a_compaction_that_keeps_the_beginning_leaves_beginning_and_summary(tmp_path: Path) -> None:
    part = {"messagesSummarized": 2, "direction": "from"}
    rows = [*CHAIN, boundary("b", ["u1", "a1"], anchor="b", trigger="manual")]
    write(tmp_path, [*rows, summary("s", "b", summarizeMetadata=part), prompt("u3", "s", "three")])
    document = document_of(only_session(tmp_path))
    [found] = document.compaction.boundaries
    assert found.trigger == "manual_partial"
    assert found.replaced_message_indices == [2, 3]
    assert document.rewinds == []


def test_a_copied_boundary_that_kept_the_beginning_waits_for_its_summary(tmp_path: Path) -> None:
    kept = ["b1", "s1", "a2", "u3", "a3"]
    begun = [
        boundary("b", kept, anchor="b", trigger="manual"),
        boundary("b1", ["a2"], anchor="s1"),
        summary("s1", "b1", "the inner one"),
        answer("a2", "s1", text("second")),
        prompt("u3", "a2", "three"),
        answer("a3", "u3", text("third")),
    ]
    write(tmp_path, [*begun, summary("s", "a3", "the outer one"), prompt("u4", "s", "four")])
    inner, outer = document_of(only_session(tmp_path)).compaction.boundaries
    assert (inner.summary, outer.summary) == ("the inner one", "the outer one")
    assert live_texts(only_session(tmp_path))[-1] == "four"


def test_a_copied_boundary_that_waits_for_its_summary_is_reported_when_the_log_ends(
    tmp_path: Path,
) -> None:
    write(tmp_path, [boundary("b", ["u1"], anchor="b"), prompt("u1", None, "one")])
    [found] = document_of(only_session(tmp_path)).compaction.boundaries
    assert (found.uuid, found.summary) == ("b", None)


def test_attachments_between_boundary_and_summary_part_nothing(tmp_path: Path) -> None:
    extra: dict[str, Any] = {"type": "attachment", "uuid": "x", "parentUuid": "b"}
    rows = [*CHAIN, boundary("b", ["a2"]), extra, summary("s", "x"), prompt("u3", "s", "three")]
    write(tmp_path, rows)
    document = document_of(only_session(tmp_path))
    assert document.compaction.boundaries[0].summary == "S"
    assert document.rewinds == []
    assert len(active(tmp_path)) == 3


def test_a_summary_without_a_boundary_is_one(tmp_path: Path) -> None:
    write(tmp_path, [*CHAIN, summary("s", "a2"), prompt("u3", "s", "three")])
    [found] = document_of(only_session(tmp_path)).compaction.boundaries
    assert (found.replaced_message_indices, found.trigger, found.pre_tokens) == (
        [0, 1, 2, 3],
        None,
        None,
    )


def test_a_member_of_another_type_is_lost_alone(tmp_path: Path) -> None:
    odd = prompt("u1", None, [{"type": "text", "text": "one"}, 7], gitBranch=5, isMeta="no")
    write(tmp_path, [odd, answer("a1", "u1", text("first"), {"type": 3, "text": "kept"})])
    document = document_of(only_session(tmp_path))
    assert [one.text for one in document.messages] == ["one", "first"]
    assert (document.end.unparsed, document.session.git_branch) == (0, None)


def test_titles_are_no_summaries(tmp_path: Path) -> None:
    title = {"type": "summary", "summary": "Login fixed", "leafUuid": "a2"}
    write(tmp_path, [title, *CHAIN])
    document = document_of(only_session(tmp_path))
    assert (document.session.title, document.compaction.boundaries) == ("Login fixed", [])


def test_history_that_is_appended_again_is_passed_over(tmp_path: Path) -> None:
    rows = [*CHAIN, boundary("b", ["a2"]), summary("s", "b"), prompt("u3", "s", "three")]
    write(tmp_path, [*rows, *rows, prompt("u4", "u3", "four")])
    document = document_of(only_session(tmp_path))
    assert (document.end.duplicates, len(document.compaction.boundaries)) == (7, 1)
    assert document.messages[-1].text == "four"
    assert document.rewinds == []


def test_parents_in_a_circle_and_parents_that_are_gone_end_nothing(tmp_path: Path) -> None:
    circle = [
        prompt("c1", "c2", "round"),
        answer("c2", "c1", text("and round")),
        prompt("c3", "c3", "self"),
    ]
    write(tmp_path, [*circle, prompt("u9", "deleted", "orphan")])
    assert "orphan" in active(tmp_path)


def test_a_rewind_behind_a_compaction_makes_the_old_messages_live_again(tmp_path: Path) -> None:
    rows = [*CHAIN, boundary("b"), summary("s", "b"), prompt("u3", "s", "three")]
    write(tmp_path, [*rows, prompt("u4", "a1", "from the beginning")])
    assert active(tmp_path) == ["one", "first", "from the beginning"]


def test_rows_of_sub_agents_are_beside_the_conversation(tmp_path: Path) -> None:
    side = prompt("s1", None, "inner", isSidechain=True)
    path = write(tmp_path, [*CHAIN, side])
    other = path.parent / SESSION / "subagents" / "agent-x.jsonl"
    other.parent.mkdir(parents=True)
    other.write_text(json.dumps(side) + "\n")
    agent, main = sorted(
        map(document_of, sessions_in(tmp_path)), key=lambda one: -len(one.session.id)
    )[::-1]
    assert agent.lineage.parent == SESSION
    assert [one.active for one in agent.messages] == [True]
    assert [one.text for one in main.messages if one.sidechain] == ["inner"]
    assert active_of(main) == ["one", "first", "two", "second"]


def active_of(document: Any) -> list[str]:
    return [one.text for one in document.messages if one.active]


def test_a_memory_file_is_attached_and_is_no_summary(tmp_path: Path) -> None:
    path = write(tmp_path, CHAIN)
    memory = path.parent / SESSION / "session-memory" / "summary.md"
    memory.parent.mkdir(parents=True)
    memory.write_text("# Title")
    document = document_of(only_session(tmp_path))
    assert [(one.kind, one.bytes) for one in document.session.attachments] == [
        ("session_memory", 7)
    ]
    assert document.compaction.boundaries == []


REAL_FILE = next((REAL / "compacted-by-hand").rglob("*.jsonl"))


@settings(max_examples=tries(60), deadline=None)
@given(
    cut=st.integers(0, 40_000),
    flips=st.lists(st.tuples(st.integers(0, 1 << 30), st.integers(1, 255)), max_size=5),
)
def test_a_log_that_is_cut_or_damaged_is_read(
    tmp_path_factory: pytest.TempPathFactory, cut: int, flips: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    data = bytearray(REAL_FILE.read_bytes()[: cut + 1])
    for at, bits in flips:
        data[at % len(data)] ^= bits
    write(folder, [], tail=bytes(data))
    document_of(only_session(folder))


def test_rows_that_a_branch_wrote_twice_without_a_parent_are_there_once(tmp_path: Path) -> None:
    doubled = [{**one, "parentUuid": None} for one in CHAIN]
    write(tmp_path, [*CHAIN, *doubled, prompt("u3", "a2", "three")])
    document = document_of(only_session(tmp_path))
    assert active(tmp_path) == ["one", "first", "two", "second", "three"]
    assert (document.end.duplicates, document.rewinds) == (4, [])


def test_most_rows_may_stand_on_branches_that_were_left(tmp_path: Path) -> None:
    rows = [prompt("u1", None, "one"), answer("a1", "u1", text("first"))]
    for number in range(50):
        rows += [prompt(f"p{number}", "a1", f"try {number}")]
        rows += [answer(f"b{number}", f"p{number}", text(f"answer {number}"))]
    write(tmp_path, rows)
    document = document_of(only_session(tmp_path))
    assert active(tmp_path) == ["one", "first", "try 49", "answer 49"]
    assert [one.dropped_message_indices for one in document.rewinds] == [
        [2 + 2 * number, 3 + 2 * number] for number in range(49)
    ]


def test_rows_of_another_file_that_a_boundary_names_bring_nothing_back(tmp_path: Path) -> None:
    rows = [*CHAIN, boundary("b", ["elsewhere-1", "elsewhere-2"]), summary("s", "b")]
    write(tmp_path, [*rows, prompt("u3", "s", "three"), answer("a3", "u3", text("third"))])
    document = document_of(only_session(tmp_path))
    [found] = document.compaction.boundaries
    assert (found.replaced_message_indices, found.kept_message_indices) == ([0, 1, 2, 3], [])
    assert active(tmp_path)[1:] == ["three", "third"]


def test_a_boundary_of_which_the_summary_is_not_written_yet_is_one(tmp_path: Path) -> None:
    write(tmp_path, [*CHAIN, boundary("b")])
    document = document_of(only_session(tmp_path))
    [found] = document.compaction.boundaries
    assert (found.summary, found.summary_message_index) == (None, None)
    assert found.replaced_message_indices == [0, 1, 2, 3]
    assert len(document.messages) == 4


def test_a_rewind_into_an_era_keeps_what_its_compaction_had_kept(tmp_path: Path) -> None:
    first = [*CHAIN, boundary("b1", ["a2"]), summary("s1", "b1"), prompt("u3", "s1", "three")]
    second = [answer("a3", "u3", text("third")), boundary("b2"), summary("s2", "b2", "T")]
    rows = [*first, *second, prompt("u4", "s2", "four"), prompt("u5", "s1", "three again")]
    write(tmp_path, rows)
    document = document_of(only_session(tmp_path))
    assert [one.undone for one in document.compaction.boundaries] == [False, True]
    assert active(tmp_path)[0] == "second"
    assert active(tmp_path)[-1] == "three again"
    assert len(active(tmp_path)) == 3


def test_a_boundary_whose_summary_is_torn_off_leaves_what_it_kept(tmp_path: Path) -> None:
    torn = json.dumps(summary("s", "b")).encode()[:200]
    write(tmp_path, [*CHAIN, boundary("b", ["a2"])], tail=torn)
    session = only_session(tmp_path)
    document = document_of(session)
    [found] = document.compaction.boundaries
    assert (found.summary, found.summary_message_index, found.summary_encrypted) == (
        None,
        None,
        False,
    )
    assert (document.end.pending, document.end.unparsed) == (True, 0)
    assert live_texts(session) == ["second"]
    assert "left out" not in str(carried(live_window(Reading(session)), max_tokens=1000))
