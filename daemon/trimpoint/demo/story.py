"""Runs the demo, from the first prompt to the result of the check.

Always true: the demo claims only what it has checked. The shown inputs are the requests that the
model received, and the last line is computed from them.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, Protocol

import anyio
from rich.console import Console

from trimpoint.demo import show
from trimpoint.demo.model_input import Item, Row, compared, preamble_size
from trimpoint.demo.proof import Findings, Proof
from trimpoint.demo.script import (
    AFTER,
    AFTER_CLEAR,
    AFTER_COMPACT,
    AFTER_NEW,
    AFTER_UNDO,
    CLEAR,
    FILE,
    FORGOTTEN,
    LOOKED_UP,
    OPENING,
    PIN,
    PINNED,
    SHORT,
    SUMMARY,
    Line,
    looking_up,
)
from trimpoint.demo.stage import DemoEnvironment, tokens_of
from trimpoint.testkit import ModelRequest, Reply

TURN_DEADLINE_S = 30.0


class Pauses(NamedTuple):
    """Pauses, in seconds, that let a person see what happened."""

    after_turn_s: float = 0.0
    after_command_s: float = 0.0


IN_TERMINAL = Pauses(0.4, 2.0)
"""With these pauses, all of the demo takes less than 20 s."""
IN_PAGE = Pauses(2.0, 4.0)


class Caller(Protocol):
    """A client of the daemon."""

    async def request(self, method: str, /, **params: Any) -> Any:
        """Sends a request, and returns its result."""
        ...

    async def expect(
        self, wanted: Callable[[dict[str, Any]], bool], after: int = 0
    ) -> dict[str, Any]:
        """Waits for the first message for which `wanted` is true, and returns it."""
        ...


class DemoFailed(Exception):
    """Raised when a command of the demo did not complete; `message` is the daemon's answer."""

    def __init__(self, command: str, message: str) -> None:
        super().__init__(command, message)
        self.command = command
        self.message = message

    def __str__(self) -> str:
        return f"{self.command} did not complete: {self.message}"


class Step(NamedTuple):
    """A slash command with its answer, and the rows that compare the model's input before and after
    it.
    """

    command: str
    message: str
    rows: list[Row]


ShowTimeline = Callable[[str], Awaitable[None]]


