"""An agent lists and reduces its own context; the model's next input proves it
(docs/spec/context.md).
"""

from collections.abc import Callable
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.cli.connection.client import RemoteError
from trimpoint.config.sections import DiscardSection
from trimpoint.core.context.segments import FOLLOW_UP_PREFIX
from trimpoint.testkit import ModelRequest, Reply, call, held, run, say

from tests.deadlines import STEP_S
from tests.e2e.agent_tools import begin, result_of, tool_names
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation

pytestmark = pytest.mark.codex

LINES = "for i in $(seq 200); do echo line-$i-of-{}; done"
LOOKUP = {
    "type": "function",
    "name": "lookup",
    "description": "Looks up.",
    "inputSchema": {"type": "object", "properties": {}},
}
DEADLINE_S = STEP_S


@pytest.fixture
def small_harness(harness: Harness) -> Harness:
    harness.config = msgspec.structs.replace(
        harness.config, discard=DiscardSection(floor_tokens=20, target_tokens=1_500)
    )
    return harness


def listed(request: ModelRequest) -> dict[str, Any]:
    answer: dict[str, Any] = msgspec.json.decode(result_of(request, "get_messages"))
    return answer


def discarding(*fragments: str) -> Callable[[ModelRequest], Reply]:
    """Returns a reply that discards the messages whose preview has one of these fragments, by the
    result of `get_messages`.
    """

    def choose(request: ModelRequest) -> Reply:
        ids = [
            row["short_id"]
            for row in listed(request)["messages"]
            if any(part in row["preview"] for part in fragments)
        ]
        return call("discard_messages", {"short_ids": ids})

    return choose


async def work(talk: Conversation, word: str) -> None:
    talk.script.then(run(LINES.format(word)), say(f"answer-{word}."))
    await talk.prompt(f"prompt-{word}.")


async def until_follow_up_ended(talk: Conversation, turns: int) -> dict[str, Any]:
    """Waits until this many turns have ended, and returns the last one."""
    with anyio.fail_after(DEADLINE_S):
        seen = 0
        while True:
            message = await talk.client.received("turn/completed", after=seen)
            seen = talk.client.messages.index(message, seen) + 1
            turns -= 1
            if turns == 0:
                return dict(message["params"]["turn"])


async def test_an_agent_reads_its_context_reduces_it_and_continues_without_a_prompt(
    small_harness: Harness,
) -> None:
    async with small_harness.daemon(), small_harness.client() as client:
        talk = await begin(client, small_harness, dynamicTools=[LOOKUP])
        await work(talk, "one")
        talk.script.then(
            call("get_messages", {}),
            discarding("of-one", "prompt-one."),
            say("I am done looking."),
            say("And on I went."),
        )
        await talk.prompt("tidy up.")
        follow_up = await until_follow_up_ended(talk, 3)
        requests = talk.model.turn_requests()
        snapshot = await talk.snapshot()
        timeline = await talk.timeline()
    asked, answered = requests[-3], requests[-2]
    assert {"get_messages", "discard_messages", "lookup"} <= tool_names(asked)
    rows = {row["preview"]: row for row in listed(asked)["messages"]}
    assert rows["tidy up."]["protected"] == "newest"
    assert "protected" not in rows["prompt-one."]
    assert answered.mentions("will leave your context when this turn has ended")
    assert answered.mentions("line-7-of-one")  # until then nothing is taken from under it
    last = requests[-1]
    assert not last.mentions("line-7-of-one")
    assert not last.mentions("prompt-one.")
    assert last.mentions("answer-one.")
    # Looking and choosing have gone with it: they tell of what is no longer there.
    assert not last.mentions("get_messages")
    assert str(last.input[-1]["content"][0]["text"]).startswith(FOLLOW_UP_PREFIX)
    assert follow_up["status"] == "completed"
    [point] = snapshot["contextTrimPoints"]
    assert (point["trimKind"], point["trigger"]) == ("discard", "agent")
    assert [entry["text"] for entry in timeline if entry["kind"] == "message"][
        -1
    ] == "And on I went."
    assert {"get_messages", "discard_messages", "lookup"} <= tool_names(last)


