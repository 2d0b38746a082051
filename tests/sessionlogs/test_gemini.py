"""Sessions of Gemini CLI: those that the real one wrote, and what readers of them are known to get
wrong.
"""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trimpoint.sessionlogs.sessions import Reading
from trimpoint_protocol import unified as u

from tests.effort import tries
from tests.sessionlogs.sessions import FIXTURES, document_of, only_session, sessions_in, texts

REAL = FIXTURES / "gemini-cli-0.61.0"
SNAPSHOT = "<state_snapshot>what was done</state_snapshot>"


def write(
    folder: Path,
    rows: list[Any],
    name: str = "session-2026-01-02T03-04-aaaaaaaa.jsonl",
    tail: bytes = b"",
) -> Path:
    path = folder / "tmp" / "p" / "chats" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows) + tail)
    return path


def header(session: str = "s1", at: int = 0) -> dict[str, Any]:
    time = f"2026-01-02T03:04:{at:02d}.000Z"
    return {
        "sessionId": session,
        "projectHash": "h",
        "startTime": time,
        "lastUpdated": time,
        "kind": "main",
    }


def said(kind: str, message_id: str, text: Any, at: int = 1, **more: Any) -> dict[str, Any]:
    time = f"2026-01-02T03:04:{at:02d}.000Z"
    return {"id": message_id, "timestamp": time, "type": kind, "content": text, **more}


def tokens(given: int) -> dict[str, int]:
    return {
        "input": given,
        "output": 10,
        "cached": 0,
        "thoughts": 5,
        "tool": 0,
        "total": given + 15,
    }


TALK = [
    header(),
    said("user", "c", "<session_context>\nThis is the Gemini CLI"),
    said("user", "u1", [{"text": "one"}]),
    said("gemini", "g1", "first", tokens=tokens(5000)),
    said("user", "u2", [{"text": "two"}]),
    said("gemini", "g2", "second", tokens=tokens(5300)),
]
COMPRESSED = {
    "$set": {
        "messages": [
            said("user", "c", "<session_context>\nThis is the Gemini CLI"),
            said("user", "x1", SNAPSHOT),
            said("gemini", "x2", "Got it. Thanks for the additional context!"),
            said("gemini", "g2", "second", tokens=tokens(5300)),
        ],
        "lastUpdated": "2026-01-02T03:04:30.000Z",
    }
}


def log(folder: Path, *typed: tuple[str, int]) -> None:
    entries = [
        {"sessionId": "s1", "messageId": number, "type": "user", "message": message,
         "timestamp": f"2026-01-02T03:04:{at:02d}.000Z"}
        for number, (message, at) in enumerate(typed)
    ]  # fmt: skip
    (folder / "tmp" / "p" / "logs.json").write_text(json.dumps(entries, indent=2))


def test_a_real_session_that_was_resumed_has_each_message_once() -> None:
    document = document_of(only_session(REAL / "resumed"))
    said_then = [one.text for one in document.messages if one.kind != "preamble"]
    assert said_then == [
        "first",
        "reply 2",
        "BIG second",
        "reply 4",
        "third",
        "reply 6",
        "fourth",
        "reply 8",
    ]
    assert all(one.active for one in document.messages)
    assert (document.rewinds, document.compaction.boundaries) == ([], [])
    assert (document.session.cwd, document.usage.calls) == ("/home/you/project", 4)


@pytest.mark.parametrize(
    ("typed", "trigger"),
    [
        ((("/compress", 28),), "manual"),
        ((("/summarize", 20),), "manual"),
        ((("hello", 28),), "auto"),
        (None, None),
    ],
)
def test_a_compression_is_by_hand_if_it_was_typed(
    tmp_path: Path, typed: tuple[tuple[str, int], ...] | None, trigger: str | None
) -> None:
    write(tmp_path, [*TALK, COMPRESSED, said("gemini", "g3", "third", 40, tokens=tokens(900))])
    if typed is not None:
        log(tmp_path, *typed)
    document = document_of(only_session(tmp_path))
    [boundary] = document.compaction.boundaries
    assert boundary.trigger == trigger
    assert (boundary.pre_tokens, boundary.post_tokens) == (5300, 900)
    assert (boundary.after_message_index, boundary.summary_message_index) == (4, 5)
    assert texts(document, boundary.replaced_message_indices) == ["one", "first", "two"]
    assert boundary.summary == SNAPSHOT
    assert not boundary.post_tokens_estimated


def test_tokens_after_a_compression_are_null_until_the_model_is_asked(tmp_path: Path) -> None:
    write(tmp_path, [*TALK, COMPRESSED])
    assert document_of(only_session(tmp_path)).compaction.boundaries[0].post_tokens is None


def test_a_list_that_is_set_without_a_new_summary_is_no_boundary(tmp_path: Path) -> None:
    masked = {"$set": {"messages": TALK[1:5]}}
    write(tmp_path, [*TALK, masked])
    document = document_of(only_session(tmp_path))
    assert (document.compaction.boundaries, document.rewinds) == ([], [])
    assert [one.active for one in document.messages] == [True] * 4 + [False]


