"""Lists of threads, some of them trimmed: each thread is listed once, in order, in pages, and
filtered.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from trimpoint.cli.connection.client import Client

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation

pytestmark = pytest.mark.codex

TRIMS = ("", "/clear", "/clear 1", "", "/compact --force", "/clear", "")


@asynccontextmanager
async def threads(harness: Harness) -> AsyncIterator[tuple[Client, list[str]]]:
    """Yields a client and the ids of threads in the order of creation. Some were trimmed, in
    another order; the last one cleared has had a turn since.
    """
    async with harness.daemon(), harness.client() as client:
        talks = [await one_thread(client, harness) for _ in TRIMS]
        for talk, trim in reversed(list(zip(talks, TRIMS, strict=True))):
            if trim:
                assert (await talk.type(trim))["status"] == "completed"
        await talks[5].turn()
        yield client, [talk.thread_id for talk in talks]


async def one_thread(client: Client, harness: Harness) -> Conversation:
    talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
    await talk.turn()
    await talk.turn()
    return talk


async def pages(client: Client, **params: Any) -> list[list[str]]:
    """Returns the ids on each page."""
    found: list[list[str]] = []
    cursor: dict[str, Any] = {}
    while True:
        answer = await client.request("thread/list", **params, **cursor)
        found.append([row["id"] for row in answer["data"]])
        if answer["nextCursor"] is None:
            return found
        cursor = {"cursor": answer["nextCursor"]}


def paged(ids: list[str], limit: int) -> list[list[str]]:
    return [ids[at : at + limit] for at in range(0, len(ids), limit)]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
async def test_every_thread_is_on_one_page_in_the_order_of_its_creation(
    harness: Harness, limit: int
) -> None:
    async with threads(harness) as (client, ids):
        assert await pages(client, limit=limit) == paged(ids[::-1], limit)
        assert await pages(client, limit=limit, sortDirection="asc") == paged(ids, limit)
        newest_first = await pages(client, limit=limit, sortKey="updated_at")
        assert sorted(one for page in newest_first for one in page) == sorted(ids)
        assert newest_first[0][0] == ids[5]
        assert [len(page) for page in newest_first] == [len(page) for page in paged(ids, limit)]


async def test_a_page_can_be_turned_back_from(harness: Harness) -> None:
    async with threads(harness) as (client, ids):
        first = await client.request("thread/list", limit=3)
        second = await client.request("thread/list", limit=3, cursor=first["nextCursor"])
        back = await client.request(
            "thread/list", limit=3, cursor=second["backwardsCursor"], sortDirection="asc"
        )
    assert [row["id"] for row in back["data"]] == ids[3:6]


async def test_filters_apply_to_threads_without_a_turn_since_their_trim(harness: Harness) -> None:
    async with threads(harness) as (client, ids):
        newest_first = ids[::-1]
        assert await pages(client, modelProviders=["none"]) == [[]]
        assert await pages(client, modelProviders=["scripted"]) == [newest_first]
        assert await pages(client, sourceKinds=["exec"]) == [[]]
        assert await pages(client, sourceKinds=["cli", "vscode", "appServer"]) == [newest_first]
        assert await pages(client, cwd="/nowhere") == [[]]
        assert await pages(client, excludedThreadIds=[ids[1], ids[0]], limit=4) == paged(
            newest_first[:-2], 4
        )
        await client.request("thread/name/set", threadId=ids[1], name="Something else")
        assert await pages(client, searchTerm="Something else") == [[ids[1]]]


async def test_archived_threads_are_on_pages_of_their_own(harness: Harness) -> None:
    async with threads(harness) as (client, ids):
        gone = [ids[at] for at in (0, 1, 2, 4)]
        for thread_id in gone:
            await client.request("thread/archive", threadId=thread_id)
        assert await pages(client, archived=True, limit=1) == paged(gone[::-1], 1)
        assert await pages(client, limit=2) == paged([ids[at] for at in (6, 5, 3)], 2)


async def test_a_cleared_thread_is_listed_after_a_restart(harness: Harness) -> None:
    async with threads(harness) as (_, ids):
        pass
    async with harness.daemon(), harness.client() as client:
        assert await pages(client, limit=4) == paged(ids[::-1], 4)


@pytest.mark.parametrize("command", ["", "/clear"])
@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_a_thread_of_two_files_is_listed_once(
    harness: Harness, command: str, order: str
) -> None:
    """After a `thread/revert` Codex lists a thread once for each of its files."""
    async with harness.conversation() as talk:
        await talk.turn()
        if command:
            await talk.type(command)
        for _ in range(2):
            await talk.turn()
        turn_id = (await talk.snapshot())["turns"][-2]["id"]
        await talk.client.request("thread/revert", threadId=talk.thread_id, beforeTurnId=turn_id)
        await talk.turn()
    async with harness.daemon(), harness.client() as client:
        listed = await client.request("thread/list", sortDirection=order)
        assert [row["id"] for row in listed["data"]] == [talk.thread_id]
        found = await client.request("thread/search", searchTerm="prompt-4")
        assert [row["thread"]["id"] for row in found["data"]] == [talk.thread_id]
