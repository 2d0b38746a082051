"""A turn that was started by a prompt of this editor. Codex's notifications about it are translated
until it ends.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw
from trimpoint_protocol.lenient import Json, as_dict, as_text

from trimpoint.acp.connection.daemon import DaemonLink
from trimpoint.acp.connection.editor import Editor
from trimpoint.acp.connection.peer import RpcError
from trimpoint.acp.sessions.prompt import Prompt
from trimpoint.acp.translate.endings import Ended, ending_of
from trimpoint.acp.translate.turns import TurnTranslator, compaction_updates
from trimpoint.acp.wire.answers import PromptEnded
from trimpoint.acp.wire.content import Text
from trimpoint.acp.wire.updates import AgentMessageChunk, Update

FLUSH_S = 0.2
"""How often the output of a running command is shown."""


MAX_BYTES = 512 * 1024
"""A larger file is shown by its changed parts."""


def read_text(path: str) -> str | None:
    """Returns the text of a file; None if it is missing, too large, or not UTF-8."""
    try:
        if os.stat(path).st_size > MAX_BYTES:
            return None
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError):
        return None


class OwnTurn:
    """The running turn. `turn_id` is None until Codex has accepted the prompt. `on_end` is called
    once, before the prompts are answered.
    """

    def __init__(
        self, session_id: str, link: DaemonLink, editor: Editor, on_end: Callable[["OwnTurn"], None]
    ) -> None:
        self.thread_id = ""
        self.turn_id: str | None = None
        self.is_cancelled = False
        self._begun = asyncio.Event()
        self._ended = asyncio.Event()
        self.translator = TurnTranslator(editor.capabilities, read_text)
        self._session_id = session_id
        self._link = link
        self._editor = editor
        self._on_end = on_end
        self._prompts: list[Prompt] = []
        self._flush: asyncio.TimerHandle | None = None
        self._interrupts: asyncio.Task[None] | None = None
        self._withdrawal: asyncio.Task[None] | None = None

    def add(self, prompt: Prompt) -> None:
        """Adds a prompt that is answered when the turn ends."""
        self._prompts.append(prompt)
        prompt.became(self)

    async def begin(self, thread_id: str, turn_input: list[dict[str, Any]]) -> None:
        """Sends the first prompt to Codex.

        :raises RpcError: when Codex refused it; then there is no turn.
        """
        self.thread_id = thread_id
        await self._link.request(
            "turn/start", on_result=self._taken, threadId=thread_id, input=turn_input
        )

    async def steer(self, prompt: Prompt, turn_input: list[dict[str, Any]]) -> bool:
        """Sends another prompt into the running turn. Returns False if the turn had ended and the
        prompt was not sent.
        """
        await self._begun.wait()
        if self.is_cancelled:  # what comes behind a cancel is for the next turn
            await self._ended.wait()
        if self._ended.is_set():
            return False
        self.add(prompt)
        try:
            await self._link.request(
                "turn/steer",
                threadId=self.thread_id,
                expectedTurnId=self.turn_id,
                input=turn_input,
            )
        except RpcError:
            # It takes no more input: a review, or a turn that has just ended.
            self._prompts.remove(prompt)
            await self._ended.wait()
            return False
        return True

    def cancel(self) -> None:
        """Interrupts the turn, at once or as soon as Codex has accepted it. One that waits for a
        compaction is withdrawn.
        """
        self.is_cancelled = True
        create_task = asyncio.get_running_loop().create_task
        if self.turn_id is not None and self._interrupts is None:
            self._interrupts = create_task(self._interrupt(self.turn_id))
        elif self.turn_id is None and self._withdrawal is None and self.thread_id:
            self._withdrawal = create_task(self._interrupt(""))

    def on_notification(self, method: str, params: Json) -> None:
        """Handles a notification about the thread."""
        if self.turn_id is None or self._ended.is_set():
            return
        if method == "turn/completed":
            turn = as_dict(params.get("turn"))
            if turn.get("id") == self.turn_id:
                self._completed(turn)
        elif params.get("turnId") == self.turn_id:
            self.show(*self.translator.read(method, params))
            self._flush_later()

    def progress(self, step: Json) -> None:
        """Shows a progress message of a compaction that the turn waits for."""
        phase = as_text(step.get("phase"))
        status = {"ready": "completed", "failed": "failed", "cancelled": "cancelled"}.get(
            phase, "in_progress"
        )
        text = as_text(step.get("message"))
        self.show(
            *compaction_updates(
                self._editor.capabilities, as_text(step.get("operationId")), status, text
            )
        )

    def show(self, *updates: Update) -> None:
        """Sends updates of the turn, unless it has ended or all its prompts were cancelled."""
        if not self._ended.is_set() and not all(prompt.is_over for prompt in self._prompts):
            self._editor.update(self._session_id, *updates)

    def fail(self, error: RpcError) -> None:
        """Ends the turn with an error, because no more notifications about it will arrive."""
        if self._close():
            for prompt in self._prompts:
                prompt.fail(error)

    def _taken(self, raw: Raw) -> None:
        self.turn_id = as_text(as_dict(as_dict(msgspec.json.decode(raw)).get("turn")).get("id"))
        self._begun.set()
        if self.is_cancelled:
            self.cancel()

    async def _interrupt(self, turn_id: str) -> None:
        try:
            await self._link.request("turn/interrupt", threadId=self.thread_id, turnId=turn_id)
        except RpcError:
            return  # it has just ended; if not, the prompt's deadline answers it

    def _completed(self, turn: Json) -> None:
        ending = ending_of(turn, is_cancelled=self.is_cancelled)
        said = ending.said if isinstance(ending, Ended) else ""
        updates = self.translator.closed()
        if said:
            updates.append(
                AgentMessageChunk(content=Text(text=said), message_id=f"{self.turn_id}-end")
            )
        self.show(*updates)
        if not self._close():
            return
        for prompt in self._prompts:
            if isinstance(ending, Ended):
                prompt.end(PromptEnded(stop_reason=ending.stop_reason))
            else:
                prompt.fail(RpcError(ending.code, ending.message, {"reason": ending.reason}))

    def _close(self) -> bool:
        if self._ended.is_set():
            return False
        self.show(*self.translator.closed())
        self._ended.set()
        self._begun.set()
        if self._flush is not None:
            self._flush.cancel()
        self._on_end(self)
        return True

    def _flush_later(self) -> None:
        if self._flush is None and self.translator.has_pending_output:
            self._flush = asyncio.get_running_loop().call_later(FLUSH_S, self._flush_now)

    def _flush_now(self) -> None:
        self._flush = None
        self.show(*self.translator.flush_outputs())
