"""Every property that a method sets on a thread is still there after a trim, on the new provider
thread.
"""

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation

pytestmark = [pytest.mark.codex, pytest.mark.usefixtures("running_harness")]

COMMANDS = ("/clear", "/clear 1", "/compact --force")
GIT = {"branch": "feature", "sha": "abc", "originUrl": "https://example.org/x.git"}


async def everything_set(talk: Conversation) -> dict[str, Any]:
    """Sets every property, and returns the answer to `thread/read`."""
    client, thread = talk.client, {"threadId": talk.thread_id}
    section = (await client.request("threadSection/create", name="Mine"))["section"]
    await client.request("thread/metadata/update", **thread, gitInfo=GIT, daybreakEnabled=True)
    await client.request("thread/section/move", **thread, sectionId=section["id"])
    await client.request("thread/name/set", **thread, name="A name")
    await client.request("thread/goal/set", **thread, objective="Ship it.", status="paused")
    await client.request(
        "thread/attachment/add", **thread, attachmentType="note", identityKey="n1", payload={"a": 1}
    )
    await client.request("thread/settings/update", **thread, effort="high")
    return {"gitInfo": GIT, "daybreakEnabled": True, "section": section, "name": "A name"}


async def what_is_set(talk: Conversation) -> dict[str, Any]:
    read = await talk.client.request("thread/read", threadId=talk.thread_id)
    listed = (await talk.client.request("thread/list"))["data"]
    [row] = [row for row in listed if row["id"] == talk.thread_id]
    members = ("gitInfo", "daybreakEnabled", "section", "name")
    assert {name: row[name] for name in members} == {name: read["thread"][name] for name in members}
    return {name: read["thread"][name] for name in members}


@pytest.mark.parametrize("command", COMMANDS)
async def test_metadata_of_a_thread_survives_a_trim(harness: Harness, command: str) -> None:
    async with harness.conversation() as talk:
        await check_carried(talk, command)


async def test_metadata_of_a_thread_survives_a_sealed_compaction(
    sealed_harness: Harness,
) -> None:
    async with sealed_harness.conversation() as talk:
        await check_carried(talk, "/compact --force")


async def check_carried(talk: Conversation, command: str) -> None:
    await talk.turn()
    await talk.turn()
    expected = await everything_set(talk)
    for _ in range(2):
        outcome = await talk.type(command)
        assert outcome["status"] == "completed"
        request = await talk.turn()
        await talk.turn()
        assert await what_is_set(talk) == expected
        goal = await talk.client.request("thread/goal/get", threadId=talk.thread_id)
        assert goal["goal"]["objective"] == "Ship it."
        attached = await talk.client.request("thread/attachment/list", threadId=talk.thread_id)
        assert [one["payload"] for one in attached["data"]] == [{"a": 1}]
        assert request.body["reasoning"]["effort"] == "high"


async def test_metadata_of_a_thread_survives_two_trims_without_a_turn_between(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        expected = await everything_set(talk)
        await talk.type("/clear")
        assert await what_is_set(talk) == expected
        await talk.client.request(
            "thread/metadata/update", threadId=talk.thread_id, gitInfo={"branch": "other"}
        )
        await talk.type("/clear")
        assert (await what_is_set(talk))["gitInfo"] == {**GIT, "branch": "other"}


@pytest.mark.parametrize("command", COMMANDS)
async def test_an_attachment_of_a_thread_that_has_nothing_else_survives_a_trim(
    harness: Harness, command: str
) -> None:
    # Codex takes no attachment of a thread in which nothing has happened.
    note = {"attachmentType": "note", "identityKey": "n1", "payload": {"a": 1}}
    async with harness.conversation() as talk:
        await talk.turn()
        await talk.turn()
        await talk.client.request("thread/attachment/add", threadId=talk.thread_id, **note)
        git = (await talk.client.request("thread/read", threadId=talk.thread_id))["thread"]
        assert (await talk.type(command))["status"] == "completed"
        attached = await talk.client.request("thread/attachment/list", threadId=talk.thread_id)
        assert [one["payload"] for one in attached["data"]] == [{"a": 1}]
        read = await talk.client.request("thread/read", threadId=talk.thread_id)
        assert read["thread"]["gitInfo"] == git["gitInfo"]


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_thread_without_memory_stays_so_after_a_trim(
    harness: Harness, command: str
) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        await talk.turn()
        await talk.client.request("thread/memoryMode/set", threadId=talk.thread_id, mode="disabled")
        assert (await talk.type(command))["status"] == "completed"
        await talk.turn()
        assert memory_mode_of_newest(harness) == "disabled"


def memory_mode_of_newest(harness: Harness) -> str:
    """Returns the memory mode of the newest thread in Codex's database, because no method returns
    it.
    """
    [path] = harness.codex_home.glob("state_*.sqlite")
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute(
            "select memory_mode from threads order by id desc limit 1"
        ).fetchall()
    return str(rows[0][0])
