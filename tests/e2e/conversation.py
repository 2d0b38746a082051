"""A conversation through the daemon, and what the model was shown of it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
from trimpoint.cli.connection.client import Client, RemoteError
from trimpoint.testkit import ModelRequest, Reply, Script, ScriptedModel, reasoning, run, say

from tests.deadlines import STEP_S
from tests.e2e.expectation import ExpectedTurn, Line, Piece, counts_of, pieces, shown_lines

TURN_DEADLINE_S = STEP_S


class ScriptedTurn:
    """What the model answers in one turn, and what of it is to be seen where."""

    def __init__(self, prompt: str) -> None:
        self.replies: list[Reply] = []
        self.turn = ExpectedTurn([Piece("user", prompt)], [("user", prompt)])

    def thinks(self, sealed: str | None) -> Reply:
        """A reasoning item, with or without content that only the provider can read."""
        self.turn.pieces.append(Piece("reasoning", sealed or ""))
        self.turn.entries.append(("reasoning", "hm"))
        return reasoning("hm", encrypted_content=sealed)

    def says(self, text: str) -> Reply:
        """A message; more may follow it in the same turn."""
        self.turn.pieces.append(Piece("assistant", text))
        self.turn.entries.append(("assistant", text))
        return say(text)

    def runs(self, word: str) -> Reply:
        """A command that prints `word`."""
        self.turn.pieces += [Piece("call", f"echo {word}"), Piece("output", word)]
        self.turn.entries.append(("commandExecution", f"echo {word}"))
        return run(f"echo {word}")

    def ends_badly(self, reply: Reply) -> None:
        """The last answer of the model is none."""
        self.replies.append(reply)
        self.turn.status = "failed"


class AnswersByPrompt(Script):
    """Answers by what is asked and not by when, so that it does not matter which prompts reach the
    model.
    """

    def __init__(self) -> None:
        super().__init__()
        self._scripted_turns: dict[str, list[Reply]] = {}

    def when(self, prompt: str, *replies: Reply) -> None:
        """To this prompt the model answers these, one after each tool call."""
        self._scripted_turns[prompt] = list(replies)

    def __call__(self, request: ModelRequest) -> Reply | Awaitable[Reply]:
        if request.kind != "turn":
            return super().__call__(request)
        asked = max(index for index, item in enumerate(request.input) if _asks(item))
        calls = sum(item["type"] == "function_call_output" for item in request.input[asked:])
        setup = self._scripted_turns.get(_text(request.input[asked]))
        # What nobody prepared is the daemon's own question: for a summary that it can read.
        return setup[calls] if setup is not None else say(self.summary)


def _asks(item: dict[str, Any]) -> bool:
    return item.get("role") == "user" and not _text(item).startswith("<")


def _text(item: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in item["content"])


class Conversation:
    """`prompts` and `answers` are what was said, by number of the turn, from 1."""

    def __init__(
        self, client: Client, thread_id: str, model: ScriptedModel, script: Script
    ) -> None:
        self.client = client
        self.thread_id = thread_id
        self.model = model
        self.script = script
        self.turns = 0
        self.before_act: Callable[[], Awaitable[Client]] | None = None
        self.restarts_at_each = False
        self._acts = 0
        self._last_act = ""
        self._restarted_between: set[tuple[str, str]] = set()
        self._earlier: list[dict[str, Any]] = []

    @classmethod
    async def begin(
        cls, client: Client, cwd: Path, model: ScriptedModel, script: Script
    ) -> "Conversation":
        answer = await client.request(
            "thread/start", cwd=str(cwd), approvalPolicy="never", sandbox="danger-full-access"
        )
        return cls(client, answer["thread"]["id"], model, script)

    async def begin_act(self, kind: str = "") -> None:
        """Restart the daemon if this conversation is one with restarts, and nothing else is under
        way in it.

        Acts that only add to the thread have a `kind`. From one other act to the next, one restart
        between the same two kinds is enough: the tenth prompt after a prompt proves nothing more.
        """
        if self.before_act is None or self._acts > 0:
            return
        between, self._last_act = (self._last_act, kind), kind
        if not kind or self.restarts_at_each:
            self._restarted_between.clear()
        elif between in self._restarted_between:
            return
        self._restarted_between.add(between)
        self._earlier += self.client.notifications
        self.client = await self.before_act()

    @property
    def notifications(self) -> list[dict[str, Any]]:
        """All that the conversation's clients were told, also before restarts."""
        return [*self._earlier, *self.client.notifications]

    @contextmanager
    def no_restart(self) -> Generator[None]:
        """While something runs that a restart would end: a terminal, a turn of another thread."""
        self._acts += 1
        try:
            yield
        finally:
            self._acts -= 1

    @asynccontextmanager
    async def _act(self, kind: str = "") -> AsyncGenerator[None]:
        await self.begin_act(kind)
        with self.no_restart(), anyio.fail_after(TURN_DEADLINE_S):
            yield

    async def turn(self, *, tool: bool = False) -> ModelRequest:
        """One turn, numbered; with a tool call if wanted. Returns its last model request."""
        self.turns += 1
        replies = [run(f"echo tool-output-{self.turns}")] if tool else []
        self.script.then(*replies, say(f"answer-{self.turns}."))
        await self.prompt(f"prompt-{self.turns}.")
        return self.model.turn_requests()[-1]

    async def prompt(self, text: str) -> dict[str, Any]:
        """Send a prompt and wait for the turn's end."""
        async with self._act("prompt"):
            after = len(self.client.messages)
            started = await self.client.request(
                "turn/start", threadId=self.thread_id, input=[{"type": "text", "text": text}]
            )
            done = await self.client.expect(
                lambda message: (
                    message.get("method") == "turn/completed"
                    and message["params"]["turn"]["id"] == started["turn"]["id"]
                ),
                after,
            )
        return dict(done["params"]["turn"])

    def asked(self, prompt: str) -> ModelRequest:
        """The one request that put the prompt to the model."""
        requests = [
            r for r in self.model.turn_requests() if pieces(r.input)[-1] == Piece("user", prompt)
        ]
        assert len(requests) == 1, f"{prompt} was put to the model {len(requests)} times"
        return requests[0]

    async def type(self, text: str) -> dict[str, Any]:
        """Type a slash command."""
        async with self._act():
            return dict(
                await self.client.request("commands/execute", threadId=self.thread_id, text=text)
            )

    async def until_codex_answers(self) -> None:
        """Until the successor of a Codex that was killed is there; what is refused meanwhile may be
        tried again.
        """
        while True:
            try:
                await self.client.request("thread/loaded/list")
            except RemoteError as error:
                if not error.data["retryable"]:
                    raise
            else:
                return

    async def snapshot(self) -> dict[str, Any]:
        """The thread's read model."""
        await self.begin_act("read")
        answer = await self.client.request("orchestration/snapshot", threadId=self.thread_id)
        return dict(answer["thread"])

    async def timeline(self, **params: Any) -> list[dict[str, Any]]:
        """The timeline, newest page."""
        await self.begin_act("read")
        answer = await self.client.request("timeline/read", threadId=self.thread_id, **params)
        return list(answer["entries"])

    async def seen(self) -> tuple[tuple[Any, ...], list[Line], list[Line]]:
        """The thread's counts, and its timeline opened and shut, in the words of `expectation`."""
        opened, shut = (
            await self.timeline(expand="all", limit=1000),
            await self.timeline(limit=1000),
        )
        return counts_of(await self.snapshot()), shown_lines(opened), shown_lines(shut)


def seen_turns(request: ModelRequest, turns: int) -> list[int]:
    """Which numbered turns the model was shown anything of."""
    return [
        number
        for number in range(1, turns + 1)
        if any(
            request.mentions(f"{word}-{number}{end}")
            for word, end in (("prompt", "."), ("answer", "."), ("tool-output", ""))
        )
        and (request.mentions(f"prompt-{number}.") or request.mentions(f"answer-{number}."))
    ]
