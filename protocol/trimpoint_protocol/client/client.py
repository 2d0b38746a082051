"""A client of the daemon: the methods of the protocol as typed functions."""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple
from uuid import uuid4

import msgspec

from trimpoint_protocol import methods
from trimpoint_protocol.client.calls import Calls, use_profile
from trimpoint_protocol.client.connection import Connection, Stream, open_connection
from trimpoint_protocol.client.messages import Inbox, Message
from trimpoint_protocol.client.unix import connect_unix
from trimpoint_protocol.commands import AnyClientCommand
from trimpoint_protocol.locations import codex_home, default_socket_path
from trimpoint_protocol.readmodel import ContextStatus, EventEnvelope
from trimpoint_protocol.shapes import checkpoints

INITIALIZE_DEADLINE_S = 15.0
TurnInput = str | list[dict[str, Any]]


class ClientInfo(NamedTuple):
    """How a client identifies itself.

    `name` is the name of the program; Codex puts it into its user agent. `opt_out` lists
    notifications that the client does not want. About half of Codex's methods need the experimental
    API.
    """

    name: str
    version: str
    title: str = ""
    opt_out: tuple[str, ...] = ()
    experimental_api: bool = True


class ServerInfo(msgspec.Struct, frozen=True, rename="camel"):
    """The answer to `initialize`. Codex adds members from time to time; these are always
    present.
    """

    user_agent: str = ""
    codex_home: str = ""
    platform_family: str = ""
    platform_os: str = ""


