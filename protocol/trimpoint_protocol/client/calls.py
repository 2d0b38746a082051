"""The methods that read and search: of history, context, sessions and fleet."""

from trimpoint_protocol import methods
from trimpoint_protocol.client.connection import Connection
from trimpoint_protocol.shapes import agent_sessions, fleet, history


class Calls:
    """The functions for these methods; `client.Client` has them too. docs/protocol.md describes
    each.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.request = connection.request

    async def cancel(self, operation_id: str) -> bool:
        """Cancels a compaction; returns False if it had ended, or its summary had arrived."""
        params = methods.CancelParams(operation_id=operation_id)
        result = await self.request("commands/cancel", params, result=methods.CancelResult)
        return result.cancelled

    async def inspect_context(self, thread_id: str) -> methods.ContextInspection:
        """Returns what the model is sent next, item by item."""
        params = methods.ThreadParams(thread_id=thread_id)
        return await self.request("context/inspect", params, result=methods.ContextInspection)

    async def advice(self, thread_id: str) -> methods.ContextAdvice:
        """Returns the trims that would help most, none while the context is not full."""
        params = methods.ThreadParams(thread_id=thread_id)
        return await self.request("context/advice", params, result=methods.ContextAdvice)

    async def search(self, params: history.HistorySearchParams) -> history.HistorySearchResult:
        """Finds what was said and done, also what the context no longer holds."""
        return await self.request("history/search", params, result=history.HistorySearchResult)

    async def read_history(self, params: history.HistoryReadParams) -> history.HistoryExcerpt:
        """Returns an entry with its whole text, and those around it."""
        return await self.request("history/read", params, result=history.HistoryExcerpt)

    async def list_sessions(
        self, params: agent_sessions.SessionListParams
    ) -> agent_sessions.SessionList:
        """Returns the sessions of all agents on the daemon's machine."""
        return await self.request("sessions/list", params, result=agent_sessions.SessionList)

    async def read_session(
        self, params: agent_sessions.SessionReadParams
    ) -> agent_sessions.SessionRecords:
        """Returns a page of a session in the unified form."""
        return await self.request("sessions/read", params, result=agent_sessions.SessionRecords)

    async def export_session(
        self, params: agent_sessions.SessionExportParams
    ) -> agent_sessions.SessionContent:
        """Returns a whole session of any agent as a document."""
        return await self.request("sessions/export", params, result=agent_sessions.SessionContent)

    async def continue_session(
        self, params: agent_sessions.SessionContinueParams
    ) -> agent_sessions.ContinuedSession:
        """Starts a thread that holds the live context of a session."""
        result = agent_sessions.ContinuedSession
        return await self.request("sessions/continue", params, result=result)

    async def fleet_overview(self) -> fleet.FleetOverview:
        """Returns the machines of the fleet and their threads; empty without a fleet."""
        return await self.request("fleet/overview", result=fleet.FleetOverview)

    async def fleet_events(self, params: fleet.FleetEventsParams) -> fleet.FleetEventsResult:
        """Returns the events of a thread of any machine."""
        return await self.request("fleet/events", params, result=fleet.FleetEventsResult)

    async def execute_elsewhere(self, params: fleet.FleetExecuteParams) -> methods.CommandOutcome:
        """Has a machine of the fleet clear, compact or interrupt one of its threads."""
        return await self.request("fleet/execute", params, result=methods.CommandOutcome)


async def use_profile(
    connection: Connection, params: methods.ProfileParams
) -> methods.ProfileChosen:
    """Requests a Codex of one's own configuration; must be called before `initialize`, over the
    Unix socket.
    """
    return await connection.request(methods.USE_PROFILE, params, result=methods.ProfileChosen)
