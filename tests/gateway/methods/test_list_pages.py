"""Pages of a list of threads: the order of rows, and the place of a cursor."""

from typing import Any

import pytest
from trimpoint.gateway.methods.lists.list_pages import (
    Cursor,
    Listed,
    Order,
    decode_cursor,
    has_row_filter,
    key_of,
    limit_of,
    merged,
    order_of,
    passes_filters,
    rows_from,
)

DESCENDING, ASCENDING = Order("createdAt", descending=True), Order("createdAt", descending=False)


def listed(*values: int) -> list[Listed]:
    return [Listed((value, f"thread-{value}")) for value in values]


def values(rows: list[Listed]) -> list[int]:
    return [one.key[0] for one in rows]


def test_a_displaced_row_stands_where_its_key_belongs() -> None:
    assert values(merged(listed(9, 5, 1), listed(0, 6, 10), DESCENDING)) == [10, 9, 6, 5, 1, 0]
    assert values(merged(listed(1, 5, 9), listed(10, 0, 6), ASCENDING)) == [0, 1, 5, 6, 9, 10]


def test_the_order_of_the_listed_rows_is_codexs() -> None:
    assert values(merged(listed(5, 9, 7), listed(6), DESCENDING)) == [6, 5, 9, 7]


def test_a_cursor_leads_behind_its_row_or_to_it() -> None:
    rows = listed(9, 5, 1)
    assert values(rows_from(rows, None, DESCENDING)) == [9, 5, 1]
    assert values(rows_from(rows, Cursor((5, "thread-5"), inclusive=False), DESCENDING)) == [1]
    assert values(rows_from(rows, Cursor((5, "thread-5"), inclusive=True), DESCENDING)) == [5, 1]


def test_a_cursor_whose_row_is_gone_leads_to_the_next_one() -> None:
    assert values(rows_from(listed(9, 5, 1), Cursor((6, "gone"), inclusive=False), DESCENDING)) == [
        5,
        1,
    ]


def test_a_cursor_comes_back_as_it_was() -> None:
    cursor = Cursor((5, "thread-5"), inclusive=True)
    assert decode_cursor(cursor.encode()) == cursor


@pytest.mark.parametrize(
    "text", [None, 7, "2026-11-28T12:54:19Z", "trimpoint:?", "trimpoint:e30=", "trimpoint:bm9wZQ=="]
)
def test_a_cursor_of_another_kind_is_none_of_ours(text: Any) -> None:
    assert decode_cursor(text) is None


def test_an_order_that_only_codex_can_make_is_left_to_it() -> None:
    assert order_of({}) == DESCENDING
    assert order_of({"sortKey": "updated_at", "sortDirection": "asc"}) == Order(
        "updatedAt", descending=False
    )
    assert order_of({"sortKey": "section_position"}) is None
    assert order_of({"sortDirection": "up"}) is None


def test_a_limit_that_is_none_is_left_to_codex() -> None:
    assert [limit_of(params) for params in ({}, {"limit": 3}, {"limit": 1000})] == [25, 3, 100]
    assert [limit_of({"limit": limit}) for limit in ("x", 0, -1, True)] == [None] * 4


def test_a_row_without_the_member_is_sorted_by_its_last_change() -> None:
    assert key_of(
        {"id": "a", "recencyAt": None, "updatedAt": 5}, Order("recencyAt", descending=True)
    ) == (5, "a")


def test_filters_look_at_what_a_row_says() -> None:
    row = {"modelProvider": "openai", "source": "vscode", "projectId": "p", "section": {"id": "s"}}
    assert passes_filters(row, {})
    assert passes_filters(
        row,
        {
            "modelProviders": ["openai"],
            "sourceKinds": ["vscode"],
            "projectId": "p",
            "sectionId": "s",
        },
    )
    for refusing in (
        {"modelProviders": ["x"]},
        {"sourceKinds": ["cli"]},
        {"projectId": None},
        {"sectionId": None},
    ):
        assert has_row_filter(refusing)
        assert not passes_filters(row, refusing)
    assert not passes_filters({**row, "source": "exec"}, {})
