"""The kind of each segment of the context, and its preview."""

from typing import Any

import msgspec
import pytest
from trimpoint.core.context.groups import ItemGroup, grouped
from trimpoint.core.context.segment_kinds import (
    PREVIEW_CHARS,
    SegmentKind,
    kind_of,
    preview,
    preview_of,
)
from trimpoint.core.model.ledger import Entry

from tests.core.items import call, message, output, thought


def told(item_id: str, role: str, text: str = "", **detail: Any) -> Entry:
    return Entry(
        item_id, "turn-1", "activity", role, text, 0, msgspec.json.encode({"type": role, **detail})
    )


def command(text: str, *actions: str) -> Entry:
    wrapped = f"/bin/bash -lc '{text}'"
    return told(
        "a",
        "commandExecution",
        wrapped,
        command=wrapped,
        commandActions=[{"type": kind} for kind in actions],
    )


def one(*items: dict[str, Any], entries: list[Entry] | None = None) -> ItemGroup:
    [group] = grouped(items, entries or [])
    return group


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (command("cat a.py", "read"), SegmentKind.FILE_READ),
        (command("rg x && cat a.py", "search", "read"), SegmentKind.FILE_READ),
        (command("ls; make", "listFiles", "unknown"), SegmentKind.COMMAND),
        (command("make"), SegmentKind.COMMAND),
        (command("make test"), SegmentKind.CHECK),
        (command("npm run test -- --watch=false", "unknown"), SegmentKind.CHECK),
        (command("python3 -c 'print(1)'", "unknown"), SegmentKind.CHECK),
        (command("pytest -q tests", "unknown"), SegmentKind.CHECK),
        (command("python build.py", "unknown"), SegmentKind.COMMAND),
        (told("a", "fileChange"), SegmentKind.FILE_CHANGE),
        (told("a", "plan"), SegmentKind.PLAN),
        (told("a", "mcpToolCall"), SegmentKind.COMMAND),
    ],
)
def test_a_call_is_what_codex_says_it_was(entry: Entry, kind: SegmentKind) -> None:
    assert kind_of(one(call("a"), output("a"), entries=[entry])) is kind


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        (call("a", "make"), SegmentKind.COMMAND),
        (call("a", "cargo test"), SegmentKind.CHECK),
        (call("a", "apply_patch <<'EOF'\n*** Begin Patch\n"), SegmentKind.FILE_CHANGE),
        (call("a", name="apply_patch"), SegmentKind.FILE_CHANGE),
        (
            {
                "type": "custom_tool_call",
                "call_id": "a",
                "name": "apply_patch",
                "input": "*** Begin Patch",
            },
            SegmentKind.FILE_CHANGE,
        ),
        (call("a", name="update_plan"), SegmentKind.PLAN),
        (call("a", name="get_messages"), SegmentKind.CONTEXT_TOOL),
        (call("a", name="discard_messages"), SegmentKind.CONTEXT_TOOL),
        (call("a", name="generate_title"), SegmentKind.TITLE),
        (call("a", name="lookup"), SegmentKind.TOOL_CALL),
        (
            {"type": "local_shell_call", "call_id": "a", "action": {"command": ["make", "test"]}},
            SegmentKind.COMMAND,
        ),
        (
            {
                "type": "local_shell_call",
                "call_id": "a",
                "action": {"command": ["sh", "-c", "make test"]},
            },
            SegmentKind.CHECK,
        ),
        ({"type": "web_search_call", "id": "ws"}, SegmentKind.TOOL_CALL),
    ],
)
def test_a_call_that_nothing_is_known_of_is_known_by_its_name(
    item: dict[str, Any], kind: SegmentKind
) -> None:
    assert kind_of(one(item)) is kind


def test_a_patch_stays_a_change_whatever_codex_calls_the_command() -> None:
    assert (
        kind_of(
            one(
                call("a", "apply_patch <<'EOF'\n*** Begin Patch\n"),
                entries=[command("apply_patch", "unknown")],
            )
        )
        is SegmentKind.FILE_CHANGE
    )


def test_of_several_calls_of_one_thought_the_one_that_is_needed_most_counts() -> None:
    group = one(
        thought(), call("a", "cat a"), call("b", name="apply_patch"), output("a"), output("b")
    )
    assert kind_of(group) is SegmentKind.FILE_CHANGE


def test_an_item_that_is_no_call_is_a_message() -> None:
    assert kind_of(one(message("user", "go"))) is SegmentKind.MESSAGE
    assert kind_of(one(thought())) is SegmentKind.MESSAGE


def test_a_preview_is_one_line_that_tells_the_unit_from_others() -> None:
    assert preview_of(one(message("user", "go\n  on"))) == "go on"
    assert preview_of(one(call("a"), output("a"), entries=[command("cat a.py")])) == "cat a.py"
    assert (
        preview_of(one(call("a"), output("a"), entries=[told("a", "mcpToolCall", "db/query")]))
        == "db/query"
    )
    assert preview_of(one(call("a", "ls"))) == 'exec_command {"cmd":"ls"}'
    assert preview_of(one({"type": "web_search_call", "id": "ws"})) == "web_search_call"
    reasoned = one(thought("rs"), call("a", "ls"), entries=[told("rs", "reasoning", "hm")])
    assert preview_of(reasoned) == 'exec_command {"cmd":"ls"}'


def test_a_preview_is_cut() -> None:
    assert preview("x" * PREVIEW_CHARS) == "x" * PREVIEW_CHARS
    assert preview("x" * 5_000) == "x" * (PREVIEW_CHARS - 1) + "…"
