"""The thread behind a session: starts it, resumes it, and changes to its successor."""

import asyncio
from typing import Any

import msgspec
from msgspec import Raw
from trimpoint_protocol.lenient import Json, as_dict, as_text

from trimpoint.acp.connection.daemon import DaemonLink, ThreadFollower
from trimpoint.acp.connection.peer import INVALID_PARAMS, RpcError

NOT_FOUND = -32002
_MAX_SUCCESSORS = 1000


class ThreadLink:
    """The thread of a session. `ids` are the thread and its successors, the oldest first; the last
    one is in use.
    """

    def __init__(
        self, link: DaemonLink, follower: ThreadFollower, config: dict[str, Any], roots: list[str]
    ) -> None:
        self.ids: list[str] = []
        self._link = link
        self._follower = follower
        self._config = config
        self._roots = roots
        self._epoch = 0
        self._resuming = asyncio.Lock()

    @property
    def id(self) -> str:
        """Returns the id of the thread in use."""
        return self.ids[-1]

    async def start(self, cwd: str) -> Json:
        """Starts a thread with Codex's configuration, and returns Codex's answer.

        :raises RpcError: when Codex refused.
        """

        def begun(raw: Raw) -> None:
            thread = as_dict(as_dict(msgspec.json.decode(raw)).get("thread"))
            self._use(as_text(thread.get("id")))

        answer = await self._link.request("thread/start", on_result=begun, cwd=cwd, **self._given())
        self._epoch = self._link.epoch
        return answer

    async def resume(self, thread_id: str) -> Json:
        """Subscribes to a thread, or to its successor, and returns the answer.

        :raises RpcError: when there is no such thread, or it is archived.
        """
        self.ids = [thread_id]
        return await self._resume()

    async def attached(self) -> Json | None:
        """Subscribes to the thread again if the connection was lost since, and returns the answer;
        None if the subscription is still valid.

        :raises RpcError: when the daemon cannot be reached, or no longer has the thread.
        """
        async with self._resuming:
            await self._link.connected()
            return None if self._epoch == self._link.epoch else await self._resume()

    async def resume_as(self, thread_id: str) -> None:
        """Changes to the successor `thread_id` and subscribes to it.

        :raises RpcError: when there is no such thread, or it is archived.
        """
        self.went_on_as(thread_id)
        await self._resume()

    def went_on_as(self, thread_id: str) -> None:
        """Uses the thread `thread_id` from now on."""
        if thread_id != self.id:
            self._link.unfollow(self.id, self._follower)
            self._use(thread_id)

    def close(self) -> None:
        """Unsubscribes the session from the messages of its threads."""
        for thread_id in self.ids:
            self._link.unfollow(thread_id, self._follower)

    async def _resume(self) -> Json:
        for _ in range(_MAX_SUCCESSORS):
            self._link.follow(self.id, self._follower)
            try:
                answer = await self._link.request(
                    "thread/resume", threadId=self.id, excludeTurns=True, **self._given()
                )
            except RpcError as error:
                successor = as_text(error.member("newThreadId"))
                if not successor or successor in self.ids:
                    self._link.unfollow(self.id, self._follower)
                    raise _in_session_terms(error, self.id) from None
                self.went_on_as(successor)
            else:
                self._epoch = self._link.epoch
                return answer
        raise RpcError(NOT_FOUND, f"The session {self.ids[0]} has too many successors.")

    def _use(self, thread_id: str) -> None:
        self.ids.append(thread_id)
        self._link.follow(thread_id, self._follower)

    def _given(self) -> dict[str, Any]:
        given: dict[str, Any] = {"config": self._config} if self._config else {}
        return {**given, "runtimeWorkspaceRoots": self._roots} if self._roots else given


def refused_prompt(error: RpcError, thread_id: str) -> RpcError:
    """Returns the refusal of a prompt; that a session is gone is said in an editor's terms."""
    is_gone = error.member("reason") in ("thread_archived", "thread_not_found")
    return _in_session_terms(error, thread_id) if is_gone else error


def _in_session_terms(error: RpcError, thread_id: str) -> RpcError:
    """Returns a refusal in the terms of an editor's sessions."""
    reason = error.member("reason")
    if reason == "thread_archived" or "is archived" in error.message:
        remedy = f"`trimpoint threads unarchive {thread_id}` brings it back."
        text = f"The session {thread_id} is archived. {remedy}"
        return RpcError(INVALID_PARAMS, text, {"reason": "thread_archived"})
    if reason in (None, "thread_not_found"):
        return RpcError(
            NOT_FOUND,
            f"There is no session {thread_id}.",
            {"reason": "thread_not_found", "codex": error.message},
        )
    return error