async def test_clients_are_never_asked_about_it_and_their_own_tools_still_ask_them(
    small_harness: Harness,
) -> None:
    async with small_harness.daemon(), small_harness.client() as client:
        talk = await begin(client, small_harness, dynamicTools=[LOOKUP])
        small_harness.script.then(call("get_messages", {}), call("lookup", {}), say("done."))
        started = await client.request(
            "turn/start", threadId=talk.thread_id, input=[{"type": "text", "text": "go."}]
        )
        with anyio.fail_after(DEADLINE_S):
            question = await client.received("item/tool/call")
            assert question["params"]["tool"] == "lookup"
            content = [{"type": "inputText", "text": "found"}]
            client.answer(question, {"contentItems": content, "success": True})
            await client.expect(
                lambda m: (
                    m.get("method") == "turn/completed"
                    and m["params"]["turn"]["id"] == started["turn"]["id"]
                )
            )
        asked = [
            message["params"]["tool"]
            for message in client.messages
            if message.get("method") == "item/tool/call"
        ]
        assert asked == ["lookup"]
        assert small_harness.model.turn_requests()[-1].mentions("found")


async def test_a_refused_discard_of_the_agent_starts_no_turn(
    small_harness: Harness,
) -> None:
    async with small_harness.daemon(), small_harness.client() as client:
        talk = await begin(client, small_harness)
        await work(talk, "one")
        talk.script.then(
            call("get_messages", {}),
            discarding("answer-one."),
            call("discard_messages", {"short_ids": ["m9.9"]}),
        )
        talk.script.then(call("discard_messages", {"short_ids": []}), say("So be it."))
        await talk.prompt("tidy up.")
        requests = talk.model.turn_requests()
        assert "is a final answer" in result_of(requests[-3], "discard_messages")
        assert "holds no m9.9" in result_of(requests[-2], "discard_messages")
        assert "takes short_ids" in result_of(requests[-1], "discard_messages")
        assert (await talk.snapshot())["contextTrimPoints"] == []
        await work(talk, "two")
        assert len((await talk.snapshot())["turns"]) == 3


