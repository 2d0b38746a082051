"""Notifies clients after a trim, whichever client made it: of the new context size, and in Codex's
terminal UI with a message.

Codex reports a context size with each model call, and does not know of trims, so a client's own
meter would keep the old size.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from anyio.abc import TaskGroup

from trimpoint.background import spawn
from trimpoint.core.commands.revert import UNDO_REVERT
from trimpoint.core.context.context_size import context_size, window_of
from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.spelling import Spelling, undo_text
from trimpoint.core.model.state import Operation, ThreadState
from trimpoint.core.model.usage import model_in
from trimpoint.core.views.outcome_text import operation_said
from trimpoint.gateway.commands.lone_messages import send_lone_message
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.clients import Client, Clients, Delivery
from trimpoint.gateway.session.codex_tui import (
    is_codex_tui,
    send_to_read_again,
)
from trimpoint.gateway.session.played_turns import PlayedTurns
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.threads.off_loop import must_weigh, size_of
from trimpoint.threads.registry import ThreadRegistry

USAGE = "thread/tokenUsage/updated"
# Without compactions, which Codex shows with an item of its own.
REVERT = "revert"
SAID = frozenset({"clear", "discard", "edit", REVERT, "undo", "redo", "pin", "unpin"})
TRIMS = SAID | {"compact"}


class TrimNotices:
    """Notifies clients after trims. Commands in `played` already show their own message."""

    def __init__(
        self,
        registry: ThreadRegistry,
        clients: Clients,
        identity: Identity,
        played: PlayedTurns,
        tasks: TaskGroup,
    ) -> None:
        self._tasks = tasks
        self._registry = registry
        self._clients = clients
        self._identity = identity
        self._played = played
        registry.subscribe(self._on_record)

    def wrap(self, handlers: dict[str, Handler]) -> dict[str, Handler]:
        """Returns the handlers, with `thread/resume` changed to notify the client after its
        answer.
        """
        resume = handlers["thread/resume"]

        async def handle(client_request: ClientRequest) -> Any:
            client_request.answer(await resume(client_request))
            thread_id = self._identity.thread_named_in(client_request)
            writer = self._registry.loaded(thread_id) if thread_id is not None else None
            if writer is not None:
                self._catch_up(client_request.client, writer.state)

        return {**handlers, "thread/resume": handle}

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        is_ready = any(
            isinstance(event, ev.OperationAdvanced) and event.phase == Phase.READY
            for event in record.events
        )
        writer = self._registry.loaded(thread_id) if is_ready else None
        operation = writer.state.operation if writer is not None else None
        if writer is None or operation is None or operation.kind not in TRIMS:
            return
        self._send_usage(writer.state)
        if operation.kind in SAID and not self._played.runs_in(thread_id):
            shown = [*filter(is_codex_tui, self._clients.subscribers(thread_id))]
            if operation.kind == REVERT:
                shown = send_to_read_again(shown)  # the others get the message when they reconnect
            send_lone_message(shown, thread_id, _notice(operation))

    def _catch_up(self, client: Client, state: ThreadState) -> None:
        """Notifies a client that has resumed a thread of the context size, and of a revert that it
        may not have seen.
        """
        if len(state.generations) > 1 and state.turns:
            self._tell_usage(state, lambda usage: Delivery(USAGE, usage).to([client]))
        if is_codex_tui(client) and (last := _newest_revert(state)) is not None:
            send_lone_message([client], state.id, _notice(last))

    def _send_usage(self, state: ThreadState) -> None:
        if state.turns:
            self._tell_usage(state, lambda usage: self._clients.broadcast(state.id, USAGE, usage))

    def _tell_usage(self, state: ThreadState, tell: Callable[[Callable[[], bytes]], None]) -> None:
        """Tells the size of the context at once, or soon if it has to be weighed first."""
        if must_weigh(state):
            spawn(self._tasks, self._tell_weighed, state, tell)
        else:
            used = context_size(state, self._registry.policy).used
            tell(partial(self._usage_message, state, used))

    async def _tell_weighed(
        self, state: ThreadState, tell: Callable[[Callable[[], bytes]], None]
    ) -> None:
        used = (await size_of(state, self._registry.policy)).used
        if must_weigh(state):  # else Codex itself has told its clients meanwhile
            tell(partial(self._usage_message, state, used))

    def _usage_message(self, state: ThreadState, used: int) -> bytes:
        params = _usage(state, used, self._window(state))
        return msgspec.json.encode({"method": USAGE, "params": params})

    def _window(self, state: ThreadState) -> int | None:
        return window_of(state.usage, model_in(state.settings), self._registry.policy)


def _notice(operation: Operation) -> str:
    """Returns what is said of an operation; a revert's names the command that takes it back."""
    said = operation_said(operation)
    if operation.kind != REVERT:
        return said
    return f"{said}\n{undo_text(UNDO_REVERT, Spelling.COLON)}"


def _newest_revert(state: ThreadState) -> Operation | None:
    """Returns the thread's last operation if it was a revert and no turn has begun since; otherwise
    None.
    """
    last = state.operation
    if last is None or last.kind != REVERT or last.phase != Phase.READY:
        return None
    has_gone_on = bool(state.turns) and state.turns[-1].started_at_ms > last.started_at_ms
    return None if has_gone_on else last


def _usage(state: ThreadState, used: int, window: int | None) -> dict[str, Any]:
    total = state.usage.thread
    return {
        "threadId": state.id,
        "turnId": state.turns[-1].id,
        "tokenUsage": {
            "total": _counts(
                total.total, total.input, total.cached_input, total.output, total.reasoning_output
            ),
            "last": _counts(used, used, 0, 0, 0),
            "modelContextWindow": window,
        },
    }


def _counts(total: int, sent: int, cached: int, output: int, reasoning: int) -> dict[str, int]:
    return {
        "totalTokens": total,
        "inputTokens": sent,
        "cachedInputTokens": cached,
        "cacheWriteInputTokens": 0,
        "outputTokens": output,
        "reasoningOutputTokens": reasoning,
    }
