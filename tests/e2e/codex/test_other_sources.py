"""A conversation that a request names by its history or its file instead of by an id."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from trimpoint.cli.connection.client import RemoteError

from tests.e2e.codex.sides import ORIGINATOR, Side, both
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.dialect import Transcript, differences

pytestmark = pytest.mark.codex

ITEM = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "from another place"}],
}
OWN, OTHER = "the thread's own file", "another thread's file"
RESUMES: dict[str, dict[str, Any]] = {
    "history": {"history": [ITEM]},
    "history with overrides": {"history": [ITEM], "sandbox": "read-only"},
    "history and a path": {"history": [ITEM], "path": "/nowhere"},
    "an empty history": {"history": []},
    "a path to nothing": {"path": "/nowhere"},
    "a relative path": {"path": "nowhere"},
    "no path": {"path": ""},
    "a number": {"path": 5},
    "own path": {"path": OWN},
    "own path with overrides": {"path": OWN, "sandbox": "read-only", "model": "gpt-5-codex"},
    "another thread's path": {"path": OTHER},
}
FORKS = ("a path to nothing", "no path", "own path", "another thread's path")


async def two_threads(side: Side) -> list[dict[str, Any]]:
    """Starts two threads with one turn each, and ends the process."""
    async with AsyncExitStack() as stack:
        talk = await side.opened(stack)
        threads: list[dict[str, Any]] = []
        for prompt in ("first", "second"):
            settings = {
                "cwd": str(side.harness.worktree),
                "approvalPolicy": "never",
                "sandbox": "danger-full-access",
            }
            answer = await talk.ask("start", "thread/start", **settings)
            threads.append(answer["result"]["thread"])
            await side.turn(talk, threads[-1]["id"], prompt)
    return threads


async def asked(side: Side, method: str, params: dict[str, Any]) -> Transcript:
    """Sends the request on the first of two cold threads, and goes on in the thread of the
    answer.
    """
    own, other = await two_threads(side)
    files = {OWN: own["path"], OTHER: other["path"]}
    given = params | ({"path": files[params["path"]]} if params.get("path") in files else {})
    async with AsyncExitStack() as stack:
        talk = await side.opened(stack)
        answer = await talk.ask(method, method, threadId=own["id"], **given)
        if "result" in answer:
            await side.turn(talk, answer["result"]["thread"]["id"], "third")
        for thread in (own, other):
            await talk.ask("thread/resume", "thread/resume", threadId=thread["id"])
    return talk


@pytest.mark.parametrize("params", RESUMES.values(), ids=RESUMES.keys())
async def test_a_cold_resume_is_answered_as_by_codex(params: dict[str, Any]) -> None:
    direct, ours = await both(lambda side: asked(side, "thread/resume", params))
    assert [found for found in differences(direct, ours) if ORIGINATOR not in found] == []


@pytest.mark.parametrize("source", FORKS)
async def test_a_fork_of_a_file_is_made_as_by_codex(source: str) -> None:
    direct, ours = await both(lambda side: asked(side, "thread/fork", RESUMES[source]))
    assert [found for found in differences(direct, ours) if ORIGINATOR not in found] == []


async def trimmed(harness: Harness) -> tuple[str, Path, Path]:
    """Returns a cold thread of two generations: its id and the files of both."""
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn()
        assert (await talk.type("/clear 1"))["status"] == "completed"
        await talk.turn()
    [earlier] = harness.codex_home.glob("archived_sessions/*.jsonl")
    [present] = harness.codex_home.glob("sessions/*/*/*/*.jsonl")
    return talk.thread_id, earlier, present


@pytest.mark.parametrize("method", ["thread/resume", "thread/fork"])
@pytest.mark.parametrize("named", ["by its id", "by another id"])
async def test_a_trimmed_thread_is_found_by_its_present_file_alone(
    harness: Harness, method: str, named: str
) -> None:
    thread_id, earlier, present = await trimmed(harness)
    named_id = thread_id if named == "by its id" else "01900000-0000-7000-8000-000000000000"
    async with harness.daemon(), harness.client() as client:
        for path in (str(earlier), str(present.with_name(earlier.name)), earlier.name):
            with pytest.raises(RemoteError, match=f"not the present one of the thread {thread_id}"):
                await client.request(method, threadId=named_id, path=path)
        with pytest.raises(RemoteError, match="file does not exist"):
            await client.request(method, threadId=named_id, path="/nowhere")
        answer = await client.request(
            method, threadId=named_id, path=str(present), sandbox="read-only"
        )
        thread = answer["thread"]
        assert (thread["id"] == thread_id) is (method == "thread/resume")
        assert (answer["sandbox"]["type"], len(thread["turns"])) == ("readOnly", 3)
        for one in {thread["id"], thread_id}:
            back = Conversation(client, one, harness.model, harness.script)
            back.turns = 3
            assert seen_turns(await back.turn(), 4) == [2, 3, 4]


async def test_a_history_on_a_cold_trimmed_thread_begins_another_thread(harness: Harness) -> None:
    thread_id, _, _ = await trimmed(harness)
    async with harness.daemon(), harness.client() as client:
        answer = await client.request("thread/resume", threadId=thread_id, history=[ITEM])
        assert answer["thread"]["id"] != thread_id
        other = Conversation(client, answer["thread"]["id"], harness.model, harness.script)
        assert (await other.turn()).mentions("from another place")
        back = Conversation(client, thread_id, harness.model, harness.script)
        back.turns = 3
        assert seen_turns(await back.turn(), 4) == [2, 3, 4]
