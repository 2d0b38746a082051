"""Carries out commands of people on other machines, with the same methods, receipts and checks for
a busy thread as for a local client.

Always true: the person is read from the message's subject, to which the servers let nobody else
publish. A message that comes from a stream is never a command, whatever its subject.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import anyio
import msgspec
import structlog
from anyio.abc import TaskGroup
from trimpoint_protocol.client import Client, RemoteError
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import CancelResult, CommandOutcome

from trimpoint.background import spawn
from trimpoint.core.commands.registry import REGISTRY
from trimpoint.core.model import events as ev
from trimpoint.fleet.commands.requests import FleetAnswer, FleetCommand
from trimpoint.fleet.hub.connection import Hub
from trimpoint.fleet.hub.errors import HubFailed
from trimpoint.fleet.names import Names, inbox_of
from trimpoint.gateway.session.requests.dispatch import Call
from trimpoint.gateway.session.requests.errors import WireError
from trimpoint.threads.asked_by import ASKED_BY
from trimpoint.threads.errors import ThreadError
from trimpoint.threads.registry import ThreadRegistry

log = structlog.get_logger()

MAX_COMMANDS = 16
"""So many are under way at once; more are refused."""
METHODS = ("clear", "compact", "interrupt")
_LOCAL_DEADLINE_S = 60.0


class Methods(Protocol):
    """Calls trimpoint's own methods through the gateway."""

    async def call_extension(
        self, method: str, params: msgspec.Raw | None, call: Call
    ) -> bytes | WireError:
        """Calls a method and returns its result as JSON, or the error."""
        ...


Answer = Callable[[FleetAnswer], Awaitable[None]]
LocalClient = Callable[[], AbstractAsyncContextManager[Client]]


class RemotePerson:
    """The caller of methods for a remote person. It has no client session."""

    def __init__(self) -> None:
        self.followed: dict[str, int] = {}
        self.has_notices = False
        self.launch = b""
        self.folder: str | None = None

    def notify(self, method: str, params: Any) -> None:
        """Does nothing: progress is not sent to other machines."""

    def join(self, thread_id: str, *, raw_events: bool = False) -> None:
        """Does nothing: a remote person receives no notifications."""