def test_a_message_that_is_written_again_counts_once_in_its_last_form(tmp_path: Path) -> None:
    call = {"id": "t1", "name": "read_file", "args": {"p": 1}, "status": "success"}
    result = [
        {"functionResponse": {"id": "t1", "name": "read_file", "response": {"output": "text"}}}
    ]
    rows = [
        *TALK[:3],
        said("gemini", "g", "look", tokens=tokens(100)),
        said("gemini", "g", "look", tokens=tokens(100), toolCalls=[call | {"result": result}]),
        said("user", "r", result),
    ]
    write(tmp_path, rows)
    document = document_of(only_session(tmp_path))
    assert [one.kind for one in document.messages] == [
        "preamble",
        "prompt",
        "answer",
        "tool_result",
    ]
    assert document.messages[2].tool_calls[0].arguments == {"p": 1}
    assert document.messages[2].tool_results == []
    assert document.messages[3].tool_results[0].call_message_index == 2
    assert document.usage.calls == 1


@pytest.mark.parametrize(("target", "left"), [("u2", ["one", "first"]), ("unknown", [])])
def test_a_rewind_drops_a_message_and_all_after_it(
    tmp_path: Path, target: str, left: list[str]
) -> None:
    write(tmp_path, [*TALK, {"$rewindTo": target}])
    document = document_of(only_session(tmp_path))
    assert [one.text for one in document.messages if one.active and one.kind != "preamble"] == left
    assert len(document.rewinds) == 1


def test_a_session_of_older_versions_is_one_object(tmp_path: Path) -> None:
    whole = header() | {"messages": TALK[1:], "summary": "A talk"}
    name = "session-2026-01-02T03-04-aaaaaaaa.json"
    write(tmp_path, [], name, json.dumps(whole, indent=2).encode())
    document = document_of(only_session(tmp_path))
    assert [one.text for one in document.messages][1:] == ["one", "first", "two", "second"]
    assert (document.session.id, document.session.title) == ("s1", "A talk")
    assert document.end.unparsed == 0


@pytest.mark.parametrize("is_typed", [True, False])
def test_a_compression_that_is_not_written_down_is_noted(tmp_path: Path, is_typed: bool) -> None:
    told = said("info", "i1", "" if is_typed else "Context compressed from 86% to 0%.")
    whole = header() | {"messages": [*TALK[1:], told]}
    write(tmp_path, [], "session-2026-01-02T03-04-aaaaaaaa.json", json.dumps(whole).encode())
    typed = {"sessionId": "s1", "message": "/compress", "timestamp": "2026-01-02T03:04:30.000Z"}
    (tmp_path / "tmp" / "p" / "logs.json").write_text(json.dumps([typed] if is_typed else []))
    document = document_of(only_session(tmp_path))
    assert document.compaction.boundaries == []
    [note] = document.end.notes
    assert "its model may have seen a summary" in note


@pytest.mark.parametrize("is_dated", [True, False])
def test_a_clear_in_a_session_of_older_versions_needs_no_log(
    tmp_path: Path, is_dated: bool
) -> None:
    for at, talk in enumerate((TALK[2:4], TALK[4:])):
        whole = header(at=at * 30) | {"messages": talk}
        if not is_dated:
            del whole["startTime"]
        name = f"session-2026-01-02T03-0{at}-aaaaaaaa.json"
        write(tmp_path, [], name, json.dumps(whole).encode())
    document = document_of(only_session(tmp_path))
    [clear] = document.context_clears
    assert (clear.confidence, clear.after_message_index) == (0.8, 1)
    assert [one.text for one in document.messages if one.active] == ["two", "second"]


def test_the_newer_file_of_a_session_counts(tmp_path: Path) -> None:
    write(tmp_path, TALK[:3])
    write(tmp_path, [], "session-2026-01-02T03-04-aaaaaaaa.json", b"{}")
    assert only_session(tmp_path).parts[0][0].suffix == ".jsonl"


def test_a_file_in_which_nothing_is_said_is_no_second_session(tmp_path: Path) -> None:
    write(tmp_path, TALK)
    context = {"$set": {"messages": [TALK[1]], "lastUpdated": "2026-01-02T03:09:00.000Z"}}
    write(tmp_path, [header("s1", 50), context], "session-2026-01-02T03-09-s1.jsonl")
    assert only_session(tmp_path).parts[0][0].name == "session-2026-01-02T03-04-aaaaaaaa.jsonl"
    write(
        tmp_path, [header("s1", 55), said("user", "u9", "on")], "session-2026-01-02T03-10-s1.jsonl"
    )
    document = document_of(only_session(tmp_path))
    assert [one.text for one in document.messages][-2:] == ["second", "on"]


def test_a_result_that_a_list_says_once_more_is_no_new_message(tmp_path: Path) -> None:
    answered = {"functionResponse": {"id": "t1", "name": "ls", "response": {"output": "files"}}}
    call: dict[str, Any] = {"id": "t1", "name": "ls", "status": "success", "result": [answered]}
    rows = [*TALK, said("gemini", "g3", "look", toolCalls=[call]), said("user", "r3", [answered])]
    again = said("user", "g3_response", [answered])
    listed = [*TALK[1:], rows[-2], again, again, rows[-1], said("user", "u4", "on")]
    write(tmp_path, [*rows, {"$set": {"messages": listed}}])
    document = document_of(only_session(tmp_path))
    assert [one.kind for one in document.messages].count("tool_result") == 1
    assert all(one.active for one in document.messages)
    assert document.rewinds == []