async def test_an_agent_discards_while_a_client_clears(small_harness: Harness) -> None:
    async with (
        small_harness.daemon(),
        small_harness.client() as client,
        small_harness.client("other") as other,
    ):
        talk = await begin(client, small_harness)
        await other.request("thread/resume", threadId=talk.thread_id)
        for word in ("one", "two"):
            await work(talk, word)
        talk.script.then(call("get_messages", {}), discarding("of-two"), say("ended."))
        outcomes: list[str] = []

        async def clear() -> None:
            """Clears as soon as the turn has ended, whatever else is running."""
            await other.expect(lambda m: m.get("method") == "turn/completed" and "ended." in str(m))
            while not outcomes or outcomes[-1] == "skipped":
                answer = await other.request(
                    "commands/execute", threadId=talk.thread_id, text="/clear 2"
                )
                outcomes.append(answer["status"])

        with anyio.fail_after(2 * DEADLINE_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(clear)
                await talk.prompt("tidy up.")
        assert outcomes[-1] == "completed"
        talk.script.then(say("fine."))
        await talk.prompt("last.")
        request = talk.model.turn_requests()[-1]
        assert not request.mentions("prompt-one.")
        assert not request.mentions("line-7-of-one")
        assert (await talk.snapshot())["operation"]["phase"] == "ready"


async def test_a_prompt_that_comes_meanwhile_takes_the_place_of_the_follow_up(
    small_harness: Harness,
) -> None:
    release = anyio.Event()
    async with small_harness.daemon(), small_harness.client() as client:
        talk = await begin(client, small_harness)
        await work(talk, "one")
        talk.script.then(
            call("get_messages", {}),
            discarding("of-one"),
            say("ended."),
            held(say("mine."), release),
            say("after."),
        )
        await talk.prompt("tidy up.")
        release.set()
        await talk.prompt("my own.")
        await talk.prompt("and then.")
        requests = talk.model.turn_requests()
        texts = [
            entry["text"]
            for entry in await talk.timeline()
            if entry["kind"] == "message" and entry["role"] == "user"
        ]
    assert texts == ["prompt-one.", "tidy up.", "my own.", "and then."]
    assert not requests[-1].mentions("line-7-of-one")


async def test_an_interrupted_turn_takes_nothing_out(small_harness: Harness) -> None:
    release = anyio.Event()
    async with small_harness.daemon(), small_harness.client() as client:
        talk = await begin(client, small_harness)
        await work(talk, "one")
        talk.script.then(
            call("get_messages", {}), discarding("of-one"), held(say("never."), release)
        )
        started = await client.request(
            "turn/start", threadId=talk.thread_id, input=[{"type": "text", "text": "tidy up."}]
        )
        with anyio.fail_after(DEADLINE_S):
            await small_harness.model.wait_for_request(
                lambda request: request.mentions("will leave your context")
            )
            await client.request(
                "turn/interrupt", threadId=talk.thread_id, turnId=started["turn"]["id"]
            )
            await client.expect(
                lambda m: (
                    m.get("method") == "turn/completed"
                    and m["params"]["turn"]["id"] == started["turn"]["id"]
                )
            )
        release.set()
        talk.script.then(say("fine."))
        await talk.prompt("next.")
        assert talk.model.turn_requests()[-1].mentions("line-7-of-one")
        assert (await talk.snapshot())["contextTrimPoints"] == []


async def test_the_tools_stay_through_a_clear_a_restart_and_a_fork(small_harness: Harness) -> None:
    async with small_harness.daemon(), small_harness.client() as client:
        talk = await begin(client, small_harness)
        await work(talk, "zero")
        await work(talk, "one")
        assert (await talk.type("/clear 1"))["status"] == "completed"
    async with small_harness.daemon(), small_harness.client() as client:
        talk.client = client
        await client.request("thread/resume", threadId=talk.thread_id)
        talk.script.then(call("get_messages", {}), say("seen."))
        await talk.prompt("look.")
        assert "line-$i-of-one" in result_of(talk.model.turn_requests()[-1], "get_messages")
        forked = await client.request("thread/fork", threadId=talk.thread_id)
        fork = Conversation(
            client, forked["thread"]["id"], small_harness.model, small_harness.script
        )
        fork.script.then(call("get_messages", {}), say("seen."))
        await fork.prompt("look again.")
        assert "line-$i-of-one" in result_of(fork.model.turn_requests()[-1], "get_messages")
        assert (await fork.type("/clear 1"))["status"] == "completed"
        fork.script.then(say("still there."))
        await fork.prompt("and now?")
        assert "get_messages" in tool_names(fork.model.turn_requests()[-1])


async def test_agents_get_the_tools_only_on_request(small_harness: Harness) -> None:
    async with small_harness.daemon(), small_harness.client() as client:
        for option in ({"agentTools": False}, {}, None):
            talk = await begin(client, small_harness, trimpoint=option)
            await work(talk, "one")
            assert not {"get_messages", "discard_messages"} & tool_names(
                talk.model.turn_requests()[-1]
            )


async def test_the_configuration_gives_them_to_all_but_those_who_have_tools_of_that_name(
    small_harness: Harness,
) -> None:
    small_harness.config = msgspec.structs.replace(
        small_harness.config, discard=DiscardSection(100, 1_500, agent_tools=True)
    )
    async with small_harness.daemon(), small_harness.client() as client:
        talk = await Conversation.begin(
            client, small_harness.worktree, small_harness.model, small_harness.script
        )
        await work(talk, "one")
        assert {"get_messages", "discard_messages"} <= tool_names(talk.model.turn_requests()[-1])
        talk = await begin(
            client, small_harness, trimpoint=None, dynamicTools=[{**LOOKUP, "name": "get_messages"}]
        )
        small_harness.script.then(call("get_messages", {}), say("done."))
        await client.request(
            "turn/start", threadId=talk.thread_id, input=[{"type": "text", "text": "go."}]
        )
        with anyio.fail_after(DEADLINE_S):
            question = await client.received("item/tool/call")
        assert question["params"]["tool"] == "get_messages"


@pytest.mark.parametrize(
    "option", [{"agentTools": "yes"}, {"agentTool": True}, "yes", {"agentTools": True}]
)
async def test_an_option_that_is_not_right_and_a_name_that_is_taken_are_refused(
    small_harness: Harness, option: Any
) -> None:
    async with small_harness.daemon(), small_harness.client() as client:
        with pytest.raises(RemoteError) as refused:
            await begin(
                client,
                small_harness,
                trimpoint=option,
                dynamicTools=[{**LOOKUP, "name": "discard_messages"}],
            )
        assert refused.value.data["reason"] == "invalid_params"
