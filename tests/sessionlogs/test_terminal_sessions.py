"""Sessions that the real Claude Code and Gemini CLI wrote in a terminal: what is live is what their
model was sent, after compactions, rewinds, clears, branches and forks.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from trimpoint.sessionlogs.carry import carried
from trimpoint.sessionlogs.live import Summary, live_window
from trimpoint.sessionlogs.sessions import FoundSession, Reading
from trimpoint_protocol import unified as u

from tests.sessionlogs.model_inputs import requests_of, worded
from tests.sessionlogs.sessions import FIXTURES, document_of, sessions_in, texts

CLAUDE = FIXTURES / "claude-code-2.1.332"
OLD_CLAUDE = FIXTURES / "claude-code-2.0.77"
MIDDLE_CLAUDE = FIXTURES / "claude-code-2.1.80"
GEMINI = FIXTURES / "gemini-cli-0.61.0"
OLD_GEMINI = FIXTURES / "gemini-cli-0.30.1"
SCENES = sorted(
    path.parent
    for home in (CLAUDE, MIDDLE_CLAUDE, OLD_CLAUDE, GEMINI, OLD_GEMINI)
    for path in home.glob("*/inputs.json")
)


def live_words(session: FoundSession) -> list[str]:
    """What the reader takes for live, in words."""
    return [words for item in live_window(Reading(session)).items for words in _live(item)]


def _live(item: u.MessageRecord | Summary) -> Iterator[str]:
    assert isinstance(item, u.MessageRecord)
    if item.kind == "notice" and item.role != "user":
        return
    yield from worded(item.text)
    for call in item.tool_calls:
        yield from worded(json.dumps(call.arguments))
    for result in item.tool_results:
        yield from worded(result.output)


@pytest.mark.parametrize("scene", SCENES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_live_window_is_the_models_last_input_and_its_answer(scene: Path) -> None:
    requests = requests_of(scene)
    for session in sessions_in(scene):
        *before, answer = live_words(session)
        assert answer.startswith("reply")
        assert before in requests


@pytest.mark.parametrize("scene", SCENES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_rows_of_the_real_programs_are_all_known(scene: Path) -> None:
    for session in sessions_in(scene):
        end = document_of(session).end
        assert (end.unknown, end.pending) == ({}, False)
        # Claude Code copies the rows that a boundary kept twice into such a branch.
        assert end.duplicates == 0 or scene.name == "branched-behind-a-kept-beginning"
        assert end.unparsed == (1 if scene.name.startswith("torn") else 0)


def documents(scene: Path) -> list[u.Document]:
    """The sessions of a scene, oldest first."""
    found = map(document_of, sessions_in(scene))
    return sorted(found, key=lambda one: one.session.updated_at or "")


def only(scene: Path) -> tuple[u.Document, u.Boundary]:
    [document] = documents(scene)
    [boundary] = document.compaction.boundaries
    return document, boundary


def test_an_automatic_compaction_keeps_the_prompt_that_waited() -> None:
    document, boundary = only(CLAUDE / "compacted-automatically")
    assert (boundary.trigger, boundary.pre_tokens) == ("auto", 990_016)
    assert texts(document, boundary.kept_message_indices) == ["reply 4", "fourth"]
    assert boundary.summary == "SUMMARY"


def test_a_restored_conversation_drops_what_came_after_it() -> None:
    [document] = documents(CLAUDE / "rewound")
    [rewind] = document.rewinds
    assert rewind.dropped_message_indices == [2, 3, 4, 5, 6, 7]
    assert document.messages[rewind.to_message_index].text == "reply 1"


def test_a_rewind_behind_a_compaction_undoes_it_and_drops_what_it_had_replaced() -> None:
    document, boundary = only(CLAUDE / "rewound-behind-a-compaction")
    assert boundary.undone
    [rewind] = document.rewinds
    assert rewind.dropped_message_indices == [2, 3, 4, 5, 6, 7, 8, 9]
    assert document.messages[2].branch == rewind.branch


@pytest.mark.parametrize(
    ("scene", "replaced"),
    [("compacted-from-here", [2, 3, 4, 5]), ("compacted-up-to-here", [0, 1, 2, 3])],
)
def test_a_compaction_in_part_replaces_one_side(scene: str, replaced: list[int]) -> None:
    _, boundary = only(CLAUDE / scene)
    assert (boundary.trigger, boundary.replaced_message_indices) == ("manual_partial", replaced)


def test_two_clears_of_one_process_are_found_in_the_sessions_they_were_typed_in() -> None:
    first, second, third = documents(CLAUDE / "cleared")
    for before, after in ((first, second), (second, third)):
        [clear] = before.context_clears
        assert (clear.to_session, clear.confidence) == (after.session.id, 0.99)
        assert after.lineage.cleared_from == before.session.id
    assert second.session.title == "a name"


def test_a_branch_holds_what_its_compaction_kept_behind_the_summary() -> None:
    origin, branch = documents(CLAUDE / "branched")
    assert branch.lineage.forked_from == origin.session.id
    for document in (origin, branch):
        [boundary] = document.compaction.boundaries
        assert texts(document, boundary.kept_message_indices) == ["reply 2"]
    assert branch.usage.calls == 1


def test_a_branch_holds_the_beginning_that_its_compaction_kept_before_the_summary() -> None:
    for document in documents(CLAUDE / "branched-behind-a-kept-beginning"):
        [boundary] = document.compaction.boundaries
        assert (boundary.trigger, boundary.pre_tokens) == ("manual_partial", 1014)
        assert boundary.kept_message_indices == [0, 1, 2, 3, 4, 5]
        assert boundary.summary_message_index == boundary.after_message_index + 1


def test_a_forked_copy_names_its_origin_and_counts_only_its_own_calls() -> None:
    fork, origin = documents(CLAUDE / "forked")
    assert (fork.lineage.forked_from, origin.lineage.forked_from) == (origin.session.id, None)
    own = [one.text for one in fork.messages if not one.inherited]
    assert own == ["on the fork", "reply 5"]
    assert (fork.usage.calls, origin.usage.calls) == (1, 4)


def test_copies_of_which_the_answers_alone_name_their_session_count_once() -> None:
    origin, fork, of_fork, cleared = documents(CLAUDE / "forked-twice-without-a-terminal")
    assert origin.lineage.forked_from is None
    assert fork.lineage.forked_from == origin.session.id
    assert of_fork.lineage.forked_from == fork.session.id
    own = [[one.text for one in each.messages if not one.inherited] for each in (fork, of_fork)]
    assert own == [["second", "reply 2"], ["third", "reply 3"]]
    assert [each.usage.calls for each in (origin, fork, of_fork)] == [1, 1, 1]
    assert cleared.lineage.cleared_from == origin.session.id


def test_rows_that_keep_the_id_of_another_session_are_copies_of_it() -> None:
    fork, agent, origin = documents(OLD_CLAUDE / "forked")
    assert fork.lineage.forked_from == origin.session.id
    assert [one.text for one in fork.messages if not one.inherited] == ["on the fork", "reply 17"]
    assert (fork.usage.calls, fork.compaction.boundaries[0].inherited) == (1, True)
    assert agent.lineage.parent == origin.session.id
    assert [one.text for one in agent.messages if one.active] == ["Warmup", "reply 20"]


def test_a_sub_agents_session_has_a_parent() -> None:
    agent, main = documents(CLAUDE / "with-a-sub-agent")
    assert agent.lineage.parent == main.session.id
    assert [one.text for one in agent.messages] == ["inner question", "reply 3"]


def test_messages_that_a_compression_writes_anew_are_kept_and_not_doubled() -> None:
    document, boundary = only(GEMINI / "compressed")
    assert (boundary.trigger, boundary.replaced_message_indices) == ("manual", [1, 2, 3, 4])
    assert boundary.kept_message_indices == [0, 5, 6, 7, 8]
    assert [one.text for one in document.messages].count("RUN third") == 1


def test_a_session_that_was_resumed_twice_is_one_with_each_result_once() -> None:
    [document] = documents(GEMINI / "resumed-twice")
    assert [one.kind for one in document.messages].count("tool_result") == 1
    [rewind] = document.rewinds
    assert texts(document, rewind.dropped_message_indices)[::2] == ["fourth", "fifth"]
    assert document.usage.calls == 5


def test_a_prompt_that_was_typed_while_the_model_worked_is_one() -> None:
    [document] = documents(CLAUDE / "queued")
    prompts = [one.text for one in document.messages if one.kind == "prompt"]
    assert prompts[1:3] == ["NAP second", "queued third"]
    assert document.end.turns == len(prompts) == 7


def test_a_failed_request_leaves_a_message_that_the_model_never_sees() -> None:
    [document] = documents(CLAUDE / "failed-requests")
    [failed] = [one for one in document.messages if one.text.startswith("API Error")]
    assert (failed.active, failed.kind, failed.synthetic) == (False, "other", True)


def test_a_command_of_ones_own_and_a_shell_are_carried_over() -> None:
    [session] = sessions_in(CLAUDE / "own-commands")
    items = carried(live_window(Reading(session)), max_tokens=10_000).items
    made = [json.loads(item) for item in items]
    texts = [part["text"] for item in made for part in item.get("content", ())]
    outputs = [item["output"] for item in made if item["type"] == "function_call_output"]
    assert texts[:3] == ["first", "reply 1", "MY COMMAND TEXT with words"]
    assert outputs[0] == "<bash-input>echo from-the-shell</bash-input>"


def test_a_second_compression_with_the_same_words_has_a_summary_of_its_own() -> None:
    [document] = documents(GEMINI / "compressed-twice")
    assert [one.trigger for one in document.compaction.boundaries] == ["manual", "manual", "auto"]
    for boundary in document.compaction.boundaries:
        assert boundary.summary_message_index == boundary.after_message_index + 1


def test_an_automatic_compression_is_distinguished_from_one_by_hand() -> None:
    document, boundary = only(GEMINI / "compressed-automatically")
    assert (boundary.trigger, boundary.pre_tokens, boundary.post_tokens) == ("auto", 900_000, 5006)
    assert texts(document, boundary.replaced_message_indices)[0] == "first"


def test_clear_and_new_of_one_gemini_process_are_found_in_order() -> None:
    first, second, third = documents(GEMINI / "cleared")
    assert [one.kind for one in first.context_clears] == ["clear"]
    assert [one.kind for one in second.context_clears] == ["new"]
    assert third.lineage.cleared_from == second.session.id


def test_a_clear_of_an_old_gemini_goes_on_under_the_same_id() -> None:
    [document] = documents(OLD_GEMINI / "cleared")
    [clear] = document.context_clears
    assert (clear.kind, clear.confidence, clear.after_message_index) == ("clear", 0.95, 1)
    assert [one.kind for one in clear.evidence] == ["file", "prompt_log"]
    assert clear.from_session == clear.to_session == document.session.id
    assert [one.active for one in document.messages][:3] == [False, False, True]
