"""`trimpoint search` in a shell."""

import io

import pytest
from rich.console import Console
from trimpoint.cli.views.search_view import MARKED, entry_rows, hit_rows
from trimpoint_protocol.shapes.history import HistoryEntry, HistoryHit, HistorySearchResult

from tests.cli.stage import CliHarness

WHEN = "2026-01-01T00:00:00.000Z"


def hit(name: str, snippet: str, *marks: list[int], thread: str = "t-12345678") -> HistoryHit:
    return HistoryHit(
        thread_id=thread,
        thread_name=None,
        turn_id="turn",
        turn=1,
        entry_id="e",
        short_id=name,
        kind="user",
        created_at=WHEN,
        snippet=snippet,
        marks=list(marks),
        score=1.0,
        in_context=name == "h1.1",
    )


def lines(rows: object) -> list[str]:
    console = Console(file=io.StringIO(), width=100)
    for row in rows:  # type: ignore[attr-defined]
        console.print(row)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_hits_stand_below_their_thread() -> None:
    other = hit("h1.1", "more", thread="t-87654321")
    found = HistorySearchResult(
        hits=[hit("h1.1", "a word"), hit("h2.1", "b"), other], next_cursor="3", unread=1
    )
    shown = lines(hit_rows(found, {"t-12345678": "About\n  it"}))
    assert [line.strip() for line in shown if "ago" not in line] == [
        "12345678 “About it”", "a word", "b", "87654321", "more",
        "… there are more; see them with --limit",
        "Read one whole: trimpoint search --read 12345678:h1.1", "1 thread not wholly indexed yet",
    ]  # fmt: skip
    assert ["not in the context" in line for line in shown if "ago" in line] == [False, True, False]


def test_words_are_marked_where_they_stand_also_behind_control_characters() -> None:
    found = HistorySearchResult(
        hits=[hit("h1.1", "\x1b[1m key", [5, 8])], next_cursor=None, unread=0
    )
    row = list(hit_rows(found, {}))[-2]
    [span] = [span for span in row.spans if span.style == MARKED]
    assert row.plain[span.start : span.end] == "key"
    assert "\x1b" not in row.plain


def test_an_empty_search_result_is_reported() -> None:
    assert lines(hit_rows(HistorySearchResult(hits=[], next_cursor=None, unread=0), {})) == [
        "Nothing has these words."
    ]


def test_an_entry_is_shown_whole() -> None:
    entry = HistoryEntry(
        turn_id="t",
        turn=1,
        entry_id="e",
        short_id="h1.1",
        kind="command",
        created_at=WHEN,
        text="one\ntwo\n",
        truncated=True,
        in_context=True,
    )
    assert lines(entry_rows("thread", [entry]))[1:] == [
        "one", "two", "… the rest is too long for one answer"
    ]  # fmt: skip


@pytest.mark.codex
async def test_a_shell_finds_and_reads_what_was_cleared(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        for text in ("where is the zebra?", "second."):
            await stage.turn(client, thread, text)
        await stage.run("clear")
        found = await stage.run("search", "zebra")
        here = await stage.run("search", "--here", "--pruned", "zebra")
        named = await stage.run("search", "--thread", thread, "--kind", "assistant", "zebra")
        document = (await stage.run("search", "zebra", "--json")).json()
        read = await stage.run("search", "--read", "h1.1", "--around", "1")
        pasted = await stage.run("search", "--read", f"{thread[-8:]}:h1.1", cwd=stage.folder)
        as_json = (await stage.run("search", "--read", "h1.1", "--json")).json()
        wrong = await stage.run("search")
    assert "where is the zebra?" in found.out
    assert "not in the context" in found.out
    assert "where is the zebra?" in here.out
    assert "Nothing has these words." in named.out
    assert [one["shortId"] for one in document["hits"]] == ["h1.1"]
    assert "h1.2" in read.out
    assert f"{thread[-8:]}:h1.1" in found.out
    assert "where is the zebra?" in pasted.out
    assert as_json["entries"][0]["text"] == "where is the zebra?"
    assert [one["ref"] for one in document["hits"]] == [f"{thread[-8:]}:h1.1"]
    assert wrong.code == 2