class Client(Calls):
    """An initialized client, made by `connect` or `initialize`.

    Methods of the Codex app-server are called through `request`. Each method that trimpoint adds
    has a function, those of `Calls` included; docs/protocol.md describes them. All raise
    `RemoteError` when the daemon refuses, and `ConnectionLost` when the connection has ended.
    """

    def __init__(self, connection: Connection, server: ServerInfo) -> None:
        super().__init__(connection)
        self.server = server
        self.begin = connection.begin
        self.notify = connection.notify
        self.listen = connection.listen

    # --- threads and turns ----------------------------------------------------------------------

    async def start_thread(self, cwd: str | os.PathLike[str], **params: Any) -> str:
        """Starts a thread in a folder and returns its id; `params` are those of `thread/start`."""
        absolute = os.path.abspath(cwd)  # noqa: ASYNC240  it only joins names
        result = await self.request("thread/start", {"cwd": absolute, **params})
        return str(result["thread"]["id"])

    async def resume_thread(self, thread_id: str, **params: Any) -> dict[str, Any]:
        """Subscribes to a thread; returns the answer to `thread/resume`."""
        answer = await self.request("thread/resume", {"threadId": thread_id, **params})
        return dict(answer)

    @asynccontextmanager
    async def turn(
        self, thread_id: str, prompt: TurnInput, **params: Any
    ) -> "AsyncGenerator[Turn]":
        """Sends a prompt and yields the turn that it starts.

        A slash command that is sent as a prompt is a turn, too. Leaving the block does not
        interrupt the turn.

        :param params: further parameters of `turn/start`.
        """
        content = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else prompt
        with self.listen(thread_id=thread_id) as inbox:
            started = await self.request(
                "turn/start", {"threadId": thread_id, "input": content, **params}
            )
            yield Turn(str(started["turn"]["id"]), inbox)

    # --- slash commands -------------------------------------------------------------------------

    async def list_commands(self) -> list[methods.CommandInfo]:
        """Returns the slash commands, in the order of a menu."""
        return (await self.request("commands/list", result=methods.CommandList)).commands

    async def complete_command(self, text: str) -> list[methods.CommandInfo]:
        """Returns the commands that partly typed text can become."""
        params = methods.CompleteParams(text=text)
        listed = await self.request("commands/complete", params, result=methods.CommandList)
        return listed.commands

    async def execute(
        self,
        text: str,
        thread_id: str | None = None,
        *,
        command_id: str | None = None,
        dry_run: bool = False,
    ) -> methods.CommandOutcome:
        """Runs a slash command and returns its outcome when it has ended.

        A command that failed or was skipped raises no exception; the outcome says so. Meanwhile the
        notifications `commands/progress` are sent.

        :param command_id: the id of a command that is sent again after the connection was lost.
        """
        params = methods.ExecuteParams(
            text=text, thread_id=thread_id, command_id=command_id, dry_run=dry_run
        )
        return await self.request("commands/execute", params, result=methods.CommandOutcome)

    async def dispatch(self, command: AnyClientCommand) -> methods.DispatchResult:
        """Sends a command of `trimpoint_protocol.commands`; returns when it is durable."""
        params = methods.DispatchParams(command=command)
        return await self.request("orchestration/dispatch", params, result=methods.DispatchResult)

    # --- what is known of a thread --------------------------------------------------------------

    @asynccontextmanager
    async def follow(
        self, thread_id: str, after_sequence: int | None = None
    ) -> "AsyncGenerator[Following]":
        """Subscribes to the events of a thread while the block runs.

        :param after_sequence: the sequence number of the last known event, to receive only later
            events instead of a snapshot.
        """
        with self.listen(
            "orchestration/event", "orchestration/synchronized", thread_id=thread_id
        ) as inbox:
            params = methods.SubscribeParams(thread_id=thread_id, after_sequence=after_sequence)
            start = await self.request(
                "orchestration/subscribeThread", params, result=methods.SubscribeResult
            )
            try:
                yield Following(start, inbox)
            finally:
                if not self.connection.is_lost:
                    self.begin(
                        "orchestration/unsubscribeThread", methods.ThreadParams(thread_id=thread_id)
                    )

    async def subscribe_notices(self) -> methods.Empty:
        """Has the daemon send `orchestration/notice` when a thread has something to tell a person
        who looks elsewhere.
        """
        return await self.request("orchestration/subscribeNotices", result=methods.Empty)

    async def snapshot(self, thread_id: str | None = None) -> methods.SnapshotResult:
        """Returns the state of one thread, or an overview of all."""
        params = methods.SnapshotParams(thread_id=thread_id)
        return await self.request("orchestration/snapshot", params, result=methods.SnapshotResult)

    async def timeline(
        self,
        thread_id: str,
        *,
        expand: list[str] | Literal["all"] | None = None,
        cursor: str | None = None,
        before_entry: int | None = None,
        before_turn: int | None = None,
        limit: int | None = None,
    ) -> methods.TimelinePage:
        """Returns a page of a thread's history, the newest one without a `cursor`, `before_entry`
        and `before_turn`.
        """
        params = methods.TimelineParams(
            thread_id=thread_id,
            expand=expand,
            cursor=cursor,
            before_entry=before_entry,
            before_turn=before_turn,
            limit=limit,
        )
        return await self.request("timeline/read", params, result=methods.TimelinePage)

    async def export(
        self,
        thread_id: str,
        *,
        format: Literal["markdown", "json"] = "markdown",
        pruned: bool = False,
    ) -> str:
        """Returns a whole thread as a document."""
        params = methods.ExportParams(thread_id=thread_id, format=format, pruned=pruned)
        result = await self.request("session/export", params, result=methods.ExportResult)
        return result.content

    async def context_status(self, thread_id: str) -> ContextStatus:
        """Returns how full the agent's context is."""
        params = methods.ThreadParams(thread_id=thread_id)
        return await self.request("context/status", params, result=ContextStatus)

    async def stats(self, params: methods.StatsParams) -> methods.Stats:
        """Returns what the model calls of all threads took."""
        return await self.request("stats/read", params, result=methods.Stats)

    async def context_messages(self, thread_id: str) -> methods.ContextMessageList:
        """Returns the messages in the agent's context, and which of them can be discarded."""
        params = methods.ThreadParams(thread_id=thread_id)
        listed = methods.ContextMessageList
        return await self.request("context/messages/list", params, result=listed)

    # --- files ----------------------------------------------------------------------------------

    async def list_checkpoints(
        self, thread_id: str, *, limit: int = 100, changes: bool = True
    ) -> checkpoints.CheckpointList:
        """Returns the turns whose files can be restored."""
        params = checkpoints.CheckpointListParams(thread_id=thread_id, limit=limit, changes=changes)
        return await self.request("checkpoint/list", params, result=checkpoints.CheckpointList)

    async def diff(self, params: checkpoints.CheckpointDiffParams) -> checkpoints.CheckpointDiff:
        """Returns the difference of the files between two checkpoints."""
        return await self.request("checkpoint/diff", params, result=checkpoints.CheckpointDiff)

    async def file_at(self, thread_id: str, moment: str, path: str) -> checkpoints.FileContent:
        """Returns a file as it was at a moment, such as the number of a turn."""
        params = checkpoints.CheckpointFileParams(thread_id=thread_id, moment=moment, path=path)
        return await self.request("checkpoint/file", params, result=checkpoints.FileContent)

    async def preview_revert(
        self, params: checkpoints.RevertPreviewParams
    ) -> methods.CommandOutcome:
        """Returns what a revert would do."""
        return await self.request("checkpoint/preview", params, result=methods.CommandOutcome)

    async def checkpoint_storage(self, folder: str | None = None) -> checkpoints.CheckpointStorage:
        """Returns the disk space that checkpoints use, for one folder or for all."""
        params = checkpoints.StorageParams(folder=folder)
        return await self.request(
            "checkpoint/storage", params, result=checkpoints.CheckpointStorage
        )

    async def prune_checkpoints(self, params: checkpoints.PruneParams) -> checkpoints.PruneResult:
        """Deletes checkpoints of deleted threads, or lists them in a dry run."""
        return await self.request("checkpoint/prune", params, result=checkpoints.PruneResult)

    # --- the daemon -----------------------------------------------------------------------------

    async def status(self) -> methods.SidecarStatus:
        """Returns the status of the daemon and its Codex."""
        return await self.request("sidecar/status", result=methods.SidecarStatus)

    async def metrics(
        self, format: Literal["json", "prometheus"] = "json"
    ) -> methods.MetricsResult:
        """Returns the metrics of the daemon."""
        params = methods.MetricsParams(format=format)
        return await self.request("sidecar/metrics", params, result=methods.MetricsResult)

    async def login_url(self) -> methods.LoginUrl:
        """Returns an address that logs a browser in once."""
        return await self.request("sidecar/loginUrl", result=methods.LoginUrl)

    async def shutdown(self, *, when_idle: bool = False) -> bool:
        """Stops the daemon; running turns are interrupted. With `when_idle`, nothing is done and
        False is returned while anything is under way.
        """
        params = methods.ShutdownParams(when_idle=when_idle)
        answer = await self.request("sidecar/shutdown", params, result=methods.ShutdownResult)
        return answer.stopping


