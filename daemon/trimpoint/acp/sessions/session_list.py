"""Lists sessions under the ids that editors know."""

from trimpoint_protocol.lenient import Json, as_dicts, as_text

from trimpoint.acp.connection.daemon import DaemonLink
from trimpoint.acp.connection.peer import INVALID_PARAMS, RpcError
from trimpoint.acp.translate.status import iso_time, title_of_row
from trimpoint.acp.wire.answers import ListedSession, SessionList

PAGE = 50


class SessionLister:
    """Lists and archives sessions. A thread and its successors are one session, with the first
    thread's id.
    """

    def __init__(self, link: DaemonLink) -> None:
        self._link = link

    async def page(self, cwd: str | None, cursor: str | None) -> SessionList:
        """Returns a page of sessions, the most recently used one first.

        :raises RpcError: when Codex refused.
        """
        wanted: Json = {"limit": PAGE, "sortKey": "updated_at"}
        wanted |= {
            name: value for name, value in (("cwd", cwd), ("cursor", cursor)) if value is not None
        }
        try:
            answer = await self._link.request("thread/list", **wanted)
        except RpcError as error:
            if cursor is None or "cursor" not in error.message:
                raise
            said = "The cursor is none that session/list has given."
            raise RpcError(INVALID_PARAMS, said) from None
        first = await self._first_ids()
        sessions = [
            ListedSession(
                session_id=first.get(as_text(row.get("id")), as_text(row.get("id"))),
                cwd=as_text(row.get("cwd")),
                title=title_of_row(row),
                updated_at=iso_time(row.get("updatedAt")),
            )
            for row in as_dicts(answer.get("data"))
        ]
        return SessionList(sessions=sessions, next_cursor=as_text(answer.get("nextCursor")) or None)

    async def archive(self, thread_id: str) -> None:
        """Archives a session; does nothing if it is archived or deleted already.

        :raises RpcError: when it is busy, or cannot be archived.
        """
        try:
            await self._link.request("thread/archive", threadId=thread_id)
        except RpcError as error:
            if (successor := as_text(error.member("newThreadId"))) != "":
                await self.archive(successor)
            elif error.member("reason") not in (None, "thread_not_found", "thread_archived"):
                raise

    async def is_shared(self, thread_id: str) -> bool:
        """Returns whether other clients are subscribed to a thread."""
        if not self._link.is_connected:
            return False
        try:
            snapshot = await self._link.request("orchestration/snapshot", threadId=thread_id)
        except RpcError:
            return False
        clients = snapshot.get("clients")
        return isinstance(clients, int) and clients > 1

    async def _first_ids(self) -> dict[str, str]:
        """Maps the id of the last thread in each chain of successors to the id of the first."""
        overview = await self._link.request("orchestration/snapshot")
        rows = as_dicts(overview.get("threads"))
        went_on = {
            as_text(row.get("id")): as_text(row.get("newThreadId"))
            for row in rows
            if row.get("archived")
        }
        before = {new: old for old, new in went_on.items() if new}
        first: dict[str, str] = {}
        for thread_id in before:
            origin, seen = thread_id, {thread_id}
            while origin in before and before[origin] not in seen:
                origin = before[origin]
                seen.add(origin)
            first[thread_id] = origin
        return first
