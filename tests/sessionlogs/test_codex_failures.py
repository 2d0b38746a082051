"""What readers of Codex's logs are known to get wrong, each as a test."""

import json
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from trimpoint.sessionlogs.codex.items import SUMMARY_PREFACE
from trimpoint.sessionlogs.opening import CannotRead
from trimpoint.sessionlogs.sessions import survey

from tests.effort import tries
from tests.sessionlogs.sessions import (
    FIXTURES,
    THREAD,
    document_of,
    lines_of,
    live_texts,
    meta,
    only_session,
    row,
    said,
    sessions_in,
    write_rollout,
)

HAND = next((FIXTURES / "codex-0.171.0" / "compacted-by-hand").rglob("rollout-*.jsonl"))


def tokens(total: int) -> dict[str, int]:
    return {"input_tokens": total, "output_tokens": 0, "total_tokens": total}


def token_count(total: int, last: int, at: int = 0) -> dict[str, object]:
    info = {"total_token_usage": tokens(total), "last_token_usage": tokens(last)}
    return row("event_msg", {"type": "token_count", "info": info}, at)


def compacted(message: str, *history: dict[str, object], at: int = 30) -> dict[str, object]:
    items = [item["payload"] for item in history]
    return row("compacted", {"message": message, "replacement_history": items}, at)


def texts_of(folder: Path) -> list[str]:
    return [message.text for message in document_of(only_session(folder)).messages]


def test_ui_events_do_not_duplicate_messages(tmp_path: Path) -> None:
    item = {"type": "AgentMessage", "id": "a", "content": [{"type": "Text", "text": "hello"}]}
    write_rollout(
        tmp_path,
        1,
        [
            meta(1),
            row("event_msg", {"type": "user_message", "message": "hi"}),
            said("user", "hi"),
            row("event_msg", {"type": "agent_message", "message": "hello"}),
            row("event_msg", {"type": "item_completed", "item": item}),
            said("assistant", "hello"),
        ],
    )
    assert texts_of(tmp_path) == ["hi", "hello"]


def test_a_message_of_which_the_original_is_there_is_not_shown_again(tmp_path: Path) -> None:
    hi = said("user", "hi", "m1")
    write_rollout(tmp_path, 1, [meta(1), hi, said("assistant", "hello", "m2"), compacted("S", hi)])
    assert texts_of(tmp_path) == ["hi", "hello"]


def test_a_message_of_which_the_original_is_missing_is_shown_as_synthetic(tmp_path: Path) -> None:
    rows = [meta(1), compacted("S", said("user", "lost", "m0")), said("assistant", "go on", "m2")]
    write_rollout(tmp_path, 1, rows)
    document = document_of(only_session(tmp_path))
    assert [(one.text, one.synthetic, one.active) for one in document.messages] == [
        ("lost", True, True),
        ("go on", False, True),
    ]


def test_messages_without_ids_are_recognized_by_their_text(tmp_path: Path) -> None:
    again = said("user", "continue")
    rows = [meta(1), again, said("assistant", "one"), again, said("assistant", "two")]
    write_rollout(tmp_path, 1, [*rows, compacted("S", again, again)])
    [boundary] = document_of(only_session(tmp_path)).compaction.boundaries
    assert boundary.kept_message_indices == [0, 2]
    assert boundary.replaced_message_indices == [1, 3]


def test_a_compaction_of_the_first_versions_has_a_summary_word_for_word(tmp_path: Path) -> None:
    old = row("compacted", {"message": "**Progress**\n\n- done"}, 9)
    write_rollout(tmp_path, 1, [meta(1), said("user", "hi"), said("assistant", "hello"), old])
    [boundary] = document_of(only_session(tmp_path)).compaction.boundaries
    assert boundary.summary == "**Progress**\n\n- done"
    assert boundary.replaced_message_indices == [0, 1]
    assert boundary.pre_tokens is None
    assert boundary.trigger is None


