"""Codex's items are translated into ACP's tool calls: titles, diffs and outputs."""

import pytest
from trimpoint.acp.translate.diffs import diffs_of, no_file
from trimpoint.acp.translate.items import command_title, tool_call_of
from trimpoint.acp.translate.outputs import CLEAR_SCREEN, RAW_CHARS, SHOWN_CHARS, Output, raw_output

from tests.acp.json_values import Json, as_json

FILE = "zero\none\ntwo\nthree"


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ("/bin/bash -lc 'ls -l'", "ls -l"),
        ("bash -c ls", "ls"),
        ("/bin/zsh -lc 'echo '\\''a'\\'''", "echo 'a'"),
        ("python -m x", "python -m x"),
    ],
)
def test_the_shell_around_a_command_is_left_out(command: str, title: str) -> None:
    assert command_title(command) == title


@pytest.mark.parametrize(
    ("item", "kind", "title"),
    [
        ({"type": "webSearch", "query": "cats"}, "search", "Search the web: cats"),
        ({"type": "webSearch", "action": {"type": "openPage", "url": "u"}}, "fetch", "u"),
        ({"type": "imageView", "path": "/a/b.png"}, "read", "Look at b.png"),
        ({"type": "imageGeneration", "result": "", "revisedPrompt": "a cat"}, "other", "a cat"),
        ({"type": "mcpToolCall", "server": "s", "tool": "t"}, "other", "s/t"),
        ({"type": "dynamicToolCall", "tool": "t"}, "other", "t"),
        ({"type": "collabAgentToolCall", "tool": "spawnAgent"}, "other", "Sub-agent: spawnAgent"),
        ({"type": "enteredReviewMode", "review": "r"}, "think", "Review"),
        (
            {
                "type": "commandExecution",
                "command": "cat a",
                "cwd": "/w",
                "commandActions": [{"type": "read", "path": "a"}],
            },
            "read",
            "cat a",
        ),
        (
            {"type": "commandExecution", "command": "rg a", "commandActions": [{"type": "search"}]},
            "search",
            "rg a",
        ),
        (
            {"type": "fileChange", "changes": [{"path": "/a", "kind": {"type": "delete"}}]},
            "delete",
            "Delete a",
        ),
        (
            {
                "type": "fileChange",
                "changes": [{"path": "/a", "kind": {"type": "update", "move_path": "/b"}}],
            },
            "edit",
            "Move a to /b",
        ),
    ],
)
def test_an_item_is_a_tool_call_of_its_kind(item: Json, kind: str, title: str) -> None:
    call = tool_call_of({"id": "1", **item}, no_file)
    assert call is not None
    assert (call.kind, call.title) == (kind, title)


@pytest.mark.parametrize(
    "kind", ["agentMessage", "userMessage", "reasoning", "sleep", "unheard-of"]
)
def test_an_item_that_is_no_tool_call_gives_none(kind: str) -> None:
    assert tool_call_of({"id": "1", "type": kind}, no_file) is None


def test_the_result_of_an_mcp_tool_is_shown_block_by_block() -> None:
    content = [
        {"type": "text", "text": "a"},
        {"type": "image", "data": "eA==", "mimeType": "image/gif"},
        {"type": "x"},
    ]
    item = {
        "type": "mcpToolCall",
        "id": "1",
        "server": "s",
        "tool": "t",
        "result": {"content": content},
    }
    call = tool_call_of(item, no_file)
    assert call is not None
    assert [one["content"]["type"] for one in as_json(call.content)] == ["text", "image"]
    failed = tool_call_of({**item, "status": "failed", "error": {"message": "no"}}, no_file)
    assert failed is not None
    assert (failed.status, failed.raw_output) == ("failed", {"message": "no"})


def test_a_change_of_a_file_that_is_there_is_the_whole_file() -> None:
    change = {"path": "/a", "kind": {"type": "update"}, "diff": "@@ -2,2 +2,2 @@\n one\n-two\n+2\n"}
    [diff] = diffs_of(change, lambda path: FILE)
    assert (diff.old_text, diff.new_text) == (FILE, "zero\none\n2\nthree")


@pytest.mark.parametrize("text", [None, "something\nelse"])
def test_a_change_of_a_file_that_is_not_as_it_was_is_its_hunks(text: str | None) -> None:
    change = {"path": "/a", "kind": {"type": "update"}, "diff": "@@ -2,2 +2,2 @@\n one\n-two\n+2\n"}
    [diff] = diffs_of(change, lambda path: text)
    assert (diff.old_text, diff.new_text) == ("one\ntwo\n", "one\n2\n")


def test_a_new_file_has_no_old_text_and_a_deleted_one_no_new() -> None:
    [added] = diffs_of({"path": "/a", "kind": {"type": "add"}, "diff": "x\n"}, no_file)
    [deleted] = diffs_of({"path": "/a", "kind": {"type": "delete"}, "diff": "x\n"}, no_file)
    assert (added.old_text, added.new_text) == (None, "x\n")
    assert (deleted.old_text, deleted.new_text) == ("x\n", "")


def test_a_long_output_is_shown_by_its_end_and_says_so() -> None:
    output = Output("1", "/", in_terminal=False)
    output.add("x" * (SHOWN_CHARS * 3) + "```")
    text = as_json(output.progress()["content"])[0]["content"]["text"]
    assert "characters before this are left out" in text
    assert text.endswith("````")
    assert not output.is_pending
    assert len(raw_output("x" * RAW_CHARS * 2)) == RAW_CHARS


def test_a_terminal_that_missed_the_beginning_is_drawn_anew() -> None:
    output = Output("1", "/", in_terminal=True)
    output.add("late")
    output.progress()
    shown, ended = output.final("early late", 0)
    assert shown["meta"]["terminal_output"]["data"] == f"{CLEAR_SCREEN}early late"
    assert ended["meta"]["terminal_exit"]["exit_code"] == 0
