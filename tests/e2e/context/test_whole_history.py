"""A trimmed thread is searched and listed like an untrimmed one in Codex itself: the same requests
get the same answers, except for cursors and positions.
"""

from contextlib import AsyncExitStack
from typing import Any

import pytest
from trimpoint.testkit import run, say

from tests.e2e.codex.sides import Side
from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.dialect import Transcript
from tests.e2e.wire import JsonRpcClient

pytestmark = pytest.mark.codex

SMILE = "\N{GRINNING FACE}"
LONG = f"Needle. {'x' * 200} needle NEEDLE {SMILE}needle {'y' * 300} tail needle"
TERMS = ("needle", " needle ", "needle after", "first", "fourth", "nowhere")


async def conversation(side: Side, stack: AsyncExitStack, command: str) -> tuple[Transcript, str]:
    """Runs four turns, with `command` after the third."""
    talk = await side.opened(stack)
    script = side.harness.script
    given = {"approvalPolicy": "never", "sandbox": "danger-full-access"}
    started = await talk.wire.result("thread/start", cwd=str(side.harness.worktree), **given)
    thread_id = str(started["thread"]["id"])
    script.then(say(LONG))
    await talk.turn(thread_id, f"first needle {'z' * 100}")
    script.then(run("echo needle"), say("done\n\n  needle\tafter\nnew line"))
    await talk.turn(thread_id, f"second needle {SMILE * 3}{'w ' * 90}needle")
    await talk.turn(thread_id, "third")
    if command:
        await talk.wire.result("commands/execute", threadId=thread_id, text=command)
    await talk.turn(thread_id, "fourth")
    return talk, thread_id


async def pages(wire: JsonRpcClient, method: str, **params: Any) -> list[Any]:
    """Returns the data of each page."""
    found: list[Any] = []
    cursor = None
    while True:
        answer = await wire.result(method, **params, cursor=cursor)
        found.append(answer["data"])
        cursor = answer["nextCursor"]
        if cursor is None:
            return found


def told(occurrence: dict[str, Any]) -> tuple[str, dict[str, int]]:
    return occurrence["snippet"], occurrence["snippetMatchRange"]


async def occurrences(command: str) -> list[Any]:
    """Returns the occurrences of each term, and checks that each turn can be read from its
    cursor.
    """
    async with opened_harness() as harness, AsyncExitStack() as stack:
        side = Side(harness, through_daemon=bool(command))
        talk, thread_id = await conversation(side, stack, command)
        found: list[Any] = []
        for term in TERMS:
            for limit in (1, 4, 50):
                params = {"threadId": thread_id, "searchTerm": term, "limit": limit}
                listed = await pages(talk.wire, "thread/searchOccurrences", **params)
                found.append([[told(one) for one in page] for page in listed])
                for one in listed[-1]:
                    at = {"cursor": one["turnCursor"], "limit": 1}
                    read = await talk.wire.result("thread/turns/list", threadId=thread_id, **at)
                    assert read["data"][0]["id"] == one["turnId"]
                    shown = await talk.wire.result(
                        "thread/items/read",
                        threadId=thread_id, turnId=one["turnId"], itemIds=[one["itemId"]],
                    )  # fmt: skip
                    assert len(shown["data"]) == 1
    return found


@pytest.mark.parametrize("command", ["/clear", "/clear 1"])
async def test_words_are_found_in_the_whole_history(command: str) -> None:
    assert await occurrences(command) == await occurrences("")


async def boundaries(command: str, limit: int | None) -> list[Any]:
    async with opened_harness() as harness, AsyncExitStack() as stack:
        side = Side(harness, through_daemon=bool(command))
        talk, thread_id = await conversation(side, stack, command)
        listed = await pages(talk.wire, "thread/timeline/list", threadId=thread_id, limit=limit)
        positions = [entry["position"] for page in reversed(listed) for entry in page]
    assert positions == sorted(set(positions))
    return [
        [
            (entry["type"], sorted(entry), entry.get("item", {}).get("type"), entry.get("status"))
            for entry in page
        ]
        for page in listed
    ]


@pytest.mark.parametrize("limit", [None, 3])
async def test_the_whole_history_is_listed_in_its_order(limit: int | None) -> None:
    assert await boundaries("/clear 1", limit) == await boundaries("", limit)


async def test_a_term_that_is_empty_and_foreign_cursors_are_refused(harness: Harness) -> None:
    async with AsyncExitStack() as stack:
        talk, thread_id = await conversation(Side(harness, through_daemon=True), stack, "/clear")
        for params in (
            {"searchTerm": " "},
            {"searchTerm": "x", "cursor": "x"},
            {"searchTerm": "x", "cursor": '["y",0,0]'},
            {"searchTerm": "x", "cursor": '["x",-1,0]'},
            {"searchTerm": 1},
        ):
            answer = await talk.wire.ask("thread/searchOccurrences", threadId=thread_id, **params)
            assert "error" in answer, params
        for cursor in ("x", "p", "p-1", 1):
            answer = await talk.wire.ask("thread/timeline/list", threadId=thread_id, cursor=cursor)
            assert "error" in answer, cursor


async def test_answers_about_a_trimmed_thread_speak_of_the_whole_of_it(harness: Harness) -> None:
    async with AsyncExitStack() as stack:
        talk, thread_id = await conversation(Side(harness, through_daemon=True), stack, "/clear")
        read = (await talk.wire.result("thread/read", threadId=thread_id))["thread"]
        git = {"branch": "topic"}
        updated = await talk.wire.result("thread/metadata/update", threadId=thread_id, gitInfo=git)
        await talk.wire.result("thread/archive", threadId=thread_id)
        back = await talk.wire.result("thread/unarchive", threadId=thread_id)
    for answer in (updated["thread"], back["thread"]):
        members = ("id", "preview", "createdAt", "name", "forkedFromId", "turns")
        assert {name: answer[name] for name in members} == {name: read[name] for name in members}