def test_96_compactions_are_96_boundaries(tmp_path: Path) -> None:
    rows = [meta(1)]
    for number in range(96):
        rows += [said("user", f"p{number}", f"u{number}"), compacted("S")]
        rows.append(row("event_msg", {"type": "context_compacted"}))
    write_rollout(tmp_path, 1, rows)
    document = document_of(only_session(tmp_path))
    assert [one.replaced_message_indices for one in document.compaction.boundaries] == [
        [number] for number in range(96)
    ]
    assert len({one.uuid for one in document.compaction.boundaries}) == 96


def test_a_compacted_row_of_a_guardian_is_no_boundary(tmp_path: Path) -> None:
    write_rollout(
        tmp_path, 1, [meta(1), said("user", "hi"), row("compacted", {"guardian_history": []})]
    )
    document = document_of(only_session(tmp_path))
    assert document.compaction.boundaries == []
    assert document.messages[0].active


def test_replacements_by_reference_are_found(tmp_path: Path) -> None:
    entries = [
        {"type": "reference", "item_id": "m1"},
        {"type": "inline", "item": said("user", "S")["payload"]},
    ]
    payload = {"message": "S", "replacement_history_entries": entries}
    rows = [
        meta(1),
        said("user", "hi", "m1"),
        said("assistant", "a", "m2"),
        row("compacted", payload),
    ]
    write_rollout(tmp_path, 1, rows)
    [boundary] = document_of(only_session(tmp_path)).compaction.boundaries
    assert boundary.kept_message_indices == [0]


def test_repeated_token_counts_are_counted_once(tmp_path: Path) -> None:
    counts = [token_count(100, 100), token_count(100, 100), token_count(250, 150)]
    write_rollout(tmp_path, 1, [meta(1), said("user", "hi"), *counts, token_count(250, 150)])
    usage = document_of(only_session(tmp_path)).usage
    assert (usage.total_tokens, usage.calls) == (250, 2)


def test_usage_records_with_one_response_id_are_counted_once(tmp_path: Path) -> None:
    record = row("token_usage_record", {"response_id": "r1", "usage": tokens(100)})
    other = row("token_usage_record", {"response_id": "r2", "usage": tokens(100)})
    write_rollout(tmp_path, 1, [meta(1), record, record, token_count(100, 100), other])
    assert document_of(only_session(tmp_path)).usage.total_tokens == 200


def test_a_fork_that_copied_its_origin_counts_no_token_twice(tmp_path: Path) -> None:
    copied = [said("user", "hi"), token_count(100, 100), said("assistant", "hello")]
    origin = [meta(1), *copied]
    write_rollout(tmp_path, 1, origin)
    write_rollout(
        tmp_path,
        2,
        [meta(2), *origin, said("user", "new", at=9), token_count(160, 60, 9)],
    )
    fork = document_of(sessions_in(tmp_path)[1])
    assert fork.lineage.forked_from == f"{THREAD}1"
    assert [(one.text, one.inherited) for one in fork.messages] == [
        ("hi", True),
        ("hello", True),
        ("new", False),
    ]
    assert fork.usage.total_tokens == 60


def test_turns_that_were_rolled_back_leave_the_window(tmp_path: Path) -> None:
    rows = [meta(1)]
    for number in range(3):
        rows += [said("user", f"p{number}"), said("assistant", f"a{number}")]
    rolled = row("event_msg", {"type": "thread_rolled_back", "num_turns": 2}, 5)
    write_rollout(tmp_path, 1, [*rows, rolled, said("user", "again", at=6)])
    document = document_of(only_session(tmp_path))
    assert [one.text for one in document.messages if one.active] == ["p0", "a0", "again"]
    assert document.rewinds[0].dropped_message_indices == [2, 3, 4, 5]


