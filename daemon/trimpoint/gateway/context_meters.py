"""The context meter for clients: answered when asked, and told to those concerned whenever it changes."""

from functools import partial

import msgspec
from trimpoint_protocol.readmodel import ContextStatus

from trimpoint.codex.side_meters import SideMeters
from trimpoint.core import events as ev
from trimpoint.core.meter import Fill, context_status, meter_of, reported_fill, window_of
from trimpoint.core.usage import Usage
from trimpoint.engine.engine import Engine
from trimpoint.gateway.clients import Clients, Delivery

CONTEXT_UPDATED = "context/updated"
# What can move the meter; everything else, a long turn's items above all, does not make it be read.
_MOVES = (
    ev.UsageReported | ev.TurnCompleted | ev.TurnsReverted | ev.GenerationOpened | ev.SettingsChanged | ev.OperationStarted
    | ev.OperationAdvanced
)  # fmt: skip


class ContextMeters:
    """`on_record` listens to the engine."""

    def __init__(self, engine: Engine, clients: Clients, side: SideMeters) -> None:
        self._engine = engine
        self._clients = clients
        self._side = side
        self._told: dict[str, ContextStatus] = {}
        side.on_change = self._tell_of_side_thread

    async def status(self, thread_id: str) -> ContextStatus:
        """The meter of a thread, one that only Codex knows included.

        :raises ThreadNotFound: nobody has heard of it.
        :raises JournalRefuses: its journal cannot be opened.
        """
        if (side := self._side_status(thread_id)) is not None:
            return side
        writer = await self._engine.thread(thread_id)
        return context_status(writer.state, self._engine.policy)

    def on_record(self, thread_id: str, record: ev.Record) -> None:
        """Tell of a change in a thread of ours, when it is durable."""
        writer = self._engine.loaded(thread_id)
        if writer is not None and any(isinstance(event, _MOVES) for event in record.events):
            self._tell(context_status(writer.state, self._engine.policy))

    def _tell_of_side_thread(self, thread_id: str) -> None:
        if (status := self._side_status(thread_id)) is not None:
            self._tell(status)

    def _side_status(self, thread_id: str) -> ContextStatus | None:
        usage = self._side.usage_of(thread_id)
        is_ours = thread_id in self._engine.summaries or self._engine.loaded(thread_id) is not None
        return None if usage is None or is_ours else self._metered(thread_id, usage)

    def _metered(self, thread_id: str, usage: Usage) -> ContextStatus:
        policy = self._engine.policy
        fill = reported_fill(usage, window_of(usage, None, policy)) or Fill(0, is_estimate=True, is_unknown=True)
        return meter_of(thread_id, usage, None, fill, policy)

    def _tell(self, status: ContextStatus) -> None:
        if self._told.get(status.thread_id) == status:
            return
        self._told[status.thread_id] = status
        concerned = self._clients.concerned_with(status.thread_id, CONTEXT_UPDATED)
        line = {"method": CONTEXT_UPDATED, "params": status}
        Delivery(CONTEXT_UPDATED, partial(msgspec.json.encode, line)).to(concerned)