class Story:
    """Runs the demo with a client. `show_timeline` prints the timeline of a thread."""

    def __init__(
        self,
        console: Console,
        stage: DemoEnvironment,
        client: Caller,
        show_timeline: ShowTimeline,
        pauses: Pauses,
    ) -> None:
        self._console = console
        self._stage = stage
        self._client = client
        self._show_timeline = show_timeline
        self._pauses = pauses
        self._thread_id = ""
        self._lines: list[Line] = []
        self._proof = Proof(stage.model.requests)
        self.steps: list[Step] = []

    async def play(self) -> Findings:
        """Pins, clears and takes that back, and shows on one screen what the model was sent.

        :raises DemoFailed: when a command did not complete.
        """
        await self.begin()
        said = f"The real Codex and a scripted model read and change {FILE} in five turns."
        show.opening(self._console, said)
        for line in SHORT:
            await self._turn(line, is_shown=False)
        sent, sizes = [self._sent()], [self._size()]
        await self._type(PIN, is_short=True)
        for command, line, kept in (
            (CLEAR, AFTER_CLEAR, [PINNED, *SHORT[-2:]]),
            ("/undo", AFTER_UNDO, [*self._lines, AFTER_CLEAR]),
        ):
            before = self._sent()
            message = await self._type(command, is_short=True)
            self._expect(kept)
            await self._turn(line)
            self.steps.append(Step(command, message, compared(before, self._sent(answered=False))))
            sent.append(self._sent())
            sizes.append(self._size())
            if command == CLEAR:
                self._proof.seen_again()
        show.turns_sent(self._console, compared(*sent), sizes, ("before", CLEAR, "/undo"))
        return self._checked()

    async def play_all(self) -> Findings:
        """Runs every command of the demo, each with what the model was sent before and after.

        :raises DemoFailed: when a command did not complete.
        """
        await self.begin()
        show.title(
            self._console,
            "A conversation",
            f"The real Codex, a scripted model, and a git worktree with {FILE}.",
        )
        for line in OPENING:
            await self._turn(line)
        show.title(self._console, PIN, "This turn stays, whatever is trimmed.")
        await self._type(PIN)
        await self._part(
            CLEAR,
            "Keep the last two turns, word for word, with their tool calls, and what is pinned.",
            AFTER_CLEAR,
            [PINNED, *OPENING[-2:]],
        )
        self._proof.seen_again()
        await self._part("/undo", "That took too much: have it back.", AFTER_UNDO, [*self._lines])
        await self._part(
            "/compact",
            "Let a summary stand for everything so far, beside what is pinned.",
            AFTER_COMPACT,
            [PINNED],
            summary=SUMMARY,
        )
        await self._look_up()
        conversation = self._thread_id
        await self._part(
            "/new",
            "Archive the thread; continue with the same files and an empty context.",
            AFTER_NEW,
        )
        show.title(
            self._console,
            "The timeline",
            "Nothing is lost: what left the context is still there, above each divider.",
        )
        await self._show_timeline(conversation)
        self._console.print()
        return self._checked()

    def _checked(self) -> Findings:
        findings = self._proof.findings(
            file_is_right=(self._stage.worktree / FILE).read_text() == AFTER
        )
        show.verdict(self._console, findings)
        return findings

    def _expect(self, kept: Sequence[Line], summary: str | None = None) -> None:
        pruned = [played for played in self._lines if played not in kept]
        self._proof.trimmed(pruned=pruned, kept=kept, summary=summary)

    def _sent(self, *, answered: bool = True) -> tuple[list[Item], str]:
        """Returns what the model was sent last, with its answer."""
        answer = self._lines[-1].answer if answered else ""
        return self._stage.model.turn_requests()[-1].input, answer

    def _size(self) -> int:
        return tokens_of(self._stage.model.turn_requests()[-1])

    async def begin(self) -> str:
        """Starts the thread, unless it was started, and returns its id."""
        if self._thread_id:
            return self._thread_id
        answer = await self._client.request(
            "thread/start",
            cwd=str(self._stage.worktree),
            approvalPolicy="never",
            sandbox="danger-full-access",
            trimpoint={"agentTools": True},
        )
        self._thread_id = str(answer["thread"]["id"])
        return self._thread_id

    async def _look_up(self) -> None:
        """Lets the agent find and read an answer that has left its context."""
        show.title(
            self._console,
            "search_history",
            "The summary has left something out: the agent looks it up, with a tool.",
        )
        self._proof.seen_again()
        self._proof.looked_up(FORGOTTEN)
        await self._turn(LOOKED_UP, looking_up())
        await anyio.sleep(self._pauses.after_command_s)

    async def _turn(
        self,
        line: Line,
        replies: Sequence[Reply | Callable[[ModelRequest], Reply]] = (),
        *,
        is_shown: bool = True,
    ) -> None:
        """Runs and prints one turn."""
        self._stage.script.then(*(replies or line.replies()))
        with anyio.fail_after(TURN_DEADLINE_S):
            turn = await self._client.request(
                "turn/start",
                threadId=self._thread_id,
                input=[{"type": "text", "text": line.prompt}],
            )
            await self._client.expect(
                lambda message: (
                    message.get("method") == "turn/completed"
                    and message["params"]["turn"]["id"] == turn["turn"]["id"]
                )
            )
        self._lines.append(line)
        if is_shown:
            show.turn(self._console, line)
            await anyio.sleep(self._pauses.after_turn_s)

    async def _part(
        self,
        command: str,
        explanation: str,
        line: Line,
        kept: Sequence[Line] = (),
        summary: str | None = None,
    ) -> None:
        """Runs a command and the next turn, and prints the change of the model's input."""
        show.title(self._console, command, explanation)
        before = self._sent()
        message = await self._type(command)
        self._expect(kept, summary)
        await self._turn(line)
        after = self._sent(answered=False)
        rows = compared(before, after)
        show.model_input(self._console, rows, preamble_size(after[0]))
        self.steps.append(Step(command, message, rows))
        await anyio.sleep(self._pauses.after_command_s)

    async def _type(self, command: str, *, is_short: bool = False) -> str:
        with anyio.fail_after(TURN_DEADLINE_S):
            outcome = await self._client.request(
                "commands/execute", threadId=self._thread_id, text=command
            )
        if outcome["status"] != "completed":
            raise DemoFailed(command, str(outcome["message"]))
        self._thread_id = outcome.get("newThreadId") or self._thread_id
        said = outcome["said"] if is_short else outcome["message"]
        show.command(self._console, command, str(said))
        return str(outcome["message"])
