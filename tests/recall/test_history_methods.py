"""`history/search` and `history/read` as clients use them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from trimpoint.core.model import events as ev
from trimpoint.gateway.methods.extension import history_methods
from trimpoint.gateway.methods.extension.history_methods import HistoryMethods
from trimpoint.gateway.session.requests.dispatch import Call
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.recall.index import FILE_NAME
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import METHODS
from trimpoint_protocol.shapes import history as h

from tests.recall.stage import OTHER, THREAD, Stage, record, said, stage


class Client:
    """Asks as a client does, through the shapes of the wire."""

    def __init__(self, now: Stage) -> None:
        self._table = HistoryMethods(now.registry, now.history).table

    async def ask(self, method: str, **params: Any) -> Any:
        decoded = msgspec.convert(params, type=METHODS[method].params)
        answer = await self._table[method](Call(None), decoded)  # type: ignore[arg-type]
        return msgspec.json.decode(msgspec.json.encode(answer))

    async def refused(self, method: str, **params: Any) -> Reason:
        with pytest.raises(Refusal) as caught:
            await self.ask(method, **params)
        return caught.value.reason


@asynccontextmanager
async def two_threads(folder: Path) -> AsyncGenerator[Client]:
    async with stage(folder) as now:
        writer = await now.begin(THREAD, "/one")
        for number in range(5):
            await record(writer, *said(f"t{number}", f"ask {number} fig", f"answer {number}"))
        await record(writer, ev.ThreadRenamed("About figs"))
        await record(await now.begin(OTHER, "/two"), *said("x", "fig of the other"))
        yield Client(now)


async def test_a_hit_says_where_it_stands(tmp_path: Path) -> None:
    async with two_threads(tmp_path) as client:
        answer = await client.ask("history/search", query="fig 3", threadId=THREAD)
    [hit] = answer["hits"]
    assert hit | {"score": 0, "createdAt": ""} == {
        "threadId": THREAD,
        "threadName": "About figs",
        "turnId": "t3",
        "turn": 4,
        "entryId": "t3-0",
        "shortId": "h4.1",
        "kind": "user",
        "createdAt": "",
        "snippet": "ask 3 fig",
        "marks": [[4, 5], [6, 9]],
        "score": 0,
        "inContext": True,
    }
    assert (answer["nextCursor"], answer["unread"]) == (None, 0)


async def test_pages_show_each_hit_once(tmp_path: Path) -> None:
    async with two_threads(tmp_path) as client:
        cursor, seen = None, list[str]()
        while True:
            page = await client.ask("history/search", query="fig", limit=2, cursor=cursor)
            seen += [hit["snippet"] for hit in page["hits"]]
            if (cursor := page["nextCursor"]) is None:
                break
    assert sorted(seen) == [
        "ask 0 fig",
        "ask 1 fig",
        "ask 2 fig",
        "ask 3 fig",
        "ask 4 fig",
        "fig of the other",
    ]


@pytest.mark.parametrize(
    ("scope", "count"),
    [
        ({"threadId": OTHER}, 1),
        ({"threadId": THREAD, "scope": "thread"}, 5),
        ({"threadId": OTHER, "scope": "folder"}, 1),
        ({"scope": "folder", "cwd": "/one"}, 5),
        ({"threadId": OTHER, "scope": "all"}, 6),
        ({}, 6),
        ({"kinds": ["assistant"]}, 0),
        ({"prunedOnly": True}, 0),
    ],
)
async def test_a_search_is_about_what_it_names(
    tmp_path: Path, scope: dict[str, Any], count: int
) -> None:
    async with two_threads(tmp_path) as client:
        answer = await client.ask("history/search", query="fig", **scope)
    assert len(answer["hits"]) == count


async def test_an_entry_is_read_with_those_around_it(tmp_path: Path) -> None:
    async with two_threads(tmp_path) as client:
        answer = await client.ask(
            "history/read", threadId=THREAD, entryId="h2.1", before=1, after=2
        )
        whole = await client.ask("history/read", threadId=OTHER, entryId="x-0", before=9, after=9)
    assert [one["shortId"] for one in answer["entries"]] == ["h1.2", "h2.1", "h2.2", "h3.1"]
    assert answer["entries"][1]["text"] == "ask 1 fig"
    assert (answer["hasBefore"], answer["hasAfter"]) == (True, True)
    assert (whole["hasBefore"], whole["hasAfter"], len(whole["entries"])) == (False, False, 1)


@pytest.mark.parametrize(
    "name",
    [
        {"entryId": "t2-0"},
        {"entryId": "t2#t2-0"},
        {"entryId": "h3.1"},
        {"entryId": "t2-0", "turnId": "t2"},
        {"entryId": "t2#t2-0", "turnId": "t2"},
    ],
)
async def test_an_entry_has_several_names(tmp_path: Path, name: dict[str, str]) -> None:
    async with two_threads(tmp_path) as client:
        answer = await client.ask("history/read", threadId=THREAD, **name)
    assert [one["text"] for one in answer["entries"]] == ["ask 2 fig"]


@pytest.mark.parametrize(
    "name",
    [
        {"entryId": "h9.1"},
        {"entryId": "h1.9"},
        {"entryId": "other"},
        {"entryId": "t2#t1-0"},
        {"entryId": "h0.1"},
        {"entryId": "t2-0", "turnId": "t1"},
        {"entryId": "a", "turnId": "b"},
    ],
)
async def test_a_name_of_no_entry_is_refused(tmp_path: Path, name: dict[str, str]) -> None:
    async with two_threads(tmp_path) as client:
        reason = await client.refused("history/read", threadId=THREAD, **name)
    assert reason is Reason.ENTRY_NOT_FOUND


@pytest.mark.parametrize(
    "params",
    [
        {"query": " . "},
        {"query": "fig", "scope": "thread"},
        {"query": "fig", "scope": "folder"},
        {"query": "fig", "cursor": "x"},
        {"query": "fig", "cursor": "٣"},
    ],
)
async def test_a_search_that_means_nothing_is_refused(
    tmp_path: Path, params: dict[str, Any]
) -> None:
    async with two_threads(tmp_path) as client:
        assert await client.refused("history/search", **params) is Reason.INVALID_PARAMS


async def test_without_an_index_a_search_says_why(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    async with two_threads(tmp_path) as client:
        assert await client.refused("history/search", query="fig") is Reason.SEARCH_UNAVAILABLE


async def test_an_answer_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_methods, "MAX_TEXT_CHARS", 8)
    async with two_threads(tmp_path) as client:
        answer = await client.ask("history/read", threadId=THREAD, entryId="h1.1", after=1)
    assert [(one["text"], one["truncated"]) for one in answer["entries"]] == [
        ("ask ", True), ("answ", True)
    ]  # fmt: skip


def test_pages_are_bounded_by_the_protocol() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"query": "a", "limit": 1_000}, type=h.HistorySearchParams)
