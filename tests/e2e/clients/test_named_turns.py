"""Every turn that a thread shows can be named in a request, whatever was trimmed since; the model's
next input proves it.
"""

from typing import Any

import pytest
from trimpoint.cli.connection.client import RemoteError
from trimpoint.codex.appserver.experimental import experimental_api

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.expectation import Piece, numbered, pieces

pytestmark = pytest.mark.codex


async def turn_ids(talk: Conversation) -> list[str]:
    """Returns the ids of the turns that the thread shows, oldest first."""
    read = await talk.client.request("thread/read", threadId=talk.thread_id, includeTurns=True)
    return [str(turn["id"]) for turn in read["thread"]["turns"]]


async def forked(talk: Conversation, **params: Any) -> Conversation:
    answer = await talk.client.request("thread/fork", threadId=talk.thread_id, **params)
    assert answer["thread"]["forkedFromId"] == talk.thread_id
    fork = Conversation(talk.client, answer["thread"]["id"], talk.model, talk.script)
    fork.turns = talk.turns
    shown = [str(turn["id"]) for turn in answer["thread"]["turns"]]
    assert not shown or shown == await turn_ids(
        fork
    )  # Codex lists no turns of a thread without one
    return fork


@pytest.mark.parametrize("command", ["/clear 2", "/clear", "/compact --keep 1"])
@pytest.mark.parametrize("more", [0, 1])
async def test_a_thread_can_be_forked_at_each_turn_that_it_shows(
    harness: Harness, command: str, more: int
) -> None:
    async with harness.conversation() as talk:
        for _ in range(4):
            await talk.turn(tool=True)
        assert (await talk.type(command))["status"] == "completed"
        for _ in range(more):
            await talk.turn()
        named = await turn_ids(talk)
        for number, turn_id in enumerate(named, 1):
            fork = await forked(talk, lastTurnId=turn_id)
            assert await turn_ids(fork) == named[:number]
            request = await fork.turn()
            if number <= 4:  # as it was before the command
                assert seen_turns(request, len(named)) == list(range(1, number + 1))
            assert seen_turns(request, fork.turns)[-2:] == [number, fork.turns]
        before = await forked(talk, beforeTurnId=named[2])
        assert await turn_ids(before) == named[:2]
        assert seen_turns(await before.turn(), len(named)) == [1, 2]


