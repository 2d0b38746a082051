"""A conversation through the daemon, and the inputs that the model received in it."""

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
    """The model's replies in one turn, and the items and timeline entries that they result in."""

    def __init__(self, prompt: str) -> None:
        self.replies: list[Reply] = []
        self.turn = ExpectedTurn([Piece("user", prompt)], [("user", prompt)])

    def thinks(self, sealed: str | None) -> Reply:
        """Returns a reasoning item, with or without encrypted content."""
        self.turn.pieces.append(Piece("reasoning", sealed or ""))
        self.turn.entries.append(("reasoning", "hm"))
        return reasoning("hm", encrypted_content=sealed)

    def says(self, text: str) -> Reply:
        """Returns a message, after which the turn may continue."""
        self.turn.pieces.append(Piece("assistant", text))
        self.turn.entries.append(("assistant", text))
        return say(text)

    def runs(self, word: str) -> Reply:
        """Returns a call of a command that prints `word`."""
        self.turn.pieces += [Piece("call", f"echo {word}"), Piece("output", word)]
        self.turn.entries.append(("commandExecution", f"echo {word}"))
        return run(f"echo {word}")

    def ends_badly(self, reply: Reply, half: str = "") -> None:
        """Makes the turn fail with this last reply, which says `half` of an answer."""
        self.replies.append(reply)
        self.turn.status, self.turn.half = "failed", half


class AnswersByPrompt(Script):
    """Answers by the prompt and not by order, so that it does not matter which prompts reach the
    model.
    """

    def __init__(self) -> None:
        super().__init__()
        self._scripted_turns: dict[str, list[Reply]] = {}

    def when(self, prompt: str, *replies: Reply) -> None:
        """Sets the replies to this prompt, of which each but the last is a tool call."""
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
    """A conversation. `prompts` and `answers` hold the texts by number of the turn, from 1."""

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
        """Restarts the daemon, if this conversation is one with restarts and no other act is
        running.
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
        """Returns all notifications of the conversation's clients, also those from before
        restarts.
        """
        return [*self._earlier, *self.client.notifications]

    @contextmanager
    def no_restart(self) -> Generator[None]:
        """Prevents restarts until the block ends, for a terminal or another thread's turn that a
        restart would end.
        """
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
        """Runs a numbered turn, with a tool call if `tool` is set, and returns its last model
        request.
        """
        self.turns += 1
        replies = [run(f"echo tool-output-{self.turns}")] if tool else []
        self.script.then(*replies, say(f"answer-{self.turns}."))
        await self.prompt(f"prompt-{self.turns}.")
        return self.model.turn_requests()[-1]

    async def prompt(self, text: str) -> dict[str, Any]:
        """Sends a prompt, waits for the turn's end, and returns the turn."""
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
        """Returns the only model request that ends with the prompt."""
        requests = [
            r for r in self.model.turn_requests() if pieces(r.input)[-1] == Piece("user", prompt)
        ]
        assert len(requests) == 1, f"{prompt} was put to the model {len(requests)} times"
        return requests[0]

    async def type(self, text: str) -> dict[str, Any]:
        """Types a slash command, and returns its outcome."""
        async with self._act():
            return dict(
                await self.client.request("commands/execute", threadId=self.thread_id, text=text)
            )

    async def complete(self, command: str) -> None:
        """Types a slash command that must complete."""
        outcome = await self.type(command)
        assert outcome["status"] == "completed", outcome

    async def cancel(self, command: str) -> dict[str, Any]:
        """Types a slash command, cancels it once the daemon tells of it, and returns its
        outcome.
        """
        outcome: dict[str, Any] = {}

        async def begin() -> None:
            outcome.update(await self.type(command))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(begin)
            step = await self.client.received("commands/progress")
            operation_id = step["params"]["operationId"]
            await self.client.request("commands/cancel", operationId=operation_id)
        return outcome

    async def inject(self, text: str) -> None:
        """Injects a message after the last turn."""
        await self.begin_act()
        item = {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": text}],
        }
        await self.client.request("thread/inject_items", threadId=self.thread_id, items=[item])

    async def fork(self, **params: Any) -> "Conversation":
        """Forks the thread at its end, or as `params` say, and returns the fork."""
        await self.begin_act()
        forked = await self.client.request(
            "thread/fork", threadId=self.thread_id, sandbox="danger-full-access", **params
        )
        assert forked["thread"]["forkedFromId"] == self.thread_id
        fork = Conversation(self.client, forked["thread"]["id"], self.model, self.script)
        fork.turns = self.turns
        return fork

    async def until_codex_answers(self) -> None:
        """Waits until Codex answers again after it was killed. Requests that are refused meanwhile
        are repeated.
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
        """Returns the thread's read model."""
        await self.begin_act("read")
        answer = await self.client.request("orchestration/snapshot", threadId=self.thread_id)
        return dict(answer["thread"])

    async def timeline(self, **params: Any) -> list[dict[str, Any]]:
        """Returns the newest page of the timeline."""
        await self.begin_act("read")
        answer = await self.client.request("timeline/read", threadId=self.thread_id, **params)
        return list(answer["entries"])

    async def seen(self) -> tuple[tuple[Any, ...], list[Line], list[Line]]:
        """Returns the thread's counts, and its timeline with all trims expanded and with none, in
        the form of `expectation`.
        """
        opened, shut = (
            await self.timeline(expand="all", limit=1000),
            await self.timeline(limit=1000),
        )
        return counts_of(await self.snapshot()), shown_lines(opened), shown_lines(shut)


def aborted(request: ModelRequest) -> bool:
    """Returns whether the model's input contains the notice of an interrupted turn."""
    return request.mentions("interrupted the previous turn")


def seen_turns(request: ModelRequest, turns: int) -> list[int]:
    """Returns the numbers of the turns that the model's input contains."""
    return [
        number
        for number in range(1, turns + 1)
        if any(
            request.mentions(f"{word}-{number}{end}")
            for word, end in (("prompt", "."), ("answer", "."), ("tool-output", ""))
        )
        and (request.mentions(f"prompt-{number}.") or request.mentions(f"answer-{number}."))
    ]