def test_a_rollback_behind_a_compaction_leaves_nothing(tmp_path: Path) -> None:
    first = said("user", "p0", "u0")
    rows = [meta(1), first, said("assistant", "a0", "a0"), said("user", "p1", "u1")]
    rolled = row("event_msg", {"type": "thread_rolled_back", "num_turns": 1}, 31)
    write_rollout(tmp_path, 1, [*rows, compacted("S", first, rows[3]), rolled])
    document = document_of(only_session(tmp_path))
    assert [one.text for one in document.messages if one.active] == []
    assert (document.compaction.boundaries[0].undone, len(document.end.notes)) == (True, 1)


def test_files_that_refer_to_each_other_in_a_circle_are_read_once(tmp_path: Path) -> None:
    for number, other in ((1, 2), (2, 1)):
        base = {"thread_id": f"{THREAD}{other}", "end_ordinal_exclusive": 9}
        write_rollout(
            tmp_path, number, [meta(number, history_base=base), said("user", f"p{number}")]
        )
        path = next(tmp_path.rglob(f"*{THREAD}{number}.jsonl"))
        head = json.loads(path.read_text().splitlines()[0])
        head["payload"]["history_base"] = base
        path.write_text("\n".join([json.dumps(head), *path.read_text().splitlines()[1:], ""]))
    assert [len(document_of(one).messages) for one in sessions_in(tmp_path)] == [2, 2]


def test_a_fork_of_which_the_origin_is_gone_is_read_and_says_so(tmp_path: Path) -> None:
    base = {"thread_id": f"{THREAD}7", "end_ordinal_exclusive": 9}
    head = row("session_meta", {"id": f"{THREAD}1", "cwd": "/p", "history_base": base})
    write_rollout(tmp_path, 1, [head, said("user", "p")])
    document = document_of(only_session(tmp_path))
    assert [one.text for one in document.messages] == ["p"]
    assert f"{THREAD}7" in document.end.notes[0]


def test_a_torn_line_in_the_middle_is_counted_and_passed_over(tmp_path: Path) -> None:
    torn = json.dumps(said("user", "torn")).encode()[:60] + b"\n"
    write_rollout(tmp_path, 1, [meta(1), torn, said("user", "whole")])
    document = document_of(only_session(tmp_path))
    assert [one.text for one in document.messages] == ["whole"]
    assert (document.end.unparsed, document.end.pending) == (1, False)


def test_a_torn_last_line_is_pending_and_no_damage(tmp_path: Path) -> None:
    write_rollout(tmp_path, 1, [meta(1), said("user", "whole")], tail=b'{"timestamp":"2026')
    document = document_of(only_session(tmp_path))
    assert (document.end.unparsed, document.end.pending) == (0, True)


def test_reused_ordinals_change_no_order(tmp_path: Path) -> None:
    rows = [said("user", text) | {"ordinal": 3} for text in ("one", "two", "three")]
    write_rollout(tmp_path, 1, [meta(1), *rows])
    assert texts_of(tmp_path) == ["one", "two", "three"]


@pytest.mark.parametrize("mark", ["\u2028", "\u0085", "\x0b", "\x1c"])
def test_a_line_ends_at_a_newline_only(tmp_path: Path, mark: str) -> None:
    line = json.dumps(said("user", f"a{mark}b"), ensure_ascii=False).encode() + b"\n"
    write_rollout(tmp_path, 1, [meta(1), line])
    assert texts_of(tmp_path) == [f"a{mark}b"]


def test_halves_of_surrogate_pairs_and_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    half = json.dumps(said("user", "HALF")).encode().replace(b"HALF", b"\\ud83d!") + b"\n"
    bytes_ = json.dumps(said("user", "BYTES")).encode().replace(b"BYTES", b"\xff!") + b"\n"
    write_rollout(tmp_path, 1, [meta(1), half, bytes_])
    assert texts_of(tmp_path) == ["\ufffd!", "\ufffd!"]