class Turn:
    """A running or completed turn. Iterating over it yields all messages about its thread until it
    has ended.
    """

    def __init__(self, turn_id: str, inbox: Inbox) -> None:
        self.id = turn_id
        self.completed: dict[str, Any] | None = None
        """The turn as `turn/completed` described it; None until then."""
        self._inbox = inbox

    async def __aiter__(self) -> AsyncIterator[Message]:
        while self.completed is None:
            message = await self._inbox.receive()
            if message.method == "turn/completed" and message.params["turn"]["id"] == self.id:
                self.completed = message.params["turn"]
            yield message

    async def text(self) -> AsyncIterator[str]:
        """Yields the agent's answer piece by piece, until the turn has ended."""
        async for message in self:
            if message.method == "item/agentMessage/delta":
                yield message.params["delta"]

    async def wait(self) -> dict[str, Any]:
        """Waits for the end of the turn and returns it; messages in between are dropped."""
        async for _ in self:
            pass
        assert self.completed is not None
        return self.completed


class Following:
    """The events of a thread. Iterating over it yields the missed events first, then new ones as
    they arrive.

    `start.thread` is the state before these events, unless a replay was requested and was possible.
    A `Synchronized` is yielded once, after the missed events.
    """

    def __init__(self, start: methods.SubscribeResult, inbox: Inbox) -> None:
        self.start = start
        self._inbox = inbox

    def __len__(self) -> int:
        """Returns the number of events that can be read without waiting."""
        return len(self._inbox)

    def __aiter__(self) -> "Following":
        return self

    async def __anext__(self) -> EventEnvelope | methods.Synchronized:
        message = await self._inbox.receive()
        if message.method == "orchestration/event":
            return message.read_as(EventEnvelope)
        return message.read_as(methods.Synchronized)


def new_command_id() -> str:
    """Returns a new id for a command. A command that is sent again with its id is not run twice."""
    return str(uuid4())


async def initialize(
    connection: Connection, info: ClientInfo, *, deadline_s: float = INITIALIZE_DEADLINE_S
) -> Client:
    """Initializes a client; must be called once for each connection, before any other request.

    :raises RemoteError: when the daemon refused.
    :raises DeadlinePassed: when the program at the socket does not answer.
    :raises ConnectionLost: when the connection has ended.
    """
    capabilities = {
        "experimentalApi": info.experimental_api,
        "optOutNotificationMethods": list(info.opt_out),
    }
    about = {"name": info.name, "title": info.title or info.name, "version": info.version}
    params = {"clientInfo": about, "capabilities": capabilities}
    server = await connection.request(
        "initialize", params, result=ServerInfo, deadline_s=deadline_s
    )
    connection.notify("initialized")
    return Client(connection, server)


@asynccontextmanager
async def connect(
    info: ClientInfo, socket: str | os.PathLike[str] | None = None
) -> AsyncGenerator[Client]:
    """Connects to the daemon and yields an initialized client.

    With `CODEX_HOME` in the environment its Codex is that home's, as for the commands in the same
    shell; otherwise the daemon's own.

    :param socket: the daemon's socket; by default `TRIMPOINT_SOCKET`, or else the default path.
    :raises OSError: when no daemon listens there.
    :raises RemoteError: when the daemon refused, for instance a home that does not exist.
    """
    path = Path(socket) if socket is not None else _socket_of(os.environ)
    async with await connect_unix(path) as stream, open_connection(stream) as connection:
        if os.environ.get("CODEX_HOME"):
            asked = methods.ProfileParams(codex_home=str(codex_home(os.environ)))
            await use_profile(connection, asked)
        yield await initialize(connection, info)


@asynccontextmanager
async def connect_stream(info: ClientInfo, stream: Stream) -> AsyncGenerator[Client]:
    """Yields a client as `connect` does, over an open byte stream such as the pipes of `trimpoint
    stdio`.
    """
    async with open_connection(stream) as connection:
        yield await initialize(connection, info)


def _socket_of(environ: Mapping[str, str]) -> Path:
    named = environ.get("TRIMPOINT_SOCKET")
    return Path(named) if named else default_socket_path(environ)
