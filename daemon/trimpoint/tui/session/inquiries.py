"""Requests the data of other screens: the context, checkpoints, sessions, search results."""

import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol, TypeVar

import msgspec
from trimpoint_protocol import commands as c
from trimpoint_protocol.client import Client, new_command_id
from trimpoint_protocol.methods import (
    CommandOutcome,
    ContextInspection,
    ContextMessageList,
    SnapshotParams,
    ThreadParams,
)
from trimpoint_protocol.readmodel import ContextPin
from trimpoint_protocol.shapes.agent_sessions import SessionList, SessionOverview
from trimpoint_protocol.shapes.checkpoints import CheckpointList, RevertPreviewParams
from trimpoint_protocol.shapes.history import (
    HistoryExcerpt,
    HistoryHit,
    HistoryKind,
    HistoryReadParams,
    HistorySearchParams,
    HistorySearchResult,
)

from trimpoint.sessionlogs.homes import homes_to_send
from trimpoint.tui.model.prompt import typed_again
from trimpoint.tui.model.settings import Model, models_of
from trimpoint.tui.model.state import ChatState

T = TypeVar("T")
Scope = Literal["thread", "folder", "all"]
MAX_SESSIONS, MAX_FOUND = 300, 100

Removal = Literal["discard", "mask"]


class _Pins(msgspec.Struct, frozen=True):
    pins: list[ContextPin]


class _WithPins(msgspec.Struct, frozen=True):
    """A snapshot of a thread of which only the pins are decoded."""

    thread: _Pins


class Access(Protocol):
    """Access to the daemon."""

    async def attempt(self, act: Callable[[Client], Awaitable[T]]) -> T | None:
        """Runs `act` with the client; shows a notice and returns None if that is not possible."""
        ...


class Inquiries:
    """The requests. Each returns None or an empty value if the daemon cannot be reached or
    refused.
    """

    def __init__(self, state: ChatState, access: Access) -> None:
        self._state = state
        self._access = access

    async def inspect(self) -> tuple[ContextInspection, ContextMessageList] | None:
        """Returns the items of the model's next input, and which of them can be discarded."""
        thread_id = self._state.thread_id
        if thread_id is None:
            return None

        async def both(client: Client) -> tuple[ContextInspection, ContextMessageList]:
            params = ThreadParams(thread_id=thread_id)
            found = await client.request("context/inspect", params, result=ContextInspection)
            return found, await client.context_messages(thread_id)

        return await self._access.attempt(both)

    async def remove(self, removal: Removal, entry_ids: list[str]) -> bool:
        """Discards or masks entries of the agent's context; returns whether that succeeded."""
        kind = c.MaskContext if removal == "mask" else c.DiscardContext
        command = kind(
            command_id=new_command_id(), thread_id=self._thread_id(), entry_ids=entry_ids
        )
        return await self._access.attempt(lambda client: client.dispatch(command)) is not None

    async def pin(self, turn_id: str) -> bool:
        """Pins a turn, which keeps it in the context through every trim; returns whether that
        succeeded.
        """
        command = c.PinContext(
            command_id=new_command_id(), thread_id=self._thread_id(), turns=[turn_id]
        )
        return await self._access.attempt(lambda client: client.dispatch(command)) is not None

    async def unpin(self, turn_id: str) -> bool:
        """Unpins a turn; returns whether it was pinned."""
        thread_id = self._thread_id()

        async def both(client: Client) -> bool:
            params = SnapshotParams(thread_id=thread_id)
            found = await client.request("orchestration/snapshot", params, result=_WithPins)
            pins: list[str | int] = [one.id for one in found.thread.pins if one.turn_id == turn_id]
            command = c.UnpinContext(command_id=new_command_id(), thread_id=thread_id, pins=pins)
            await client.dispatch(command)
            return True

        return await self._access.attempt(both) is not None

    async def turns(self, limit: int) -> CheckpointList | None:
        """Returns the newest turns with the files that each changed."""
        return await self._access.attempt(
            lambda client: client.list_checkpoints(self._thread_id(), limit=limit)
        )

    async def preview(self, command: str) -> CommandOutcome | None:
        """Returns what a command would do."""
        thread_id = self._thread_id()
        return await self._access.attempt(
            lambda client: client.execute(command, thread_id, dry_run=True)
        )

    async def preview_revert(
        self, number: int, *, files: bool, force: bool = False
    ) -> CommandOutcome | None:
        """Returns what a revert to the end of a turn would do; 0 is before the first turn."""
        params = RevertPreviewParams(
            thread_id=self._thread_id(),
            turn_count=number,
            scope="files+context" if files else "context",
            force=force,
        )
        return await self._access.attempt(lambda client: client.preview_revert(params))

    async def models(self) -> list[Model]:
        """Returns the models that Codex offers."""
        found = await self._access.attempt(lambda client: client.request("model/list", {}))
        return models_of(found or {})

    async def sessions(self) -> list[SessionOverview]:
        """Returns the sessions of other agents, the most recently changed one first."""
        params = {"limit": MAX_SESSIONS, **homes_to_send(os.environ)}
        found = await self._access.attempt(
            lambda client: client.request("sessions/list", params, result=SessionList)
        )
        own = {thread.id for thread in self._state.threads}
        others = found.sessions if found is not None else []
        # Codex's log of a thread of ours is no session of another agent.
        return [one for one in others if one.agent != "trimpoint" and one.id not in own]

    async def search(
        self, query: str, scope: Scope, kinds: Sequence[HistoryKind] = ()
    ) -> list[HistoryHit]:
        """Returns the entries that match the query, the best first; of some kinds if given."""
        state = self._state
        params = HistorySearchParams(
            query=query,
            thread_id=state.thread_id if scope == "thread" else None,
            cwd=state.folder if scope == "folder" else None,
            scope=scope,
            kinds=list(kinds),
            limit=MAX_FOUND,
        )
        found = await self._access.attempt(
            lambda client: client.request("history/search", params, result=HistorySearchResult)
        )
        return found.hits if found is not None else []

    async def whole_text(self, hit: HistoryHit) -> str | None:
        """Returns the whole text of an entry that was found."""
        return await self._text_of(hit.thread_id, hit.entry_id, hit.turn_id)

    async def prompt_of(self, turn: int) -> str | None:
        """Returns the text with which a turn of the open thread begins."""
        text = await self._text_of(self._thread_id(), f"h{turn}.1", None)
        return None if text is None else typed_again(text)

    async def _text_of(self, thread_id: str, entry_id: str, turn_id: str | None) -> str | None:
        params = HistoryReadParams(thread_id=thread_id, entry_id=entry_id, turn_id=turn_id)
        found = await self._access.attempt(
            lambda client: client.request("history/read", params, result=HistoryExcerpt)
        )
        return found.entries[0].text if found is not None and found.entries else None

    def _thread_id(self) -> str:
        assert self._state.thread_id is not None
        return self._state.thread_id