def test_padding_and_nesting_and_huge_numbers_end_nothing(tmp_path: Path) -> None:
    deep = b'{"type":"response_item","payload":' + b"[" * 50_000 + b"]" * 50_000 + b"}\n"
    number = b'{"type":"event_msg","payload":{"type":"token_count","info":' + b"9" * 5000 + b"}}\n"
    padded = b"\x00" * 512 + json.dumps(said("user", "padded")).encode() + b"\n"
    write_rollout(tmp_path, 1, [meta(1), deep, number, b"\x00" * 64 + b"\n", padded, b"\n"])
    document = document_of(only_session(tmp_path))
    assert [one.text for one in document.messages] == ["padded"]


def test_a_member_of_another_type_is_lost_alone(tmp_path: Path) -> None:
    labels = {"content_item_kinds": [{"kind": "user.text"}], "turn_id": 4}
    odd = said("user", "one")
    odd["payload"] |= {"phase": 3, "internal_chat_message_metadata_passthrough": labels}
    odd["payload"]["content"].append("loose")
    info = {"total_token_usage": {"input_tokens": "x", "total_tokens": 9}, "last_token_usage": 1}
    counted = row("event_msg", {"type": "token_count", "info": info})
    write_rollout(tmp_path, 1, [meta(1, git=[]), odd, counted])
    document = document_of(only_session(tmp_path))
    assert [one.text for one in document.messages] == ["one"]
    assert (document.end.unparsed, document.session.cwd) == (0, "/p")


def test_unknown_rows_are_counted_and_never_fatal(tmp_path: Path) -> None:
    rows = [row("from_the_future", {"a": 1}), row("response_item", {"type": "new_item"})]
    write_rollout(tmp_path, 1, [meta(1), *rows, said("user", "hi")])
    document = document_of(only_session(tmp_path))
    assert document.end.unknown == {"from_the_future": 1}
    assert [one.kind for one in document.messages] == ["other", "prompt"]


def test_image_data_is_left_out_and_named(tmp_path: Path) -> None:
    item = said("user", "look")
    item["payload"]["content"].append(
        {"type": "input_image", "image_url": "data:image/png;base64,AA"}
    )
    write_rollout(tmp_path, 1, [meta(1), item])
    [message] = document_of(only_session(tmp_path)).messages
    assert (message.text, message.omitted) == ("look", ["image"])


def test_lines_of_the_first_age_are_items_themselves(tmp_path: Path) -> None:
    head = {"id": f"{THREAD}1", "timestamp": "2025-05-01T00:00:00Z", "instructions": None}
    state = {"record_type": "state"}
    item = said("user", "hi")["payload"]
    call = {"type": "function_call", "name": "shell", "arguments": '{"a":1}', "call_id": "c"}
    write_rollout(tmp_path, 1, [head, state, item, call])
    document = document_of(only_session(tmp_path))
    assert [one.kind for one in document.messages] == ["prompt", "tool_call"]
    assert document.messages[1].tool_calls[0].arguments == {"a": 1}
    assert document.end.unknown == {}


def test_a_compressed_session_is_read_as_the_plain_one(tmp_path: Path) -> None:
    plain = tmp_path / "plain" / "sessions" / HAND.name
    packed = tmp_path / "packed" / "archived_sessions" / f"{HAND.name}.zst"
    for path in (plain, packed):
        path.parent.mkdir(parents=True)
    data = HAND.read_bytes()
    plain.write_bytes(data)
    frames = [zstandard.compress(data[:5000]), zstandard.compress(data[5000:])]
    packed.write_bytes(b"".join(frames))
    one, other = (only_session(tmp_path / name) for name in ("plain", "packed"))
    first, second = document_of(one), document_of(other)
    assert [one.text for one in first.messages] == [one.text for one in second.messages]
    assert first.compaction.boundaries[0].uuid == second.compaction.boundaries[0].uuid