async def test_a_trimmed_thread_can_be_forked_at_each_turn_after_a_restart(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        for _ in range(4):
            await talk.turn(tool=True)
        await talk.complete("/clear 2")
        await talk.turn(tool=True)
        named = await turn_ids(talk)
    contexts = [(1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), (3, 4, 5)]
    for turn_id, context in zip(named, contexts, strict=True):
        async with harness.daemon(), harness.client() as client:
            talk.client = client
            fork = await forked(talk, lastTurnId=turn_id)
            request = await fork.turn()
        assert pieces(request.input) == [*numbered(*context), Piece("user", "prompt-6.")]


@pytest.mark.parametrize("command", ["/clear", "/clear 1"])
async def test_a_trimmed_thread_can_be_forked_as_it_is(harness: Harness, command: str) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn(tool=True)
        await talk.type(command)
        fork = await forked(talk)
        assert len(await turn_ids(fork)) == 2
        request = await fork.turn()
        assert seen_turns(request, 2) == ([] if command == "/clear" else [2])
        again = await forked(fork)
        assert seen_turns(await again.turn(), 3) == ([3] if command == "/clear" else [2, 3])
        cleared = await fork.type("/clear 1")
        assert cleared["status"] == ("skipped" if command == "/clear" else "completed")
        assert seen_turns(await fork.turn(), 3) == [3]


@pytest.mark.parametrize("command", ["/clear", "/clear 1", "/compact --keep 1"])
async def test_pruned_turns_that_a_fork_shows_have_the_context_of_their_time(
    harness: Harness, command: str
) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn()
        assert (await talk.type(command))["status"] == "completed"
        fork = await forked(talk)
        named = await turn_ids(fork)
        pruned = 3 if command == "/clear" else 2
        for number in range(1, pruned + 1):
            again = await forked(fork, lastTurnId=named[number - 1])
            request = await again.turn()
            assert seen_turns(request, 3) == list(range(1, number + 1))
            assert not request.mentions("<conversation-summary")
        for number in range(pruned, 0, -1):
            reverted = await fork.type(f"/revert {number} --context")
            assert reverted["status"] == "completed", reverted
            fork.turns = 3
            request = await fork.turn()
            assert seen_turns(request, 4) == [*range(1, number + 1), 4]
            assert not request.mentions("<conversation-summary")


@pytest.mark.parametrize("after", ["", "/clear 1", "thread/revert"])
async def test_tool_calls_of_pruned_turns_are_known_in_forks_of_forks(
    harness: Harness, after: str
) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        await talk.type("/clear")
        fork = await forked(await forked(talk))
        named = await turn_ids(talk)
        if after == "thread/revert":
            await talk.type("/undo")
            reverted = {"threadId": talk.thread_id, "beforeTurnId": named[0]}
            await talk.client.request("thread/revert", **reverted)
        elif after == "/clear 1":
            await fork.turn(tool=True)
            await fork.type("/clear 1")
    async with harness.daemon(), harness.client() as client:
        back = Conversation(client, fork.thread_id, harness.model, harness.script)
        back.turns = 4
        outcome = await back.type("/revert 2 --context")
        assert outcome["status"] == "completed", outcome
        request = await back.turn()
        assert seen_turns(request, 5) == [1, 2, 5]
        for number in (1, 2):
            assert request.mentions(f"echo tool-output-{number}")
        await back.type("/clear")
        again = await forked(back, lastTurnId=named[0])
        assert (await again.turn()).mentions("echo tool-output-1")


@pytest.mark.parametrize("command", ["", "/clear"])
async def test_a_fork_at_two_places_is_refused_as_by_codex(harness: Harness, command: str) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn()
        if command:
            await talk.type(command)
        first, second = await turn_ids(talk)
        places = {"lastTurnId": first, "beforeTurnId": second}
        with pytest.raises(RemoteError, match="cannot be combined"):
            await talk.client.request("thread/fork", threadId=talk.thread_id, **places)


async def test_a_fork_before_the_first_turn_is_empty(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn()
        await talk.type("/clear 1")
        fork = await forked(talk, beforeTurnId=(await turn_ids(talk))[0])
        assert seen_turns(await fork.turn(), 2) == []


@pytest.mark.parametrize("command", ["/clear 2", "/clear 3"])
async def test_kept_turns_can_be_taken_back_in_a_fork(harness: Harness, command: str) -> None:
    async with harness.conversation() as talk:
        for _ in range(4):
            await talk.turn()
        await talk.type(command)
        await talk.turn()
        named = await turn_ids(talk)
        fork = await forked(talk)
        await fork.client.request("thread/revert", threadId=fork.thread_id, beforeTurnId=named[3])
        assert await turn_ids(fork) == named[:3]
        request = await fork.turn()
        assert seen_turns(request, 5) == ([3] if command == "/clear 2" else [2, 3])
        assert await turn_ids(talk) == named


async def test_a_fork_from_the_ledger_outlives_the_daemon(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn(tool=True)
        await talk.type("/clear 1")
        fork = await forked(talk, lastTurnId=(await turn_ids(talk))[1])
    async with harness.daemon(), harness.client() as client:
        back = Conversation(client, fork.thread_id, harness.model, harness.script)
        back.turns = 3
        assert seen_turns(await back.turn(), 3) == [1, 2]


@pytest.mark.parametrize("command", ["/clear 1", "/clear"])
@pytest.mark.parametrize("place", ["lastTurnId", "beforeTurnId", ""])
async def test_a_fork_names_its_parent_where_it_is_read_or_resumed(
    harness: Harness, command: str, place: str
) -> None:
    async with harness.conversation() as talk:
        for _ in range(3):
            await talk.turn()
        await talk.type(command)
        named = {place: (await turn_ids(talk))[0]} if place else {}
        fork = await forked(talk, **named)
        assert await parents(fork) == {"thread/read": talk.thread_id}
        await fork.turn()
        named_in = dict.fromkeys(("thread/read", "thread/resume"), talk.thread_id)
        assert await parents(fork, resumed=True) == named_in
    async with harness.daemon(), harness.client() as client:
        back = Conversation(client, fork.thread_id, harness.model, harness.script)
        assert await parents(back, resumed=True) == named_in
        await back.type("/clear")
        assert await parents(back, resumed=True) == named_in


async def parents(fork: Conversation, *, resumed: bool = False) -> dict[str, str | None]:
    """Returns the parent that each answer about the fork names. Codex's lists name none."""
    read = await fork.client.request("thread/read", threadId=fork.thread_id)
    threads = {"thread/read": read["thread"]}
    if resumed:
        answer = await fork.client.request("thread/resume", threadId=fork.thread_id)
        threads["thread/resume"] = answer["thread"]
    return {method: thread["forkedFromId"] for method, thread in threads.items()}


async def test_items_of_turns_before_a_trim_can_be_read(harness: Harness) -> None:
    async with harness.conversation() as talk:
        for _ in range(2):
            await talk.turn()
        await talk.type("/clear 1")
        for turn_id in await turn_ids(talk):
            listed = await talk.client.request(
                "thread/items/list", threadId=talk.thread_id, turnId=turn_id
            )
            ids = [row["item"]["id"] for row in listed["data"]]
            read = await talk.client.request(
                "thread/items/read", threadId=talk.thread_id, turnId=turn_id, itemIds=ids[::-1]
            )
            assert read["data"] == listed["data"]


async def test_a_sample_behind_the_newest_turn_is_had_again_after_the_next_prompt(
    harness: Harness,
) -> None:
    if "thread/sample" not in (await experimental_api(harness.profile)).methods:
        pytest.skip("this Codex cannot sample")
    async with harness.conversation() as talk:

        async def sampled(number: int) -> dict[str, Any]:
            named = (await turn_ids(talk))[number]
            params = {"expectedTurnId": named, "prompt": "sample-prompt."}
            return dict(
                await talk.client.request("thread/sample", threadId=talk.thread_id, **params)
            )

        for _ in range(3):
            await talk.turn()
        assert (await sampled(-1))["text"]
        assert (await talk.type("/clear 1"))["status"] == "completed"
        with pytest.raises(RemoteError, match="Nothing was sent to the model") as refused:
            await sampled(-1)
        with pytest.raises(RemoteError, match="latest finished turn"):
            await sampled(0)
        await talk.turn()
        assert (await sampled(-1))["text"]
    assert refused.value.reason == "not_supported"
    sampling = [request for request in harness.model.requests if request.mentions("sample-prompt.")]
    assert [seen_turns(request, 4) for request in sampling] == [[1, 2, 3], [3, 4]]
