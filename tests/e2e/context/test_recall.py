"""An agent looks up what has left its context; the model's input proves it (docs/recall.md)."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from trimpoint.cli.connection.client import RemoteError
from trimpoint.config.sections import DiscardSection
from trimpoint.recall.index import FILE_NAME
from trimpoint.testkit import ModelRequest, Reply, call, run, say

from tests.e2e.agent_tools import begin, result_of, tool_names
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation

pytestmark = pytest.mark.codex

SECRET = "Traceback: KeyError launchCode tango-4417"


@pytest.fixture
def small_harness(harness: Harness) -> Harness:
    harness.config = msgspec.structs.replace(
        harness.config, discard=DiscardSection(floor_tokens=20, target_tokens=100)
    )
    return harness


@asynccontextmanager
async def three_turns(harness: Harness) -> AsyncGenerator[Conversation]:
    """Yields a thread with the agent tools, in whose third turn a command printed the secret."""
    async with harness.daemon(), harness.client() as client:
        talk = await begin(client, harness)
        await talk.turn()
        await talk.turn(tool=True)
        talk.script.then(run(f"echo {SECRET}"), say("It failed."))
        await talk.prompt("run it.")
        yield talk


def reads_first_hit(request: ModelRequest) -> Reply:
    """Returns a call that reads the first hit of the search."""
    answer = msgspec.json.decode(result_of(request, "search_history"))
    return call("read_history", {"id": answer["found"][0]["id"]})


def says_what_it_read(request: ModelRequest) -> Reply:
    """Returns a message with the last word that was read."""
    answer = msgspec.json.decode(result_of(request, "read_history"))
    return say(f"The code was {answer['entries'][0]['text'].split()[-1]}.")


def description_of(request: ModelRequest, tool: str) -> str:
    [found] = [one for one in request.body["tools"] if one.get("name") == tool]
    return str(found["description"])


async def look_up(talk: Conversation) -> list[ModelRequest]:
    talk.script.then(
        call("search_history", {"query": "launch code"}), reads_first_hit, says_what_it_read
    )
    await talk.prompt("what was that error code?")
    return talk.model.turn_requests()[-3:]


@pytest.mark.parametrize("trim", ["/clear", "/compact"])
async def test_an_agent_looks_up_a_fact_that_was_trimmed_away_and_it_is_discarded_again(
    small_harness: Harness, trim: str
) -> None:
    async with three_turns(small_harness) as talk:
        assert (await talk.type(trim))["status"] == "completed"
        asked, found, read = await look_up(talk)
        answers = [one["text"] for one in await talk.timeline() if one["kind"] == "message"]
        await talk.turn()  # the newest turn is left alone
        outcome = await talk.type("/compress")
        next_request = await talk.turn()
    assert not asked.mentions("tango-4417")
    assert {"search_history", "read_history"} <= tool_names(asked)
    assert "were 3 turns with" in description_of(asked, "search_history")
    assert "Quoted from the earlier history" in result_of(found, "search_history")
    assert SECRET in result_of(read, "read_history")
    assert answers[-1] == "The code was tango-4417."
    assert outcome["status"] == "completed"
    assert not next_request.mentions("launch code")
    assert not next_request.mentions("KeyError")
    assert next_request.mentions("The code was tango-4417.")


async def test_results_of_history_tools_are_not_found_by_a_search(small_harness: Harness) -> None:
    async with three_turns(small_harness) as talk:
        await talk.type("/clear")
        await look_up(talk)
        hits = await talk.client.request(
            "history/search", query="launchCode", threadId=talk.thread_id
        )
    assert [hit["kind"] for hit in hits["hits"]] == ["command"]


async def test_an_agent_finds_nothing_of_another_thread(small_harness: Harness) -> None:
    async with three_turns(small_harness) as talk:
        other = await begin(talk.client, small_harness)
        other.script.then(
            call("search_history", {"query": "launch code", "in_context_too": True}), say("no.")
        )
        await other.prompt("what was it?")
        request = other.model.turn_requests()[-1]
        everywhere = await talk.client.request("history/search", query="launchCode")
    assert "Nothing in this conversation" in result_of(request, "search_history")
    assert [hit["threadId"] for hit in everywhere["hits"]] == [talk.thread_id]


async def test_a_restarted_daemon_finds_all_there_is_also_without_its_index(
    small_harness: Harness,
) -> None:
    async with three_turns(small_harness) as talk:
        await talk.type("/clear")
        thread_id = talk.thread_id
    (small_harness.state_dir / FILE_NAME).write_bytes(b"damaged")
    async with small_harness.daemon(), small_harness.client() as client:
        found = await client.request("history/search", query="launch code", prunedOnly=True)
        [hit] = found["hits"]
        entry = {"threadId": hit["threadId"], "entryId": hit["entryId"], "turnId": hit["turnId"]}
        read = await client.request("history/read", **entry, before=1)
        with pytest.raises(RemoteError, match="no entry"):
            await client.request("history/read", threadId=thread_id, entryId="h99.1")
    assert (hit["threadId"], hit["turn"], hit["inContext"]) == (thread_id, 3, False)
    texts: list[Any] = [one["text"] for one in read["entries"]]
    assert texts[0] == "run it."
    assert SECRET in texts[1]


async def test_a_person_searches_in_the_chat(small_harness: Harness) -> None:
    async with three_turns(small_harness) as talk:
        await talk.type("/clear 1")
        found = await talk.type("/search tool-output")
        nothing = await talk.type(":search unheardOf")
        empty = await talk.type("/search")
    assert found["status"] == "completed"
    assert found["message"] == (
        f"{talk.thread_id[-8:]}:h2.2 (command, not in the context): "
        "echo tool-output-2 tool-output-2"
    )
    assert nothing["message"] == "Nothing in this thread has these words."
    assert (empty["status"], empty["reason"]) == ("failed", "usage")
