"""What Claude Code and Codex write beside a person's words, and words that they write elsewhere."""

import json
from pathlib import Path
from typing import Any

import pytest
from trimpoint.sessionlogs.codex.items import kind_of_message
from trimpoint.sessionlogs.codex.rows import Item, Part

from tests.sessionlogs.claude_rows import CHAIN, SESSION, answer, prompt, text, write
from tests.sessionlogs.sessions import (
    THREAD,
    document_of,
    meta,
    only_session,
    said,
    sessions_in,
    write_rollout,
)

TYPED = "and rename the flag"


def queue(operation: str, content: str | None = None) -> dict[str, Any]:
    row = {"type": "queue-operation", "operation": operation, "sessionId": SESSION}
    row["timestamp"] = "2026-01-02T03:04:06.000Z"
    return row if content is None else row | {"content": content}


def attached(uuid: str, parent: str, words: str) -> dict[str, Any]:
    attachment = {"type": "queued_command", "prompt": words}
    return {"type": "attachment", "uuid": uuid, "parentUuid": parent, "attachment": attachment}


BEFORE, AFTER = CHAIN[:2], [answer("a2", "a1", text("to both")), prompt("u2", "a2", "two")]


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        ([queue("enqueue", TYPED), queue("remove")], [TYPED]),
        ([queue("enqueue", TYPED), queue("popAll")], []),
        ([queue("enqueue", TYPED), queue("dequeue"), prompt("u9", "a1", TYPED)], [TYPED]),
        ([queue("enqueue", TYPED), queue("remove"), attached("q", "a1", TYPED)], [TYPED]),
        ([queue("enqueue", TYPED), attached("q", "a1", TYPED), queue("remove")], [TYPED]),
        ([queue("enqueue", "x"), queue("enqueue", TYPED), queue("remove", TYPED)], [TYPED]),
        ([queue("enqueue", "/status"), queue("remove")], []),
        ([queue("enqueue", "<task-notification>x"), queue("remove")], []),
        ([queue("remove"), queue("dequeue"), queue("of another kind")], []),
    ],
)
def test_a_prompt_that_was_typed_while_claude_worked_is_there_once(
    tmp_path: Path, rows: list[Any], shown: list[str]
) -> None:
    write(tmp_path, [*BEFORE, *rows, *AFTER])
    prompts = [
        one.text for one in document_of(only_session(tmp_path)).messages if one.kind == "prompt"
    ]
    assert prompts == ["one", *shown, "two"]


def test_a_prompt_that_no_row_has_stands_before_the_answer_to_it_and_is_not_live(
    tmp_path: Path,
) -> None:
    write(tmp_path, [*BEFORE, queue("enqueue", TYPED), queue("remove"), *AFTER])
    messages = document_of(only_session(tmp_path)).messages
    assert [one.text for one in messages] == ["one", "first", TYPED, "to both", "two"]
    assert [one.text for one in messages if not one.active] == [TYPED]


def test_a_prompt_that_is_still_sent_at_the_end_is_there_too(tmp_path: Path) -> None:
    write(tmp_path, [*BEFORE, queue("enqueue", TYPED), queue("remove")])
    assert document_of(only_session(tmp_path)).messages[-1].text == TYPED


def test_the_output_of_an_answer_is_that_of_its_largest_row(tmp_path: Path) -> None:
    rows = [answer(f"a{n}", "u1", text(str(n)), message_id="m") for n in range(3)]
    for row, tokens in zip(rows, (8, 159, 20), strict=True):
        row["message"]["usage"]["output_tokens"] = tokens
    write(tmp_path, [CHAIN[0], *rows])
    document = document_of(only_session(tmp_path))
    used = document.messages[-1].usage
    assert document.usage.output_tokens == 159
    assert used is not None
    assert used.output_tokens == 159


def test_a_byte_order_mark_costs_no_row(tmp_path: Path) -> None:
    first = b"\xef\xbb\xbf" + json.dumps(CHAIN[0]).encode() + b"\n"
    write(tmp_path, [first, *CHAIN[1:]])
    document = document_of(only_session(tmp_path))
    assert [one.text for one in document.messages] == ["one", "first", "two", "second"]
    assert document.end.unparsed == 0


def test_what_an_editor_puts_before_a_prompt_is_no_title(tmp_path: Path) -> None:
    opened = "<ide_opened_file>The user opened x.py</ide_opened_file>"
    chosen = "<ide_selection>lines 1 to 2</ide_selection>\n"
    write(tmp_path, [prompt("u1", None, f"{opened}{chosen}mend it")])
    [session] = sessions_in(tmp_path)
    assert document_of(session).session.first_prompt == "mend it"


@pytest.mark.parametrize("tag", ["recommended_plugins", "app-context", "environment_context"])
def test_what_codex_puts_before_a_task_is_no_prompt(tag: str) -> None:
    part = Part(type="input_text", text=f"<{tag}>a list</{tag}>\n# AGENTS.md instructions")
    assert kind_of_message(Item(type="message", role="user", content=[part])) == "preamble"


def test_a_sub_agent_without_a_prompt_has_its_nickname_as_title(tmp_path: Path) -> None:
    spawned = {"thread_spawn": {"parent_thread_id": f"{THREAD}1", "agent_nickname": "Averroes"}}
    begun = meta(2, source={"subagent": spawned})
    preamble = said("user", "<recommended_plugins>a list</recommended_plugins>")
    for prompts, title in (([], "Averroes"), ([said("user", "do it")], None)):
        write_rollout(tmp_path, 2, [begun, preamble, *prompts])
        assert document_of(only_session(tmp_path)).session.title == title


@pytest.mark.parametrize("content", [b"5", b'"\x8b"', b"[" * 5000 + b"]" * 5000])
def test_damaged_rows_about_the_queue_change_nothing(tmp_path: Path, content: bytes) -> None:
    damaged = b'{"type":"queue-operation","operation":"enqueue","content":' + content + b"}\n"
    write(tmp_path, [*BEFORE, damaged, queue("remove"), *AFTER])
    prompts = [one for one in document_of(only_session(tmp_path)).messages if one.kind == "prompt"]
    assert [one.text for one in prompts] == ["one", "two"]
