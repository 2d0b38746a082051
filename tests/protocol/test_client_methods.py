"""The client library has a function for each method of trimpoint's own."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec
import pytest
from trimpoint_protocol.client import Client, Connection, ServerInfo, use_profile
from trimpoint_protocol.commands import ArchiveAndNew
from trimpoint_protocol.methods import METHODS, CancelResult, ProfileParams
from trimpoint_protocol.shapes import agent_sessions, checkpoints, fleet, history
from trimpoint_protocol.shapes.stats import StatsParams

T = "thread"


class Asked(Exception):
    """Raised by the fake connection in place of an answer."""


class FakeConnection:
    """Remembers the first request, and refuses it."""

    is_lost = False

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any, Any]] = []
        self.begin = self.notify = self.remember

    def remember(self, method: str, params: Any = None, result: Any = None) -> None:
        self.sent.append((method, params, result))

    async def request(self, method: str, params: Any = None, *, result: Any = None) -> Any:
        self.remember(method, params, result)
        raise Asked

    def listen(self, *methods: str, **filters: Any) -> Any:
        return _Nothing()


class _Nothing:
    def __enter__(self) -> "_Nothing":
        return self

    def __exit__(self, *raised: object) -> None:
        """Does nothing."""


async def follow(client: Client) -> None:
    async with client.follow(T):
        """Nothing is followed: the subscription is refused."""


async def unfollow(client: Client) -> None:
    connection = cast(Any, client.connection)

    async def answer(*_: Any, **__: Any) -> None:
        """Answers the subscription."""

    client.request = answer  # type: ignore[assignment, method-assign]
    async with client.follow(T):
        """Leaving the block unsubscribes."""
    assert connection.sent


CALLS: dict[str, Callable[[Client], Awaitable[Any]]] = {
    "commands/list": lambda client: client.list_commands(),
    "commands/complete": lambda client: client.complete_command("/"),
    "commands/execute": lambda client: client.execute("/help"),
    "commands/cancel": lambda client: client.cancel("operation"),
    "orchestration/dispatch": lambda client: client.dispatch(
        ArchiveAndNew(command_id="c", thread_id=T)
    ),
    "orchestration/subscribeThread": follow,
    "orchestration/unsubscribeThread": unfollow,
    "orchestration/subscribeNotices": lambda client: client.subscribe_notices(),
    "orchestration/snapshot": lambda client: client.snapshot(T),
    "context/messages/list": lambda client: client.context_messages(T),
    "context/inspect": lambda client: client.inspect_context(T),
    "context/advice": lambda client: client.advice(T),
    "timeline/read": lambda client: client.timeline(T),
    "history/search": lambda client: client.search(history.HistorySearchParams(query="x")),
    "history/read": lambda client: client.read_history(
        history.HistoryReadParams(thread_id=T, entry_id="h1.1")
    ),
    "session/export": lambda client: client.export(T),
    "context/status": lambda client: client.context_status(T),
    "stats/read": lambda client: client.stats(StatsParams()),
    "checkpoint/list": lambda client: client.list_checkpoints(T),
    "checkpoint/diff": lambda client: client.diff(checkpoints.CheckpointDiffParams(thread_id=T)),
    "checkpoint/file": lambda client: client.file_at(T, "1", "a"),
    "checkpoint/preview": lambda client: client.preview_revert(
        checkpoints.RevertPreviewParams(thread_id=T)
    ),
    "checkpoint/storage": lambda client: client.checkpoint_storage(),
    "checkpoint/prune": lambda client: client.prune_checkpoints(checkpoints.PruneParams()),
    "sidecar/useProfile": lambda client: use_profile(client.connection, ProfileParams()),
    "sessions/list": lambda client: client.list_sessions(agent_sessions.SessionListParams()),
    "sessions/read": lambda client: client.read_session(
        agent_sessions.SessionReadParams(session_id="s")
    ),
    "sessions/export": lambda client: client.export_session(
        agent_sessions.SessionExportParams(session_id="s")
    ),
    "sessions/continue": lambda client: client.continue_session(
        agent_sessions.SessionContinueParams(session_id="s")
    ),
    "fleet/overview": lambda client: client.fleet_overview(),
    "fleet/events": lambda client: client.fleet_events(
        fleet.FleetEventsParams(host="h", thread_id=T)
    ),
    "fleet/execute": lambda client: client.execute_elsewhere(
        fleet.FleetExecuteParams(host="h", thread_id=T, command="clear", command_id="c")
    ),
    "sidecar/status": lambda client: client.status(),
    "sidecar/metrics": lambda client: client.metrics(),
    "sidecar/loginUrl": lambda client: client.login_url(),
    "sidecar/shutdown": lambda client: client.shutdown(),
}


def test_no_method_is_forgotten() -> None:
    assert set(CALLS) == set(METHODS)


@pytest.mark.parametrize("method", METHODS)
async def test_each_method_has_a_function_with_its_parameters_and_result(method: str) -> None:
    connection = FakeConnection()
    client = Client(cast(Connection, connection), ServerInfo())
    if method.endswith("unsubscribeThread"):
        await CALLS[method](client)
    else:
        with pytest.raises(Asked):
            await CALLS[method](client)
    [(sent, params, result)] = connection.sent
    assert sent == method
    encoded = msgspec.json.encode(params if params is not None else {})
    msgspec.json.decode(encoded, type=METHODS[method].params)
    assert result is METHODS[method].result or method.endswith("unsubscribeThread")


async def test_a_cancel_tells_whether_it_came_in_time() -> None:
    client = Client(cast(Connection, FakeConnection()), ServerInfo())

    async def answer(*_: Any, **__: Any) -> CancelResult:
        return CancelResult(cancelled=True)

    client.request = answer  # type: ignore[assignment, method-assign]
    assert await client.cancel("operation")
