"""`thread/list` with threads of which some were trimmed: each is listed once, in its place, in
pages.
"""

from typing import Any

import anyio
import pytest

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation
from tests.e2e.wire import connect_socket

pytestmark = pytest.mark.codex


async def talks(talk: Conversation, harness: Harness, trimmed: set[int], count: int) -> list[str]:
    """Starts threads with one turn each, and returns their ids, oldest first. Those whose number is
    in `trimmed` were cleared.
    """
    ids: list[str] = []
    for number in range(count):
        one = await Conversation.begin(talk.client, harness.worktree, harness.model, harness.script)
        await one.turn()
        if number in trimmed:
            assert (await one.type("/clear"))["status"] == "completed"
        ids.append(one.thread_id)
    return ids


async def pages(talk: Conversation, **params: Any) -> list[list[str]]:
    """Returns the ids on each page."""
    found: list[list[str]] = []
    cursor = None
    for _ in range(20):
        answer = await talk.client.request("thread/list", cursor=cursor, **params)
        found.append([row["id"] for row in answer["data"]])
        cursor = answer["nextCursor"]
        if cursor is None:
            return found
    raise AssertionError(f"no end: {found}")


def one_list(found: list[list[str]]) -> list[str]:
    return [thread_id for page in found for thread_id in page]


async def test_trimmed_threads_stand_once_and_in_their_place_on_pages_of_the_size_asked_for(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        ids = [talk.thread_id, *await talks(talk, harness, {0, 2, 3, 5}, 7)]
        newest_first = await talk.client.request("thread/list")
        created_at = {row["id"]: row["createdAt"] for row in newest_first["data"]}
        for limit in (1, 2, 3, 50):
            found = await pages(talk, limit=limit)
            assert all(len(page) <= limit for page in found)
            assert all(found[:-1])
            # Codex 0.163 itself leaves out threads of one second at the end of a page.
            seen = one_list(found)
            assert len(seen) == len(set(seen))
            assert {ids[1], ids[3], ids[4], ids[6]} <= set(seen) <= set(ids)
            # Threads of one second may stand either way around.
            times = [created_at[thread_id] for thread_id in one_list(found)]
            assert times == sorted(times, reverse=True)
        created = [row["createdAt"] for row in newest_first["data"]]
        assert created == sorted(created, reverse=True)
        oldest_first = await talk.client.request("thread/list", sortDirection="asc")
        created = [row["createdAt"] for row in oldest_first["data"]]
        assert (created, len(created)) == (sorted(created), 8)
        updated = (await talk.client.request("thread/list", sortKey="updated_at"))["data"]
        assert [row["updatedAt"] for row in updated] == sorted(
            (row["updatedAt"] for row in updated), reverse=True
        )
        assert sorted(row["id"] for row in updated) == sorted(ids)


async def test_filters_hold_for_trimmed_threads_too(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        ids = {talk.thread_id, *await talks(talk, harness, {0, 1}, 2)}
        row = (await talk.client.request("thread/list"))["data"][0]
        for params, expected in (
            ({"modelProviders": ["somebody-elses"]}, set[str]()),
            ({"modelProviders": [row["modelProvider"]]}, ids),
            ({"sourceKinds": ["exec"]}, set[str]()),
            ({"sourceKinds": [row["source"]]}, ids),
            ({"searchTerm": "nobody asked this"}, set[str]()),
            ({"cwd": "/elsewhere"}, set[str]()),
            ({"archived": True}, set[str]()),
        ):
            assert set(one_list(await pages(talk, **params))) == expected, params


async def test_an_archived_trimmed_thread_is_listed_among_the_archived_alone(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        trimmed, other = await talks(talk, harness, {0}, 2)
        await talk.client.request("thread/archive", threadId=trimmed)
        assert one_list(await pages(talk, archived=True)) == [trimmed]
        assert set(one_list(await pages(talk))) == {talk.thread_id, other}


async def test_a_thread_is_listed_at_every_moment_of_a_trim(harness: Harness) -> None:
    async with harness.conversation() as talk, connect_socket(harness.socket) as wire:
        await wire.initialize()
        for _ in range(2):
            await talk.turn()
        await wire.result("thread/list")
        for text in ("/clear 1", "/clear"):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(talk.type, text)
                # More than are answered while the command runs.
                answers = [await wire.result("thread/list") for _ in range(30)]
                loaded = [await wire.result("thread/loaded/list") for _ in range(30)]
            shown = [[row["id"] for row in answer["data"]] for answer in answers]
            assert shown == [[talk.thread_id]] * 30
            assert all(answer["data"] == [talk.thread_id] for answer in loaded)
