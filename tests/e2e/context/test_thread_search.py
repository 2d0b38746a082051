"""`thread/search` with trimmed threads: pruned text is found under the thread's own id."""

from typing import Any

import pytest
from trimpoint.cli.connection.client import Client

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation

pytestmark = pytest.mark.codex


async def begun(client: Client, harness: Harness) -> Conversation:
    return await Conversation.begin(client, harness.worktree, harness.model, harness.script)


async def found(client: Client, term: str, **params: Any) -> list[list[str]]:
    """Returns the ids on each page, and checks that each row's snippet contains the term."""
    pages: list[list[str]] = []
    cursor: str | None = None
    while True:
        answer = await client.request("thread/search", searchTerm=term, cursor=cursor, **params)
        assert all(term in row["snippet"] for row in answer["data"])
        pages.append([row["thread"]["id"] for row in answer["data"]])
        cursor = answer["nextCursor"]
        if cursor is None:
            return pages


async def test_a_thread_search_finds_pruned_text_under_the_threads_id(harness: Harness) -> None:
    async with harness.daemon(), harness.client(experimentalApi=True) as client:
        talk, whole, empty = [await begun(client, harness) for _ in range(3)]
        for _ in range(3):
            await talk.turn()
        await whole.turn()
        await empty.turn()
        for command in ("/clear 2", "/clear 1"):
            assert (await talk.type(command))["status"] == "completed"
        await talk.turn()
        assert (await empty.type("/clear"))["status"] == "completed"
        trimmed, newest_first = talk.thread_id, [empty.thread_id, whole.thread_id, talk.thread_id]
        for term in ("prompt-2.", "answer-3.", "prompt-4."):
            assert await found(client, term) == [[trimmed]]
        assert await found(client, "prompt-1.") == [newest_first]
        assert await found(client, "prompt-1.", limit=1) == [[one] for one in newest_first]
        assert await found(client, "prompt-1.", limit=2, sortDirection="asc") == [
            newest_first[:0:-1],
            newest_first[:1],
        ]
        assert await found(client, "prompt-1.", archived=True) == [[]]
        [row] = (await client.request("thread/search", searchTerm="prompt-2."))["data"]
        [listed] = [
            one for one in (await client.request("thread/list"))["data"] if one["id"] == trimmed
        ]
        assert {name: row["thread"][name] for name in ("createdAt", "preview", "sessionId")} == {
            name: listed[name] for name in ("createdAt", "preview", "sessionId")
        }
        await client.request("thread/archive", threadId=trimmed)
        assert await found(client, "prompt-2.") == [[]]
        assert await found(client, "prompt-2.", archived=True) == [[trimmed]]
        assert await found(client, "prompt-4.", archived=True) == [[trimmed]]
        assert await found(client, "prompt-1.") == [newest_first[:2]]


async def test_codex_says_what_is_wrong_with_a_search(harness: Harness) -> None:
    async with harness.daemon(), harness.client(experimentalApi=True) as client:
        talk = await begun(client, harness)
        await talk.turn()
        refusals: list[str] = []
        for command in (None, "/clear"):
            if command is not None:
                assert (await talk.type(command))["status"] == "completed"
            with pytest.raises(Exception, match="searchTerm") as refused:
                await client.request("thread/search")
            refusals.append(str(refused.value))
        assert refusals[0] == refusals[1]
