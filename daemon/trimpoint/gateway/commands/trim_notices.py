"""What clients of Codex are sent after a trim, by whoever it was: the size of the context, and in
Codex's terminal UI a line.

Codex reports a size with each answer of the model and knows nothing of trims, so that a client's
meter would stay at what was before.
"""

from functools import partial
from typing import Any

import msgspec

from trimpoint.core.context.context_size import context_size, window_of
from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import model_in
from trimpoint.gateway.commands.lone_messages import say_to
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.codex_tui import is_codex_tui
from trimpoint.gateway.session.played_turns import PlayedTurns
from trimpoint.threads.registry import ThreadRegistry

USAGE = "thread/tokenUsage/updated"
# A compaction is shown by an item of Codex's own.
SAID = frozenset({"clear", "discard", "revert", "undo", "redo"})
TRIMS = SAID | {"compact"}


class TrimNotices:
    """Listens to `engine`; `played` are the commands that are shown as turns already."""

    def __init__(self, engine: ThreadRegistry, clients: Clients, played: PlayedTurns) -> None:
        self._engine = engine
        self._clients = clients
        self._played = played
        engine.subscribe(self._on_record)

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        is_ready = any(
            isinstance(event, ev.OperationAdvanced) and event.phase == Phase.READY
            for event in record.events
        )
        writer = self._engine.loaded(thread_id) if is_ready else None
        operation = writer.state.operation if writer is not None else None
        if writer is None or operation is None or operation.kind not in TRIMS:
            return
        self._send_usage(writer.state)
        if operation.kind in SAID and not self._played.runs_in(thread_id):
            say_to(
                filter(is_codex_tui, self._clients.subscribers(thread_id)),
                thread_id,
                operation.message,
            )

    def _send_usage(self, state: ThreadState) -> None:
        if state.turns:
            params = _usage(
                state, context_size(state, self._engine.policy).used, self._window(state)
            )
            self._clients.broadcast(
                state.id, USAGE, partial(msgspec.json.encode, {"method": USAGE, "params": params})
            )

    def _window(self, state: ThreadState) -> int | None:
        return window_of(state.usage, model_in(state.settings), self._engine.policy)


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
