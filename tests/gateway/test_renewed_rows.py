"""Where trimmed threads stand on the pages of a list."""

from typing import Any

import pytest
from trimpoint.gateway.methods.renewed_rows import (
    Order,
    Position,
    candidates,
    cursor_of,
    merged,
    order_of,
    position_of,
    row_fits,
)
from trimpoint.threads.catalogue import ThreadSummary

NEWEST_FIRST = Order("createdAt", descending=True)


def summary(thread_id: str, at_s: int, **changes: Any) -> ThreadSummary:
    known: dict[str, Any] = {
        "thread_id": thread_id, "size_bytes": 1, "sequence": 1, "provider_thread_ids": [thread_id, f"{thread_id}-2"],
        "scratch_ids": [], "name": None, "cwd": "/work", "archived": False, "created_at_ms": at_s * 1000,
        "updated_at_ms": (1000 - at_s) * 1000, "unfinished": False, "new_thread_id": None, "preview": "Fix the door",
    }  # fmt: skip
    return ThreadSummary(**{**known, **changes})


def row(row_id: str, at_s: int) -> dict[str, Any]:
    return {"id": row_id, "createdAt": at_s, "updatedAt": 1000 - at_s}


def named(ours: list[ThreadSummary], theirs: list[dict[str, Any]], order: Order, **page: Any) -> list[str]:
    rows = merged(theirs, ours, order, **page)
    return [one.thread_id if isinstance(one, ThreadSummary) else one["id"] for one in rows]


@pytest.mark.parametrize(
    ("params", "order"),
    [
        ({}, NEWEST_FIRST),
        ({"sortKey": "created_at", "sortDirection": "asc"}, Order("createdAt", descending=False)),
        ({"sortKey": "updated_at", "sortDirection": "desc"}, Order("updatedAt", descending=True)),
    ],
)
def test_the_order_is_the_one_asked_for(params: dict[str, Any], order: Order) -> None:
    assert order_of(params) == order


@pytest.mark.parametrize("position", [Position(), Position("codex", "row", (5, "a")), Position(None, None, (5, "a"))])
def test_a_cursor_of_ours_is_read_again(position: Position) -> None:
    assert position_of(cursor_of(position)) == position


def test_a_cursor_of_codexs_or_nonsense_is_passed_on() -> None:
    assert position_of(None) == Position()
    assert position_of("opaque") == Position(codex="opaque")
    assert position_of("trimpoint:{") == Position(codex="trimpoint:{")


def test_each_trimmed_thread_stands_before_the_first_row_that_comes_after_it() -> None:
    ours, theirs = [summary("a", 30), summary("b", 20), summary("c", 5)], [row("x", 25), row("y", 10)]
    assert named(ours, theirs, NEWEST_FIRST, is_last=True, end=10) == ["a", "x", "b", "y", "c"]
    assert named(ours, theirs, NEWEST_FIRST, is_last=False, end=10) == ["a", "x", "b", "y"]
    assert named(ours, theirs, NEWEST_FIRST, is_last=False, end=4) == ["a", "x", "b", "y", "c"]
    oldest_first = Order("createdAt", descending=False)
    assert named(ours[::-1], theirs[::-1], oldest_first, is_last=True, end=25) == ["c", "y", "b", "x", "a"]


def test_what_the_catalogue_knows_is_held_against_what_is_asked_for() -> None:
    all_ours = [
        summary("a", 30), summary("b", 20, cwd="/else"), summary("c", 10, archived=True),
        summary("d", 5, name="Paint"), summary("never trimmed", 1, provider_thread_ids=["never trimmed"]),
    ]  # fmt: skip

    def fitting(after: tuple[int, str] | None = None, **params: Any) -> list[str]:
        return [one.thread_id for one in candidates(all_ours, params, NEWEST_FIRST, after)]

    assert fitting() == ["a", "b", "d"]
    assert fitting(cwd="/else") == fitting(cwd=["/else"]) == ["b"]
    assert fitting(archived=True) == ["c"]
    assert fitting(searchTerm="DOOR") == ["a", "b"]
    assert fitting(searchTerm="paint") == ["d"]
    assert fitting(excludedThreadIds=["a"]) == ["b", "d"]
    assert fitting(ancestorThreadId="x") == []
    assert fitting((30, "a")) == ["b", "d"]


@pytest.mark.parametrize(
    ("params", "fits"),
    [
        ({}, True),
        ({"modelProviders": []}, True),
        ({"modelProviders": ["openai"]}, True),
        ({"modelProviders": ["other"]}, False),
        ({"sourceKinds": ["vscode"]}, True),
        ({"sourceKinds": ["cli"]}, False),
        ({"parentThreadId": "p"}, False),
        ({"projectId": None}, True),
        ({"projectId": "p"}, False),
        ({"sectionId": None}, True),
        ({"sectionId": "s"}, False),
    ],
)
def test_what_codex_knows_is_held_against_what_is_asked_for(params: dict[str, Any], fits: bool) -> None:
    shown = {"modelProvider": "openai", "source": "vscode", "parentThreadId": None, "projectId": None, "section": None}
    assert row_fits(shown, params) is fits


@pytest.mark.parametrize(("source", "fits"), [("cli", True), ("exec", False), ({"subAgent": "review"}, False), (None, False)])
def test_without_a_kind_of_source_those_of_people_are_meant(source: Any, fits: bool) -> None:
    assert row_fits({"source": source}, {}) is fits
