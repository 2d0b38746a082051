"""A conversation whose next turn does not fit, and the notifications about that turn."""

from typing import Any

import anyio
import anyio.to_thread
from trimpoint.cli.connection.client import Client
from trimpoint.testkit import (
    ModelRequest,
    Reply,
    held,
    overflow,
    say,
)

from tests.e2e.conversation import TURN_DEADLINE_S, Conversation
from tests.e2e.expectation import Piece

# The walker takes five turns of them; what is left is the sixth.
TURNS = 6


SUMMARY = Piece(
    "summary", "<conversation-summary messages=10>The gist of it all.</conversation-summary>"
)


LONG_SIXTH = [Piece("user", "prompt-6."), Piece("assistant", "word " * 300)]


OUT_OF_ROOM = "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying."


CLEAR = "/clear N keeps the last N turns"


Message = dict[str, Any]


async def long_talk(talk: Conversation, turns: int = TURNS) -> None:
    for _ in range(turns):
        await talk.turn()


async def long_talk_with_long_end(talk: Conversation) -> None:
    """Runs turns of which the sixth is more than a quarter of the context, so that it is kept."""
    await long_talk(talk, TURNS - 1)
    talk.script.then(say(LONG_SIXTH[1].text))
    await talk.prompt(LONG_SIXTH[0].text)


def heard(client: Client, thread_id: str, after: int = 0) -> list[Message]:
    """Returns the messages about a thread that the client has received."""
    return [m for m in client.messages[after:] if m.get("params", {}).get("threadId") == thread_id]


def methods(messages: list[Message]) -> list[str]:
    return [m["method"] for m in messages]


def statuses(messages: list[Message]) -> list[str]:
    return [
        m["params"]["status"]["type"] for m in messages if m["method"] == "thread/status/changed"
    ]


def is_of_turn(message: Message, turn_id: str) -> bool:
    params = message.get("params", {})
    return params.get("turnId", params.get("turn", {}).get("id")) == turn_id


async def begin(talk: Conversation, text: str, **options: Any) -> str:
    """Sends a prompt, and returns the turn's id."""
    answer = await talk.client.request(
        "turn/start", threadId=talk.thread_id, input=[{"type": "text", "text": text}], **options
    )
    return str(answer["turn"]["id"])


async def ended(client: Client, turn_id: str) -> Message:
    with anyio.fail_after(TURN_DEADLINE_S):
        message = await client.expect(
            lambda m: m.get("method") == "turn/completed" and is_of_turn(m, turn_id)
        )
    return dict(message["params"]["turn"])


async def is_as_it_was(talk: Conversation, turn: Message, said: list[Message]) -> None:
    """Checks that the turn has failed as it would without a recovery, except for the advice to the
    person.
    """
    assert (turn["status"], turn["error"]["message"], turn["error"]["codexErrorInfo"]) == (
        "failed",
        OUT_OF_ROOM,
        "contextWindowExceeded",
    )
    assert CLEAR in turn["error"]["additionalDetails"]
    assert [m["params"]["error"]["message"] for m in said if m["method"] == "error"] == [
        OUT_OF_ROOM
    ]
    assert methods(said).count("turn/completed") == 1
    assert methods(said).index("error") < methods(said).index("turn/completed")
    assert statuses(said)[-1] == "systemError"
    snapshot = await talk.snapshot()
    assert (snapshot["contextTrimPoints"], snapshot["session"]["generation"]) == ([], 1)
    assert snapshot["turns"][-1]["status"] == "failed"
    assert snapshot["operation"]["phase"] in ("failed", "ready")
    listed = await talk.client.request("thread/list")
    assert [row["id"] for row in listed["data"]] == [talk.thread_id]


class Held:
    """A recovery that waits for the model: for the summary, or for the answer to the repeated
    turn.
    """

    def __init__(self, talk: Conversation) -> None:
        self.talk = talk
        self.event = anyio.Event()
        self.turn_id = ""
        self.after = 0

    async def in_compaction(self, *then: Reply) -> None:
        script = self.talk.script
        script.at_compaction(held(say(script.summary), self.event)).then(overflow(), *then)
        await self._begin(lambda request: request.kind == "inline_compaction")

    async def in_retry(self, reply: Reply, *then: Reply) -> None:
        self.talk.script.then(overflow(), held(reply, self.event), *then)
        seen: list[ModelRequest] = []

        def is_second(request: ModelRequest) -> bool:
            if request.kind == "turn" and request.mentions("too much"):
                seen.append(request)
            return request.mentions("conversation-summary") and request.mentions("too much")

        await self._begin(is_second)

    async def _begin(self, until: Any) -> None:
        self.after = len(self.talk.client.messages)
        self.turn_id = await begin(self.talk, "too much")
        with anyio.fail_after(TURN_DEADLINE_S):
            await self.talk.model.wait_for_request(until)

    async def end(self) -> Message:
        return await ended(self.talk.client, self.turn_id)

    @property
    def said(self) -> list[Message]:
        return heard(self.talk.client, self.talk.thread_id, self.after)
