"""Sessions that the real Codex wrote, read back: what is live is what its model was sent."""

from pathlib import Path

import pytest
from trimpoint_protocol import unified as u

from tests.sessionlogs.model_inputs import inputs_of
from tests.sessionlogs.sessions import (
    FIXTURES,
    document_of,
    live_texts,
    only_session,
    sessions_in,
    text_of,
    texts,
)

NEWEST = FIXTURES / "codex-0.171.0"
SCENES = sorted(
    path.parent for home in FIXTURES.glob("codex-*") for path in home.glob("*/inputs.json")
)


@pytest.mark.parametrize("scene", SCENES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_live_window_is_the_models_last_input_and_its_answer(scene: Path) -> None:
    inputs = inputs_of(scene)
    windows = [live_texts(session) for session in sessions_in(scene)]
    for *before, answer in windows:
        assert before in inputs
        assert answer.startswith("reply")
    assert inputs[-1] in [window[:-1] for window in windows]


def only_boundary(scene: str) -> tuple[u.Document, u.Boundary]:
    document = document_of(only_session(NEWEST / scene))
    [boundary] = document.compaction.boundaries
    return document, boundary


def test_a_compaction_by_hand_is_a_turn_of_its_own() -> None:
    document = document_of(only_session(NEWEST / "compacted-by-hand"))
    first, second = document.compaction.boundaries
    assert (first.trigger, first.phase, first.trigger_source) == (
        "manual",
        "standalone_turn",
        "turn_shape",
    )
    assert first.summary == "SUMMARY"
    assert (first.pre_tokens, first.post_tokens_estimated) == (1010, True)
    assert document.messages[first.after_message_index].text == "the tool has answered"
    assert texts(document, first.kept_message_indices) == ["first", "second", "third"]
    assert texts(document, second.replaced_message_indices) == ["reply 5"]


def test_a_second_compaction_replaces_only_what_is_new() -> None:
    document = document_of(only_session(NEWEST / "compacted-by-hand"))
    second = document.compaction.boundaries[1]
    assert second.replaced_message_indices == [11]
    assert texts(document, second.kept_message_indices) == ["first", "second", "third", "fourth"]


def test_a_sealed_summary_is_shown_as_encrypted() -> None:
    document = document_of(only_session(NEWEST / "compacted-by-hand-sealed"))
    for boundary in document.compaction.boundaries:
        assert (boundary.summary, boundary.summary_encrypted) == (None, True)
        assert boundary.trigger == "manual"


def test_a_compaction_before_a_turn_stands_before_the_prompt_that_waited() -> None:
    document, boundary = only_boundary("compacted-before-a-turn")
    assert (boundary.trigger, boundary.phase, boundary.pre_tokens) == ("auto", "pre_turn", 9510)
    assert document.messages[boundary.after_message_index].text == "a large answer"
    assert document.messages[boundary.after_message_index + 1].text == "third"


def test_a_compaction_within_a_turn_stands_behind_the_tools_result() -> None:
    document, boundary = only_boundary("compacted-within-a-turn")
    assert (boundary.trigger, boundary.phase, boundary.pre_tokens) == ("auto", "mid_turn", 9510)
    assert "much" in text_of(document.messages[boundary.after_message_index])


def test_a_rewind_drops_what_came_after_and_keeps_it_in_the_log() -> None:
    document = document_of(only_session(NEWEST / "reverted"))
    [rewind] = document.rewinds
    dropped = ["second", "reply 2", "third", "reply 3"]
    assert texts(document, rewind.dropped_message_indices) == dropped
    assert [one.text for one in document.messages if one.branch == rewind.branch] == dropped
    assert document.messages[rewind.to_message_index].text == "reply 1"
    assert rewind.timestamp is not None


def test_a_rewind_to_before_a_compaction_undoes_it() -> None:
    document, boundary = only_boundary("reverted-behind-a-compaction")
    assert boundary.undone
    live = [one.text for one in document.messages if one.active and one.kind != "preamble"]
    assert live == ["first", "reply 1", "another second", "reply 4"]


def test_a_rewind_to_before_the_first_prompt_leaves_nothing() -> None:
    document = document_of(only_session(NEWEST / "reverted-to-the-beginning"))
    [rewind] = document.rewinds
    assert (rewind.to_message_index, rewind.after_message_index) == (-1, 5)
    live = [one.text for one in document.messages if one.active and one.kind != "preamble"]
    assert live == ["another first", "reply 3", "another second", "reply 4"]


def test_a_prompt_with_an_image_is_its_words() -> None:
    document, boundary = only_boundary("with-an-image")
    [shown] = [one for one in document.messages if one.omitted == ["image"]]
    assert shown.text == "look"
    assert shown.index in boundary.kept_message_indices


def test_a_fork_of_a_fork_has_what_both_passed_on_and_only_its_own_usage() -> None:
    first, second, third = map(document_of, sessions_in(NEWEST / "forked-twice"))
    assert second.lineage.forked_from == first.session.id
    assert third.lineage.forked_from == second.session.id
    assert [one.inherited for one in third.compaction.boundaries] == [True, True, False]
    assert [one.undone for one in third.compaction.boundaries] == [False, False, True]
    assert [one.usage.calls for one in (first, second, third)] == [3, 4, 4]


def test_an_interrupted_turn_keeps_its_prompt_and_what_was_said_of_it() -> None:
    document = document_of(only_session(NEWEST / "interrupted"))
    assert [one.text for one in document.messages if one.kind == "prompt"] == [
        "first",
        "second",
        "third",
        "fourth",
        "fifth",
    ]
    assert document.end.turns == 5


def test_a_fork_has_its_origins_messages_and_only_its_own_usage() -> None:
    origin, fork = map(document_of, sessions_in(NEWEST / "forked"))
    assert fork.lineage.forked_from == origin.session.id
    assert [one.text for one in fork.messages if one.inherited][-2:] == ["first", "reply 1"]
    assert fork.usage.calls == 3
    assert origin.usage.calls == 2


def test_a_line_that_was_torn_before_a_resume_is_counted_once() -> None:
    end = document_of(only_session(NEWEST / "torn")).end
    assert (end.unparsed, end.pending, end.turns) == (1, False, 3)


def test_an_archived_thread_is_found() -> None:
    document = document_of(only_session(NEWEST / "archived"))
    assert "archived_sessions" in document.session.files[0]
    assert document.end.turns == 1


def test_summaries_and_tool_results_are_no_visible_answers() -> None:
    document = document_of(only_session(NEWEST / "compacted-by-hand"))
    answers = [one.text for one in document.messages if one.kind == "answer"]
    assert answers == ["reply 1", "reply 2", "the tool has answered", "reply 5", "reply 6"]
    assert document.end.unparsed == 0
    assert document.end.unknown == {}


@pytest.mark.parametrize("version", ["0.63.0", "0.98.0", "0.137.0"])
def test_an_older_versions_compaction_keeps_the_prompts_and_has_no_answer_of_its_own(
    version: str,
) -> None:
    document = document_of(only_session(FIXTURES / f"codex-{version}" / "compacted-automatically"))
    [boundary] = document.compaction.boundaries
    assert (boundary.summary, boundary.pre_tokens) == ("SUMMARY", 9510)
    assert texts(document, boundary.kept_message_indices) == ["first", "second"]
    assert "SUMMARY" not in [one.text for one in document.messages]


def test_a_summary_that_a_later_compaction_kept_stands_where_its_boundary_was() -> None:
    session = only_session(NEWEST / "with-a-summary-of-another-version")
    kept, newest = "SUMMARY:SUMMARY", "SUMMARY:ANOTHER SUMMARY"
    assert live_texts(session)[:-1] == ["first", kept, "second", "third", "fourth", newest, "fifth"]
    document = document_of(session)
    [expanded] = [one for one in document.messages if one.kind == "summary"]
    assert (expanded.synthetic, expanded.active) == (True, True)
    assert expanded.index in document.compaction.boundaries[2].kept_message_indices


def test_a_summary_that_the_thread_was_given_is_not_that_of_a_sealed_compaction() -> None:
    document = document_of(only_session(NEWEST / "given-a-summary-sealed"))
    for boundary in document.compaction.boundaries:
        assert (boundary.summary, boundary.summary_encrypted) == (None, True)
        assert "GIVEN" in texts(document, boundary.kept_message_indices)[0]


def test_a_thread_that_codex_has_compressed_is_read_in_both_its_files() -> None:
    document, other = map(document_of, sessions_in(NEWEST / "compressed"))
    assert [Path(one).suffix for one in document.session.files] == [".zst", ".zst"]
    assert len(document.rewinds) == len(document.compaction.boundaries) == 1
    assert [Path(one).suffix for one in other.session.files] == [".jsonl"]  # it was resumed


def test_a_migrated_fork_counts_what_it_has_copied_once() -> None:
    origin, fork, again = map(document_of, sessions_in(NEWEST / "migrated"))
    assert fork.lineage.forked_from == origin.session.id
    assert [one.undone for one in fork.compaction.boundaries] == [False, False, True]
    assert [one.inherited for one in fork.compaction.boundaries] == [True, False, False]
    assert [one.inherited for one in again.compaction.boundaries] == [True, True]
    assert [one.usage.calls for one in (origin, fork, again)] == [6, 7, 1]


def test_sub_agents_name_their_parent_and_count_only_their_own_calls() -> None:
    main, alone, forked = map(document_of, sessions_in(NEWEST / "with-sub-agents"))
    assert alone.lineage.parent == forked.lineage.parent == main.session.id
    assert [one.usage.calls for one in (main, alone, forked)] == [6, 1, 1]
    assert [one.text for one in alone.messages if one.kind == "prompt"] == [
        "inner question of second"
    ]
    own = [one.text for one in forked.messages if one.kind == "prompt" and not one.inherited]
    assert own == ["inner question of third"]
