"""Sessions that the real programs wrote, damaged: what is exported stays in agreement with itself."""

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
from trimpoint.sessionlogs.catalogue import Query, found_sessions, listed
from trimpoint.sessionlogs.export import exported, ndjson
from trimpoint.sessionlogs.live import live_window
from trimpoint.sessionlogs.overviews import Overviews
from trimpoint.sessionlogs.sessions import FoundSession, Reading
from trimpoint.sessionlogs.timeline import dividers_of, timeline_of
from trimpoint_protocol import unified as u

from tests.sessionlogs.claude_rows import CHAIN, answer, boundary, summary, text
from tests.sessionlogs.claude_rows import write as write_claude
from tests.sessionlogs.sessions import (
    FIXTURES,
    document_of,
    homes,
    lines_of,
    members,
    meta,
    only_session,
    row,
    said,
    write_rollout,
)

SCENES = (
    "codex-0.163.0/compacted-by-hand",
    "codex-0.171.0/forked-twice",
    "codex-0.171.0/migrated",
    "codex-0.171.0/reverted-behind-a-compaction",
    "codex-0.98.0/compacted-automatically",
    "claude-code-2.1.197/compacted-by-hand",
    "claude-code-2.1.332/branched",
    "claude-code-2.1.332/rewound-behind-a-compaction",
    "claude-code-2.1.332/with-a-sub-agent",
    "gemini-cli-0.61.0/resumed-and-compressed",
    "gemini-cli-0.61.0/rewound",
)
VALUES: tuple[Any, ...] = (
    None, [], {}, "", 0, -1, True, 10**30, 1.5, "\ud83d", "x\x00", [None], {"type": "text"},
    "2026-13-45T99:99:99Z",
)  # fmt: skip
DEEP = b"[" * 3000 + b"]" * 3000 + b"\n"


def damaged(lines: list[bytes], chance: Random) -> list[bytes]:
    """Lines with one more damage of a kind that happens, or that a hostile file has."""
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(9):
        case 0:
            return [*lines[:at], lines[at][: chance.randrange(len(lines[at]))]]
        case 1:
            return [*lines[:at], *lines[at + 1 :]]
        case 2:
            return [*lines[:at], lines[other], *lines[at:]]
        case 3:
            lines[at], lines[other] = lines[other], lines[at]
        case 4:  # a torn line, with the next one right behind it
            lines[at] = lines[at][: chance.randrange(len(lines[at]))]
        case 5:
            flipped = bytearray(lines[at])
            flipped[chance.randrange(len(flipped))] = chance.randrange(256)
            lines[at] = bytes(flipped)
        case 6:
            lines[at] = chance.choice((b"\x00" * 99 + b"\n", b"null\n", b"{}\n", DEEP))
        case _:
            lines[at] = _with_another_value(lines[at], chance)
    return lines


def _with_another_value(line: bytes, chance: Random) -> bytes:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return line
    places = list(members(found))
    if places:
        container, key = chance.choice(places)
        container[key] = chance.choice(VALUES)
    return json.dumps(found).encode() + b"\n"


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("scene", SCENES)
def test_a_damaged_session_agrees_with_itself(tmp_path: Path, scene: str, seed: int) -> None:
    chance = Random(f"{scene} {seed}")
    folder = tmp_path / "home"
    shutil.copytree(FIXTURES / scene, folder)
    (folder / "inputs.json").unlink()
    logs = [path for path in sorted(folder.rglob("*.jsonl")) if path.name != "history.jsonl"]
    path = chance.choice(logs)
    lines = path.read_bytes().splitlines(keepends=True)
    for _ in range(chance.randrange(1, 4)):
        lines = damaged(lines, chance) or [b"\n"]
    path.write_bytes(b"".join(lines))
    listed(homes(folder), Overviews(None), Query())
    for session in found_sessions(homes(folder)):
        check(session)


def check(session: FoundSession) -> None:
    """Every index that is told exists, both readings agree, and the same is exported twice."""
    whole = list(ndjson(session, include_compacted=True))
    assert whole == list(ndjson(session, include_compacted=True))
    records = [json.loads(line) for line in whole]
    messages = [one for one in records if one["type"] == "message"]
    end = records[-1]
    assert [one["index"] for one in messages] == list(range(end["messages"]))
    active = [one["index"] for one in messages if one["active"]]
    assert len(active) == end["active_messages"]
    short = map(json.loads, ndjson(session, include_compacted=False))
    assert [one["index"] for one in short if one["type"] == "message"] == active
    live = live_window(Reading(session)).items
    assert sorted(one.index for one in live if isinstance(one, u.MessageRecord)) == active
    for record in records:
        _check_indices(record, messages)
    for form in ("unified-json", "markdown"):
        assert b"".join(exported(session, form, include_compacted=True))
    assert document_of(session).end.messages == len(messages)
    list(timeline_of(Reading(session), dividers_of(Reading(session)), None))


def _check_indices(record: dict[str, Any], messages: list[dict[str, Any]]) -> None:
    named = [one for name, one in record.items() if name.endswith("_message_index")]
    for name, indices in record.items():
        if name.endswith("_message_indices"):
            assert len(set(indices)) == len(indices)
            named += indices
    for result in record.get("tool_results", ()):
        named.append(result["call_message_index"])
    assert all(one is None or -1 <= one < len(messages) for one in named)
    if record["type"] == "boundary":
        kept, replaced = record["kept_message_indices"], record["replaced_message_indices"]
        assert not set(kept) & set(replaced)
        own = record["summary_message_index"]
        assert own is None or messages[own]["kind"] == "summary"


def compact(row: dict[str, Any]) -> bytes:
    """A row as Codex writes it."""
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


def call(number: int, at: int = 0) -> dict[str, Any]:
    item = {"type": "function_call", "id": f"fc{number}", "name": "shell", "arguments": "{}"}
    return row("response_item", item | {"call_id": f"c{number}"}, at)


def test_an_item_behind_a_torn_line_without_a_line_feed_keeps_its_place(tmp_path: Path) -> None:
    torn = compact(call(1))[:-21]
    kept = said("user", "one", "u1")
    rows = [meta(1), kept, torn + compact(call(2)), compact(call(3)), said("user", "two", "u2")]
    replacement = {"message": "SUMMARY", "replacement_history": [kept["payload"]]}
    write_rollout(tmp_path, 1, [*rows, row("compacted", replacement), said("user", "three")])
    document = document_of(only_session(tmp_path))
    assert [one.text for one in document.messages if one.active] == ["one", "three"]
    [lost] = [one for one in document.messages if one.omitted == ["damaged content"]]
    assert (lost.index, lost.kind, document.end.unparsed) == (1, "other", 1)


def test_a_session_ends_with_the_time_of_a_call_without_an_answer(tmp_path: Path) -> None:
    write_rollout(tmp_path, 1, [meta(1), said("user", "one"), compact(call(1, at=7))])
    assert document_of(only_session(tmp_path)).session.updated_at == "2026-01-02T03:04:07.000Z"


def test_a_summary_behind_a_rewind_past_its_boundary_is_one_of_its_own(tmp_path: Path) -> None:
    rewound = {"isSidechain": False} | CHAIN[2] | {"uuid": "u3", "parentUuid": "a1"}
    rows = [*CHAIN, boundary("b"), rewound, answer("a3", "u3", text("third")), summary("s", "a3")]
    write_claude(tmp_path, rows)
    first, second = document_of(only_session(tmp_path)).compaction.boundaries
    assert (first.summary, second.summary) == (None, "S")
    assert lines_of(only_session(tmp_path))