def test_a_damaged_compressed_session_is_read_up_to_the_damage(tmp_path: Path) -> None:
    packed = tmp_path / "sessions" / f"{HAND.name}.zst"
    packed.parent.mkdir(parents=True)
    frame = zstandard.compress(HAND.read_bytes()[:20_000])
    packed.write_bytes(frame + frame[:200])
    document = document_of(only_session(tmp_path))
    assert (bool(document.messages), document.end.pending, document.end.notes) == (True, True, [])
    packed.write_bytes(frame + b"no frame")
    document = document_of(only_session(tmp_path))
    [note] = document.end.notes
    assert document.messages
    assert note == f"{packed.name} is damaged, and its rest could not be decompressed."


def test_a_thread_in_both_folders_is_listed_once_and_the_plain_file_counts(tmp_path: Path) -> None:
    for folder, name in (("sessions", HAND.name), ("archived_sessions", HAND.name)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(HAND.read_bytes())
    (tmp_path / "sessions" / f"{HAND.name}.zst").write_bytes(b"stale")
    found = only_session(tmp_path)
    assert [path.parent.name for path, _ in found.parts] == ["sessions"]
    assert found.parts[0][0].suffix == ".jsonl"


def test_a_session_that_is_gone_by_now_says_so(tmp_path: Path) -> None:
    path = write_rollout(tmp_path, 1, [meta(1), said("user", "hi")])
    found = only_session(tmp_path)
    path.unlink()
    with pytest.raises(CannotRead, match=path.name):
        survey(found)


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    [found] = sessions_in(FIXTURES / "codex-0.171.0" / "compacted-by-hand")
    assert lines_of(found) == lines_of(found)
    first, *_, last = lines_of(found)
    assert (first["type"], last["type"]) == ("session", "end")


@settings(max_examples=tries(150), deadline=None)
@given(cut=st.integers(0, 30_000))
def test_a_log_that_is_cut_anywhere_is_read(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    data = HAND.read_bytes()
    write_rollout(folder, 1, [], tail=data[: min(cut, len(data))])
    document = document_of(only_session(folder))
    assert document.end.unparsed == 0


@settings(max_examples=tries(150), deadline=None)
@given(flips=st.lists(st.tuples(st.integers(0, 1 << 30), st.integers(1, 255)), max_size=8))
def test_a_log_with_flipped_bytes_is_read(
    tmp_path_factory: pytest.TempPathFactory, flips: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("flipped")
    data = bytearray(HAND.read_bytes())
    for at, bits in flips:
        data[at % len(data)] ^= bits
    write_rollout(folder, 1, [], tail=bytes(data))
    for message in document_of(only_session(folder)).messages:
        assert message.index >= 0


def test_a_session_of_the_first_age_may_be_one_object(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / f"rollout-2025-05-01-{THREAD}1.json"
    path.parent.mkdir(parents=True)
    items = [said("user", "hi")["payload"], said("assistant", "hello")["payload"]]
    head = {"id": f"{THREAD}1", "timestamp": "2025-05-01T00:00:00Z"}
    path.write_text(json.dumps({"session": head, "items": items}, indent=2))
    document = document_of(only_session(tmp_path))
    assert [one.text for one in document.messages] == ["hi", "hello"]
    assert (document.session.created_at, document.end.unparsed) == ("2025-05-01T00:00:00Z", 0)


def test_an_older_summary_with_other_words_stands_where_its_boundary_was(tmp_path: Path) -> None:
    kept, other = said("user", "one", "u1"), said("user", f"{SUMMARY_PREFACE} …", "s1")
    first = compacted("A SUMMARY", kept, said("user", f"{SUMMARY_PREFACE}:\nA SUMMARY", "s0"))
    two, own = said("user", "two", "u2"), said("user", f"{SUMMARY_PREFACE}:\nB", "s2")
    second = compacted(f"{SUMMARY_PREFACE}:\nB", kept, other, two, own)
    write_rollout(tmp_path, 1, [meta(1), kept, first, two, second])
    assert live_texts(only_session(tmp_path)) == ["one", "SUMMARY:", "two", "SUMMARY:B"]
