"""Sessions as conversations: what Codex has of one thread is one row."""

from typing import Any

import msgspec
from trimpoint.gateway.methods.agent_sessions.own_sessions import conversations
from trimpoint.threads.catalogue import Size, ThreadSummary
from trimpoint_protocol.shapes.agent_sessions import SessionOverview


def log(session_id: str, agent: str = "codex", **facts: Any) -> SessionOverview:
    empty = dict.fromkeys(SessionOverview.__struct_fields__)
    facts = {"files": [f"{session_id}.jsonl"], "bytes": 10, "tokens": 5, **facts}
    return SessionOverview(**{**empty, "id": session_id, "agent": agent, **facts})


def thread(thread_id: str, *provider_ids: str, **facts: Any) -> ThreadSummary:
    size = Size(2, 1, 0, None, used_is_estimate=False, window_tokens=None)
    summary = ThreadSummary(
        thread_id, 1, 1, [*provider_ids], ["scratch"], None, "/project", False, 0, 0, False, None,
        preview="What is here?", size=size,
    )  # fmt: skip
    return msgspec.structs.replace(summary, **facts)


def test_all_logs_of_one_thread_are_one_row_with_the_first_prompt_of_the_thread() -> None:
    logs = [log("one"), log("two", first_prompt="<pinned-note>x"), log("scratch"), log("other")]
    rows = conversations(logs, [thread("one", "one", "two")])
    assert [(row.id, row.agent) for row in rows] == [("other", "codex"), ("one", "trimpoint")]
    assert (rows[1].first_prompt, rows[1].tokens, rows[1].bytes) == ("What is here?", 15, 30)
    assert rows[1].files == ["one.jsonl", "two.jsonl", "scratch.jsonl"]


def test_a_session_of_another_agent_is_never_folded_whatever_its_id() -> None:
    rows = conversations([log("one", "claude")], [thread("one", "one")])
    assert [row.agent for row in rows] == ["claude", "trimpoint"]


def test_a_thread_in_which_nothing_was_said_is_no_conversation() -> None:
    empty = thread("one", "one", preview="", size=None)
    assert conversations([log("one")], [empty]) == []
    named = thread("one", "one", preview="", size=None, name="Plans")
    assert [row.title for row in conversations([], [named])] == ["Plans"]
