"""What is found of `/clear` in sessions of Claude Code."""

import json
from pathlib import Path
from typing import Any

import pytest
from trimpoint_protocol import unified as u

from tests.sessionlogs.claude_rows import CHAIN, OTHER, REAL, SESSION, active, prompt, write
from tests.sessionlogs.sessions import (
    document_of,
    only_session,
    sessions_in,
)

BRANCH = "33333333-3333-4333-8333-333333333333"


def test_a_real_clear_is_found_with_its_evidence() -> None:
    before, after = sorted(
        map(document_of, sessions_in(REAL / "cleared")),
        key=lambda one: one.session.created_at or "",
    )
    [clear] = before.context_clears
    assert (clear.kind, clear.from_session, clear.to_session) == (
        "clear",
        before.session.id,
        after.session.id,
    )
    assert (clear.confidence, [one.kind for one in clear.evidence]) == (0.95, ["record", "queue"])
    assert clear.after_message_index == 1
    assert after.lineage.cleared_from == before.session.id
    assert after.context_clears == []


def test_results_that_were_cleared_are_no_boundary(tmp_path: Path) -> None:
    meta = {"trigger": "auto", "preTokens": 9, "tokensSaved": 4, "compactedToolIds": ["t1"]}
    row = {"type": "system", "subtype": "microcompact_boundary", "uuid": "m", "parentUuid": "a2",
           "microcompactMetadata": meta}  # fmt: skip
    write(tmp_path, [*CHAIN, row])
    document = document_of(only_session(tmp_path))
    assert document.compaction.boundaries == []
    assert document.tool_result_clears[0].call_ids == ["t1"]


def cleared_rows(hint: str | None = None) -> list[dict[str, Any]]:
    more = {"session_id": hint} if hint else {}
    command = "<command-name>/clear</command-name>\n<command-message>clear</command-message>"
    return [
        prompt("k1", None, "<local-command-caveat>…", at=30, isMeta=True, sessionId=OTHER),
        prompt("k2", "k1", command, at=30, sessionId=OTHER),
        prompt("k3", "k2", "after", at=40, sessionId=OTHER, **more),
    ]


@pytest.mark.parametrize(
    ("hint", "history", "confidence"),
    [(SESSION, True, 0.99), (None, True, 0.95), (SESSION, False, 0.95), (None, False, 0.6)],
)
def test_a_clear_is_as_sure_as_its_evidence(
    tmp_path: Path, hint: str | None, history: bool, confidence: float
) -> None:
    write(tmp_path, CHAIN)
    write(tmp_path, cleared_rows(hint), OTHER)
    if history:
        typed = {
            "display": "/clear ",
            "timestamp": 1767323069997,
            "project": "/p",
            "sessionId": SESSION,
        }
        (tmp_path / "history.jsonl").write_text(json.dumps(typed) + "\n")
    before, after = map(document_of, sessions_in(tmp_path))
    assert [one.confidence for one in before.context_clears] == [confidence]
    assert before.context_clears[0].after_message_index == 3
    assert after.lineage.cleared_from == SESSION


def test_a_clear_of_which_nothing_is_left_before_it_is_still_one(tmp_path: Path) -> None:
    write(tmp_path, cleared_rows(), OTHER)
    [clear] = document_of(only_session(tmp_path)).context_clears
    assert (clear.from_session, clear.confidence, clear.after_message_index) == (None, 0.9, -1)


def test_a_session_that_went_on_after_a_clear_has_it_in_the_middle(tmp_path: Path) -> None:
    write(tmp_path, [*CHAIN, prompt("u5", "a2", "resumed", at=59)])
    write(tmp_path, cleared_rows(SESSION), OTHER)
    before, _ = map(document_of, sessions_in(tmp_path))
    assert before.context_clears[0].after_message_index == 3


def test_a_clear_in_a_session_that_went_on_under_its_id_is_found_in_the_history(
    tmp_path: Path,
) -> None:
    write(tmp_path, [*CHAIN, prompt("u9", None, "anew", at=50)])
    typed = {"display": "/clear", "timestamp": 1767323080000, "sessionId": SESSION}
    (tmp_path / "history.jsonl").write_text(json.dumps(typed) + "\n")
    document = document_of(only_session(tmp_path))
    [clear] = document.context_clears
    assert (clear.confidence, clear.after_message_index, document.rewinds) == (0.8, 3, [])
    assert active(tmp_path) == ["anew"]


def test_a_branch_of_a_session_that_began_with_a_clear_is_none_itself(tmp_path: Path) -> None:
    write(tmp_path, CHAIN)
    write(tmp_path, cleared_rows(), OTHER)
    copied = {"forkedFrom": {"sessionId": OTHER, "messageUuid": "x"}}
    write(tmp_path, [one | copied for one in cleared_rows()], BRANCH)
    before, after, branch = map(document_of, sessions_in(tmp_path))
    assert [one.to_session for one in before.context_clears] == [after.session.id]
    assert branch.lineage == u.Lineage(forked_from=OTHER)
