"""Begins a thread from the session of another program.

Always true: the ledger contains the turns that the model sees. Codex does not know them as turns,
so they are recorded as inherited, like those of a fork.
"""

from typing import Any, NamedTuple

import msgspec
from trimpoint_protocol.lenient import as_dict

from trimpoint.codex.history.rollout import TurnItems
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.operations.fillings import end_filling
from trimpoint.operations.history.adoption import turn_facts
from trimpoint.operations.provider.provider_threads import (
    ProviderThreads,
    thread_in,
)
from trimpoint.operations.provider.settings import initial_settings
from trimpoint.operations.routing.routes import Route, ThreadRole
from trimpoint.operations.sessions import Sessions
from trimpoint.operations.thread_starts import model_in_answer
from trimpoint.threads.ids import new_uuid7
from trimpoint.threads.registry import ThreadRegistry


class ImportedTurn(NamedTuple):
    """A turn of another program: its raw items, and pairs of role and text for the ledger."""

    items: list[bytes]
    said: list[tuple[str, str]]


class Imports:
    """Begins threads from the turns of other programs."""

    def __init__(
        self, registry: ThreadRegistry, threads: ProviderThreads, sessions: Sessions
    ) -> None:
        self._sessions = sessions
        self._registry = registry
        self._threads = threads

    async def begin(
        self, params: dict[str, Any], turns: list[ImportedTurn], launch: bytes = b""
    ) -> str:
        """Starts a thread with these turns as its context, and returns the thread's id. `launch` is
        the launch request of the client.

        :raises ProviderFailure: when Codex refused or has ended.
        :raises JournalRefuses: when the thread's journal cannot be written.
        """
        facts = [fact for turn in turns for fact in _facts(turn)]
        with self._threads.router.buffering():
            raw = await self._threads.start(params)
            thread = thread_in(raw)
            thread_id = str(thread["id"])
            model = model_in_answer(raw)
            settings = initial_settings(params, str(params["cwd"]), model, agent_tools=False)
            items = [item for turn in turns for item in turn.items]
            with self._sessions.filling(thread_id):
                writer = await self._registry.create(
                    _creation(thread, params, settings, facts, launch)
                )
                self._threads.use(thread_id, Route(thread_id, ThreadRole.CURRENT, 1))
                await self._threads.inject(thread_id, items)
                await end_filling(writer, *facts)
            self._threads.router.release(thread_id)
        return thread_id


def _creation(
    thread: dict[str, Any],
    params: dict[str, Any],
    settings: bytes,
    facts: list[ev.AnyEvent],
    launch: bytes,
) -> internal.CreateThread:
    turn_ids = tuple(fact.turn_id for fact in facts if isinstance(fact, ev.TurnStarted))
    return internal.CreateThread(
        thread_id=str(thread["id"]),
        cwd=str(params["cwd"]),
        origin="imported",
        settings=settings,
        provider_thread_id=str(thread["id"]),
        rollout_path=thread.get("path"),
        raw_events=True,
        worktree_id=str(params["cwd"]),
        branch_name=as_dict(thread.get("gitInfo")).get("branch"),
        inherited_turn_ids=turn_ids,
        launch=launch,
        to_be_filled=True,
    )


def _facts(turn: ImportedTurn) -> list[ev.AnyEvent]:
    turn_id = new_uuid7()
    shown = {
        "id": turn_id,
        "status": "completed",
        "items": [_item(role, text) for role, text in turn.said],
    }
    return list(turn_facts(shown, 1, TurnItems(turn.items, [])))


def _item(role: str, text: str) -> dict[str, Any]:
    item_id = new_uuid7()
    match role:
        case "user":
            part: dict[str, Any] = {"type": "text", "text": text, "text_elements": []}
            return {"type": "userMessage", "id": item_id, "content": [part]}
        case "assistant":
            return {"type": "agentMessage", "id": item_id, "text": text}
        case _:
            name, _, arguments = text.partition(" ")
            shown = _decoded(arguments)
            return {"type": "dynamicToolCall", "id": item_id, "tool": name, "arguments": shown}


def _decoded(arguments: str) -> Any:
    try:
        return msgspec.json.decode(arguments)
    except msgspec.MsgspecError:
        return arguments
