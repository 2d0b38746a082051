"""`trimpoint probe --prompt`: one turn, streamed, with the agent's questions put to the person who asked."""

import argparse
import os
from typing import Any

import anyio
from anyio.abc import TaskGroup
from rich.text import Text

from trimpoint.cli.connection.client import Client, ConnectionLost, Message, RemoteError
from trimpoint.cli.connection.connect import chosen_thread
from trimpoint.cli.exits import Exit, UsageError
from trimpoint.cli.terminal import print_json, print_line, stdout_console
from trimpoint.cli.views.approvals import answer_question
from trimpoint.cli.views.live_view import LiveView

_INTERRUPT_DEADLINE_S = 5.0
_ENDINGS = {"completed": Exit.DONE}


async def prompt(arguments: argparse.Namespace, client: Client) -> int:
    """Run one turn on a new thread or a known one; exit code 0 when it completed."""
    thread_id = await _thread(arguments, client)
    if not arguments.json:
        print_line(Text(f"thread {thread_id}", "dim"))
    text = [{"type": "text", "text": arguments.prompt}]
    started = await client.request("turn/start", threadId=thread_id, input=text)
    turn = _Turn(arguments, client, thread_id, str(started["turn"]["id"]))
    try:
        ended = await turn.follow()
    except anyio.get_cancelled_exc_class():
        await turn.interrupt()
        raise
    if arguments.json:
        print_json({"threadId": thread_id, "turn": ended})
    return _ENDINGS.get(str(ended.get("status")), Exit.FAILED)


async def _thread(arguments: argparse.Namespace, client: Client) -> str:
    if arguments.thread is not None:
        thread_id = (await chosen_thread(client, arguments.thread)).id
        await client.request("thread/resume", threadId=thread_id, excludeTurns=True)
        return thread_id
    return str((await client.request("thread/start", cwd=_folder(arguments.cwd)))["thread"]["id"])


def _folder(named: str | None) -> str:
    folder = os.path.abspath(named or os.getcwd())
    if not os.path.isdir(folder):
        raise UsageError(f"--cwd {folder}: there is no such folder.")
    return folder


class _Turn:
    """A turn under way, and the questions that are open in it."""

    def __init__(self, arguments: argparse.Namespace, client: Client, thread_id: str, turn_id: str) -> None:
        self._as_json = bool(arguments.json)
        self._client = client
        self._thread_id = thread_id
        self._turn_id = turn_id
        self._view = LiveView(stdout_console(), thread_id)
        self._asking = anyio.Lock()
        self._open: dict[Any, anyio.CancelScope] = {}

    async def follow(self) -> dict[str, Any]:
        """Show it to its end; returns Codex's turn."""
        async with anyio.create_task_group() as tasks:
            async for message in self._client.stream():
                self._show(message)
                self._on_message(tasks, message)
                if message.get("method") == "turn/completed" and message["params"]["turn"]["id"] == self._turn_id:
                    tasks.cancel_scope.cancel()
                    return dict(message["params"]["turn"])
        raise ConnectionLost

    async def interrupt(self) -> None:
        """The person has had enough: the agent is told, too."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(_INTERRUPT_DEADLINE_S):
            try:
                await self._client.request("turn/interrupt", threadId=self._thread_id, turnId=self._turn_id)
            except (RemoteError, ConnectionLost):
                return

    def _show(self, message: Message) -> None:
        if self._as_json:
            print_json(message)
        else:
            self._view.show(message)

    def _on_message(self, tasks: TaskGroup, message: Message) -> None:
        if "id" in message and "method" in message:
            tasks.start_soon(self._ask, message)
        elif message.get("method") == "serverRequest/resolved":
            self._withdraw(message["params"].get("requestId"))

    def _withdraw(self, question_id: Any) -> None:
        """Somebody else answered first, or Codex went on without."""
        if (scope := self._open.pop(question_id, None)) is not None:
            scope.cancel()

    async def _ask(self, question: Message) -> None:
        with anyio.CancelScope() as scope:
            self._open[question["id"]] = scope
            async with self._asking:
                self._view.end_line()
                await answer_question(self._client, question)
        self._open.pop(question["id"], None)