def test_images_and_documents_of_a_prompt_are_left_out_and_named(tmp_path: Path) -> None:
    parts = [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]
    file = {"fileData": {"mimeType": "application/pdf", "fileUri": "x"}}
    rows = [header(), said("user", "u1", parts), said("user", "u2", [{"text": "read"}, file])]
    write(tmp_path, rows)
    document = document_of(only_session(tmp_path))
    assert [(one.text, one.omitted) for one in document.messages] == [
        ("look", ["image"]),
        ("read", ["document"]),
    ]


def test_a_member_of_another_type_is_lost_alone(tmp_path: Path) -> None:
    odd = said("gemini", "g1", "first", tokens={"input": "many", "output": 3}, model=7)
    write(tmp_path, [header(), odd, said("user", "u1", [{"text": 5}, {"text": "words"}, 9])])
    document = document_of(only_session(tmp_path))
    assert [one.text for one in document.messages] == ["first", "words"]
    assert (document.usage.output_tokens, document.end.unparsed) == (3, 0)


def test_a_long_session_is_not_held_in_memory(tmp_path: Path) -> None:
    words = "word " * 2_000
    rows = [header()]
    for number in range(500):
        rows.append(said("gemini", f"g{number}", "look", tokens=tokens(100)))
        call = {"id": f"t{number}", "name": "ls", "result": words, "status": "success"}
        rows.append(said("gemini", f"g{number}", "look", toolCalls=[call], tokens=tokens(100)))
    path = write(tmp_path, rows)
    del rows
    reading = Reading(only_session(tmp_path))
    tracemalloc.start()
    results = sum(len(one.tool_results) for one in reading if isinstance(one, u.MessageRecord))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert results == 500
    assert peak < path.stat().st_size / 4


def test_a_message_that_is_written_anew_much_later_keeps_its_place(tmp_path: Path) -> None:
    late = said("gemini", "g1", "first, and more", 50, tokens=tokens(5000))
    write(tmp_path, [*TALK, late, said("user", "u3", "three")])
    document = document_of(only_session(tmp_path))
    assert [one.text for one in document.messages][1:] == [
        "one",
        "first, and more",
        "two",
        "second",
        "three",
    ]
    assert document.usage.calls == 2


def test_files_that_are_left_over_are_no_sessions(tmp_path: Path) -> None:
    for suffix in (".tmp-77", ".unreadable-1767323069997", ".bak"):
        write(tmp_path, TALK, f"session-2026-01-02T03-04-bbbbbbbb.jsonl{suffix}")
    assert sessions_in(tmp_path) == []


def test_a_torn_log_of_prompts_counts_as_none(tmp_path: Path) -> None:
    write(tmp_path, [*TALK, COMPRESSED])
    (tmp_path / "tmp" / "p" / "logs.json").write_text('[\n  {"sessionId": "s1", "mess')
    assert document_of(only_session(tmp_path)).compaction.boundaries[0].trigger is None


def test_a_clear_is_found_where_a_session_begins_when_it_was_typed(tmp_path: Path) -> None:
    write(tmp_path, TALK)
    later = [header("s2", 31), said("user", "u9", "new", 40)]
    write(tmp_path, later, "session-2026-01-02T03-05-bbbbbbbb.jsonl")
    log(tmp_path, ("one", 1), ("/clear", 30), ("new", 40))
    before, after = map(document_of, sessions_in(tmp_path))
    [clear] = before.context_clears
    assert (clear.kind, clear.from_session, clear.to_session, clear.confidence) == (
        "clear",
        "s1",
        "s2",
        0.95,
    )
    assert (clear.after_message_index, after.lineage.cleared_from) == (4, "s1")


def test_a_session_that_begins_later_was_not_cleared(tmp_path: Path) -> None:
    write(tmp_path, TALK)
    write(tmp_path, [header("s2", 45)], "session-2026-01-02T03-05-bbbbbbbb.jsonl")
    log(tmp_path, ("/clear", 30))
    before, after = map(document_of, sessions_in(tmp_path))
    assert (before.context_clears, after.lineage.cleared_from) == ([], None)


@settings(max_examples=tries(60), deadline=None)
@given(
    cut=st.integers(0, 3000),
    flips=st.lists(st.tuples(st.integers(0, 1 << 30), st.integers(1, 255)), max_size=5),
)
def test_a_log_that_is_cut_or_damaged_is_read(
    tmp_path_factory: pytest.TempPathFactory, cut: int, flips: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    whole = b"".join(json.dumps(row).encode() + b"\n" for row in [*TALK, COMPRESSED])
    data = bytearray(whole[: cut + 1])
    for at, bits in flips:
        data[at % len(data)] ^= bits
    write(folder, [], tail=bytes(data))
    document_of(only_session(folder))
