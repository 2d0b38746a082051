"""Handles Codex's methods `thread/queue/...` out of the thread's journal: the queue is the same for
all clients and on every version of Codex, and is kept over a restart.
"""

from collections.abc import Callable
from typing import Any

import anyio
import msgspec
from msgspec import Raw
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import when_idle
from trimpoint.core.model.queue import QueuedPrompt
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.methods.threads.thread_requests import MethodDeps, ThreadRequests
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.gateway.session.requests.ordered_request import LONG_DEADLINE_S
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.threads.errors import CommandRefused
from trimpoint.threads.ids import new_uuid7
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

_Params = dict[str, Any]


class QueueMethods:
    """Handles `thread/queue/...`. `handlers` maps method names to handlers."""

    def __init__(self, deps: MethodDeps, requests: ThreadRequests) -> None:
        self._registry: ThreadRegistry = deps.registry
        self._identity: Identity = deps.identity
        self._requests = requests
        self.handlers: dict[str, Handler] = {
            "thread/queue/add": self._handling(self._add),
            "thread/queue/list": self._handling(self._list),
            "thread/queue/update": self._handling(self._update),
            "thread/queue/delete": self._handling(self._delete),
            "thread/queue/reorder": self._handling(self._reorder),
            "thread/queue/start": self._handling(self._start),
        }

    def _handling(self, answer: Callable[[ThreadWriter, _Params], Any]) -> Handler:
        async def handle(client_request: ClientRequest) -> Any:
            thread_id = self._identity.thread_named_in(client_request)
            if thread_id is None:
                return await self._requests.forward(client_request)
            params = client_request.params()
            await client_request.let_others_on()
            return await answer(await self._registry.thread(thread_id), params)

        return handle

    async def _add(self, writer: ThreadWriter, params: _Params) -> Any:
        command = _command(
            wire.QueuePrompt,
            writer,
            input=_input(params),
            client_user_message_id=params.get("clientUserMessageId"),
        )
        record = (await self._registry.dispatch(command)).record
        [queued] = [event for event in record.events if isinstance(event, ev.PromptQueued)]
        submission = {
            "id": queued.prompt_id,
            "input": Raw(queued.input),
            "clientUserMessageId": queued.client_user_message_id,
        }
        return {"queuedSubmission": submission}

    async def _list(self, writer: ThreadWriter, params: _Params) -> Any:
        return {"data": [_submission(one) for one in writer.state.queue], "nextCursor": None}

    async def _update(self, writer: ThreadWriter, params: _Params) -> Any:
        prompt_id = params.get("queuedSubmissionId")
        command = _command(wire.EditQueuedPrompt, writer, prompt_id=prompt_id, input=_input(params))
        await self._registry.dispatch(command)
        [edited] = [one for one in writer.state.queue if one.id == prompt_id]
        return {"queuedSubmission": _submission(edited)}

    async def _delete(self, writer: ThreadWriter, params: _Params) -> Any:
        prompt_id = params.get("queuedSubmissionId")
        if all(one.id != prompt_id for one in writer.state.queue):
            return {"deleted": False}
        command = _command(wire.WithdrawQueuedPrompt, writer, prompt_id=prompt_id)
        await self._registry.dispatch(command)
        return {"deleted": True}

    async def _reorder(self, writer: ThreadWriter, params: _Params) -> Any:
        prompt_ids = params.get("queuedSubmissionIds")
        await self._registry.dispatch(_command(wire.ReorderQueue, writer, prompt_ids=prompt_ids))
        return {}

    async def _start(self, writer: ThreadWriter, params: _Params) -> Any:
        """Sends the next prompt, and returns its turn once Codex has accepted it."""
        refusal = when_idle(writer.state, "send a queued prompt to")
        # As every prompt, it waits for an operation.
        if refusal is not None and refusal.reason is not Reason.ALREADY_IN_PROGRESS:
            raise CommandRefused(refusal.reason, refusal.message, refusal.block)
        command = _command(wire.ReleaseQueue, writer, prompt_id=params.get("queuedSubmissionId"))
        outcome: list[ev.PromptSent | ev.QueueHeld] = []
        decided = anyio.Event()

        def look(thread_id: str, record: ev.Record) -> None:
            if thread_id != writer.thread_id:
                return
            outcome.extend(
                one for one in record.events if isinstance(one, ev.PromptSent | ev.QueueHeld)
            )
            if outcome or not writer.state.queue or writer.state.archived:
                decided.set()

        self._registry.subscribe(look)
        try:
            await self._registry.dispatch(command)
            with anyio.fail_after(LONG_DEADLINE_S):
                await decided.wait()
        finally:
            self._registry.unsubscribe(look)
        if not outcome:
            problem = "The prompt was not sent: it was taken out, or the thread was archived."
            raise Refusal(Reason.USAGE, problem, "Send it as a prompt if it is still wanted.")
        first = outcome[0]
        if isinstance(first, ev.QueueHeld):
            problem = f"The prompt was not accepted: {first.message}"
            raise Refusal(Reason.PROVIDER_UNAVAILABLE, problem, "Edit it, or take it out.")
        return {"turn": _begun(first.turn_id)}


def _command(
    kind: Callable[..., wire.AnyClientCommand], writer: ThreadWriter, **members: Any
) -> wire.AnyClientCommand:
    """Returns a command with these members, after a check of their types.

    :raises Refusal: when a member has another type.
    """
    command = kind(command_id=new_uuid7(), thread_id=writer.thread_id, **members)
    try:
        return msgspec.convert(msgspec.to_builtins(command), type(command))
    except msgspec.ValidationError as error:
        raise Refusal(Reason.INVALID_PARAMS, str(error)) from error


def _input(params: _Params) -> Any:
    given = params.get("input")
    return msgspec.json.decode(given) if isinstance(given, Raw) else given


def _submission(prompt: QueuedPrompt) -> dict[str, Any]:
    return {
        "id": prompt.id,
        "input": Raw(prompt.input),
        "clientUserMessageId": prompt.client_user_message_id,
    }


def _begun(turn_id: str) -> dict[str, Any]:
    times = {"startedAt": None, "completedAt": None, "durationMs": None}
    items: dict[str, Any] = {"items": [], "itemsView": "notLoaded"}
    return {"id": turn_id, **items, "status": "inProgress", "error": None, **times}