class Answering:
    """Handles the commands for this host. `run` works while a connection lasts; `local_client`
    connects to this daemon.
    """

    def __init__(
        self,
        host: str,
        names: Names,
        methods: Methods,
        registry: ThreadRegistry,
        local_client: LocalClient,
    ) -> None:
        self._host = host
        self._names = names
        self._methods = methods
        self._registry = registry
        self._local_client = local_client
        self._under_way = 0

    async def run(self, hub: Hub, tasks: TaskGroup) -> None:
        """Subscribes to the host's commands. A command that has begun continues in `tasks` after
        the connection is lost.
        """

        async def on_message(subject: str, reply: str, data: bytes) -> None:
            spawn(tasks, self._take, hub, subject, reply, data)

        await hub.subscribe(self._names.commands(self._host, "*", "*"), on_message)

    async def _take(self, hub: Hub, subject: str, reply: str, data: bytes) -> None:
        *_, person, method = subject.split(".")
        if not reply.startswith(f"{inbox_of(person)}."):
            log.warning("fleet_command_ignored", person=person, detail="its answer goes elsewhere")
            return

        async def answer(answer: FleetAnswer) -> None:
            try:
                await hub.publish(reply, msgspec.json.encode(answer))
            except HubFailed as error:
                log.info("fleet_answer_lost", person=person, detail=error.detail)

        if self._under_way >= MAX_COMMANDS:
            problem = f"{MAX_COMMANDS} commands are under way; try again in a moment."
            await answer(_refused(Reason.OVERLOADED, problem))
            return
        self._under_way += 1
        try:
            await self._answer(person, method, data, answer)
        finally:
            self._under_way -= 1

    async def _answer(
        self,
        person: str,
        method: str,
        data: bytes,
        answer: Answer,
    ) -> None:
        try:
            command = msgspec.json.decode(data, type=FleetCommand)
        except msgspec.MsgspecError as error:
            await answer(_refused(Reason.INVALID_PARAMS, f"This is no command: {error}."))
            return
        if method not in METHODS:
            problem = f"{method!r} cannot be asked from another machine."
            await answer(_refused(Reason.NOT_SUPPORTED, problem))
            return
        log.info("fleet_command", person=person, method=method, thread_id=command.thread_id)
        await answer(FleetAnswer("begun"))
        await answer(await self._within(command.deadline_s, person, method, command, answer))

    async def _within(
        self, deadline_s: float, person: str, method: str, command: FleetCommand, answer: Answer
    ) -> FleetAnswer:
        """Carries the command out, and sends an `unfinished` answer if it takes longer than the
        sender waits.
        """
        ended = anyio.Event()
        last = _refused(Reason.INTERNAL, "The daemon failed; its log says why.")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_report_unfinished, deadline_s, ended, answer)
            try:
                last = await self._carry_out(person, method, command)
            except Exception:
                # A defect in a command from elsewhere must not end the daemon.
                log.exception("fleet_command_broke", person=person, method=method)
            ended.set()
        return last

    async def _carry_out(self, person: str, method: str, command: FleetCommand) -> FleetAnswer:
        token = ASKED_BY.set(person)
        try:
            if method == "interrupt":
                return await self._interrupt(person, command)
            return await self._execute(method, command)
        finally:
            ASKED_BY.reset(token)

    async def _execute(self, method: str, command: FleetCommand) -> FleetAnswer:
        if command.guidance.lstrip().startswith("--"):
            return _refused(Reason.USAGE, "The guidance begins with an option, not with words.")
        params = {
            "text": _typed(method, command),
            "threadId": command.thread_id,
            "commandId": command.command_id,
        }
        raw = msgspec.Raw(msgspec.json.encode(params))
        found = await self._methods.call_extension("commands/execute", raw, Call(RemotePerson()))
        if isinstance(found, WireError):
            reason = found.data.reason if found.data is not None else Reason.INTERNAL
            hint = found.data.hint if found.data is not None else ""
            return FleetAnswer("refused", reason=str(reason), message=found.message, hint=hint)
        return FleetAnswer("done", msgspec.json.decode(found, type=CommandOutcome))

    async def _interrupt(self, person: str, command: FleetCommand) -> FleetAnswer:
        thread_id = command.thread_id
        try:
            writer = await self._registry.thread(thread_id)
            running, operation = writer.state.running_turn_id, writer.state.open_operation
            if running is None:
                is_cancelled = operation is not None and await self._cancelled(operation.id)
                return _interrupted("The compaction was cancelled." if is_cancelled else "")
            writer.record_facts(ev.TurnInterruptRequested(running, person))
            await writer.flush()
            async with self._local_client() as client:
                params = {"threadId": thread_id, "turnId": running}
                await client.connection.request(
                    "turn/interrupt", params, deadline_s=_LOCAL_DEADLINE_S
                )
        except ThreadError as error:
            return _refused(error.reason, str(error))
        except RemoteError as error:
            return _refused(Reason.PROVIDER_UNAVAILABLE, str(error))
        return _interrupted("The turn was interrupted.")

    async def _cancelled(self, operation_id: str) -> bool:
        """Cancels an operation, as a local client does; returns False for one that cannot be
        cancelled.
        """
        raw = msgspec.Raw(msgspec.json.encode({"operationId": operation_id}))
        found = await self._methods.call_extension("commands/cancel", raw, Call(RemotePerson()))
        return isinstance(found, bytes) and msgspec.json.decode(found, type=CancelResult).cancelled


def _interrupted(said: str) -> FleetAnswer:
    """Returns the answer to an interrupt, which ended nothing if nothing is `said`."""
    outcome = CommandOutcome(
        handled=True, command="interrupt", status="completed" if said else "skipped",
        message=said or "No turn is running.",
    )  # fmt: skip
    return FleetAnswer("done", outcome)


async def _report_unfinished(deadline_s: float, ended: anyio.Event, answer: Answer) -> None:
    with anyio.move_on_after(deadline_s):
        await ended.wait()
        return
    problem = "It is still under way there, and continues."
    await answer(FleetAnswer("unfinished", message=problem))


def _typed(method: str, command: FleetCommand) -> str:
    """Returns the command as the slash command that a person would type."""
    guidance = " ".join(command.guidance.split())
    given = {"keep": command.keep, "guidance": guidance}
    return REGISTRY[method].typed(given)


def _refused(reason: Reason, message: str) -> FleetAnswer:
    return FleetAnswer("refused", reason=str(reason), message=message)
