"""Follows one turn in the terminal: streams it, and asks the person the agent's questions."""

from collections.abc import Mapping
from typing import Any

import anyio
from anyio.abc import TaskGroup
from trimpoint_protocol.lenient import as_dict

from trimpoint.cli.connection.client import Client, ConnectionLost, Message, RemoteError
from trimpoint.cli.connection.refusals import without_login
from trimpoint.cli.exits import Exit
from trimpoint.cli.terminal import print_json
from trimpoint.cli.views.approvals import answer_question
from trimpoint.cli.views.live_view import LiveView
from trimpoint.cli.views.spinner import Spinner

_INTERRUPT_DEADLINE_S = 5.0
# These come often and show nothing, so the spinner need not make way for them.
_SILENT = frozenset(
    {
        "context/updated", "rawResponseItem/completed", "thread/status/changed",
        "thread/tokenUsage/updated", "account/rateLimits/updated", "turn/diff/updated",
        "turn/started", "orchestration/event",
    }
)  # fmt: skip


class RunningTurn:
    """A running turn and its open questions. `answer` is the last message of the agent so far."""

    def __init__(
        self,
        client: Client,
        view: LiveView,
        ids: tuple[str, str],
        *,
        as_json: bool,
        spinner: Spinner | None = None,
    ) -> None:
        self.answer = ""
        self._as_json = as_json
        self._client = client
        self._thread_id, self._turn_id = ids
        self._view = view
        self._spinner = spinner
        self._asking = anyio.Lock()
        self._open: dict[Any, anyio.CancelScope] = {}
        self._items: dict[str, Mapping[str, Any]] = {}

    async def follow(self) -> dict[str, Any]:
        """Shows the turn until it ends, and returns Codex's turn. If this coroutine is cancelled,
        the turn is interrupted.
        """
        try:
            return await self._follow()
        except anyio.get_cancelled_exc_class():
            await self._interrupt()
            raise
        finally:
            self._make_way()

    async def _follow(self) -> dict[str, Any]:
        async with anyio.create_task_group() as tasks:
            self._wait()
            async for message in self._client.stream():
                if message.get("method") not in _SILENT:
                    self._make_way()
                self._show(message)
                self._take(tasks, message)
                if (
                    message.get("method") == "turn/completed"
                    and message["params"]["turn"]["id"] == self._turn_id
                ):
                    tasks.cancel_scope.cancel()
                    return dict(message["params"]["turn"])
                self._wait()
        raise ConnectionLost

    async def _interrupt(self) -> None:
        """Interrupts the turn after Ctrl-C."""
        self._make_way()
        with anyio.CancelScope(shield=True), anyio.move_on_after(_INTERRUPT_DEADLINE_S):
            try:
                await self._client.request(
                    "turn/interrupt", threadId=self._thread_id, turnId=self._turn_id
                )
            except (RemoteError, ConnectionLost):
                return
            if not self._as_json:
                self._view.interrupted()

    def _wait(self) -> None:
        if self._spinner is not None and not self._view.line_is_open and not self._open:
            self._spinner.show()

    def _make_way(self) -> None:
        if self._spinner is not None:
            self._spinner.hide()

    def _show(self, message: Message) -> None:
        item = as_dict(as_dict(message.get("params")).get("item"))
        if item.get("id"):
            self._items[str(item["id"])] = item
        if message.get("method") == "item/completed" and item.get("type") == "agentMessage":
            self.answer = str(item.get("text") or "")
        if self._as_json:
            print_json(message)
        elif message.get("method") != "serverRequest/resolved":
            self._view.show(message)

    def _take(self, tasks: TaskGroup, message: Message) -> None:
        if "id" in message and "method" in message:
            self._open[message["id"]] = scope = anyio.CancelScope()
            tasks.start_soon(self._ask, message, scope)
        elif message.get("method") == "serverRequest/resolved":
            self._withdraw(message["params"].get("requestId"))

    def _withdraw(self, question_id: Any) -> None:
        """Closes a question that another client has answered or that Codex no longer asks."""
        if (scope := self._open.pop(question_id, None)) is not None:
            scope.cancel()

    async def _ask(self, question: Message, scope: anyio.CancelScope) -> None:
        with scope:
            async with self._asking:
                self._make_way()
                self._view.end_line()
                item = self._items.get(str(as_dict(question.get("params")).get("itemId")))
                await answer_question(self._client, question, item)
        if scope.cancelled_caught:
            self._view.note("  The question was answered elsewhere.")
        self._open.pop(question["id"], None)


def exit_code(turn: dict[str, Any]) -> int:
    """Returns exit code 0 for a completed turn, 1 for any other."""
    return Exit.DONE if turn.get("status") == "completed" else Exit.FAILED


async def check_login(client: Client) -> None:
    """Fails at once if Codex has no login.

    :raises CliError: when Codex's provider needs a login and there is none.
    """
    try:
        account = await client.request("account/read", refreshToken=False)
    except RemoteError:
        return  # a Codex that does not know the method; the turn itself will tell
    if (problem := without_login(account)) is not None:
        raise problem
