"""The agent tools that the daemon answers itself, without a client: `get_messages` and
`discard_messages`, and the history tools of `history_answers` (docs/spec/context.md).

Always true: the messages that an agent chose are discarded when its turn has completed, and only
then does the daemon start a follow-up turn. A person's action has priority: their prompt replaces
the follow-up turn, and messages that their trim has pruned need not be discarded. Choices are kept
in memory only, because a daemon that dies with them has ended the turn too.
"""

from typing import Any

import anyio
import msgspec
import structlog
from anyio.abc import TaskGroup
from msgspec import Raw
from trimpoint_protocol.commands import DiscardContext
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.background import spawn
from trimpoint.codex.appserver.errors import ProviderFailure
from trimpoint.core.decide import agent_tools as tools
from trimpoint.core.evolve.compaction_attempts import AUTO
from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.usage import has_agent_tools
from trimpoint.core.views import history_tools
from trimpoint.gateway.commands.turn_starts import TurnStarts
from trimpoint.gateway.commands.views.history_answers import HistoryAnswers
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.operations.sessions import Sessions
from trimpoint.threads.errors import CommandRefused, ThreadError
from trimpoint.threads.ids import new_uuid7
from trimpoint.threads.off_loop import off_loop
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

log = structlog.get_logger()

TOOL_CALL = "item/tool/call"
NAMES = tools.NAMES | history_tools.NAMES
SPECIFICATIONS = (*tools.SPECIFICATIONS, *history_tools.SPECIFICATIONS)
OPTION = "trimpoint"
_BUSY = frozenset({Reason.TURN_IN_PROGRESS, Reason.REQUEST_PENDING})


class _Call(msgspec.Struct, rename="camel"):
    tool: str
    arguments: Any = None


class _Chosen(msgspec.Struct):
    """The messages to discard when the turn has ended; any turn, if `turn_id` is None. `follows_up`
    tells whether to start a turn afterwards.
    """

    names: list[str]
    turn_id: str | None
    follows_up: bool = True


class AgentTools:
    """Answers calls of the agent tools."""

    def __init__(
        self,
        registry: ThreadRegistry,
        sessions: Sessions,
        starts: TurnStarts,
        history: HistoryAnswers,
        tasks: TaskGroup,
    ) -> None:
        self._history = history
        self._registry = registry
        self._sessions = sessions
        self._starts = starts
        self._chosen: dict[str, _Chosen] = {}
        self._answering: set[bytes] = set()
        self._choosing = anyio.Lock()
        self._tasks = tasks
        registry.subscribe(self._on_record)
        registry.keep_in_memory(self.is_in_use)

    def is_in_use(self, thread_id: str) -> bool:
        """Returns whether messages of the thread wait to be discarded."""
        return thread_id in self._chosen

    def intercept(self, thread_id: str | None, request_id: Raw, method: str, params: Raw) -> bool:
        """Answers the request of Codex if it is a call of an agent tool, and returns whether it
        is.
        """
        writer = (
            self._registry.loaded(thread_id)
            if thread_id is not None and method == TOOL_CALL
            else None
        )
        if writer is None or not has_agent_tools(writer.state.settings):
            return False
        call = msgspec.json.decode(params, type=_Call)
        if call.tool not in NAMES:
            return False
        # Codex repeats its open requests whenever a thread is resumed (measured: 0.163).
        if bytes(request_id) not in self._answering:
            self._answering.add(bytes(request_id))
            spawn(self._tasks, self._answer, writer, Raw(bytes(request_id)), call)
        return True

    async def _answer(self, writer: ThreadWriter, request_id: Raw, call: _Call) -> None:
        try:
            answer = await self._result_of(writer, call)
            peer = self._sessions.link.peer
            if peer is not None:
                content = [{"type": "inputText", "text": answer.text}]
                peer.respond(request_id, {"contentItems": content, "success": answer.success})
        except ProviderFailure as error:
            log.info(
                "tool_not_answered", thread_id=writer.thread_id, tool=call.tool, detail=str(error)
            )
        finally:
            self._answering.discard(bytes(request_id))

    async def _result_of(self, writer: ThreadWriter, call: _Call) -> tools.Answer:
        try:
            if call.tool in history_tools.NAMES:
                return await self._history.answer(writer, call.tool, call.arguments)
            await self._sessions.complete_context(writer)
            async with self._choosing:  # two calls at once would not see each other's choice
                return await self._list_or_choose(writer, call)
        except Exception:  # an agent that gets no answer would wait for ever
            log.exception("tool_broke", thread_id=writer.thread_id, tool=call.tool)
            return tools.Answer(
                "The tool failed and nothing was discarded; the daemon's log has the details.",
                success=False,
            )

    async def _list_or_choose(self, writer: ThreadWriter, call: _Call) -> tools.Answer:
        chosen = self._chosen.get(writer.thread_id)
        names = chosen.names if chosen is not None else []
        policy = self._registry.policy.discard
        if call.tool == tools.GET_MESSAGES:
            return await off_loop(writer.state, lambda now: tools.listing(now, policy, names))
        choice = await off_loop(
            writer.state, lambda now: tools.choose(now, policy, names, call.arguments)
        )
        if choice.names:
            self._chosen[writer.thread_id] = _Chosen(
                [*names, *choice.names], writer.state.running_turn_id
            )
        return choice.answer

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        chosen = self._chosen.get(thread_id)
        for event in record.events if chosen is not None else ():
            if (
                isinstance(event, ev.TurnCompleted)
                and chosen is not None
                and chosen.turn_id in (None, event.turn_id)
            ):
                if event.status == "completed":
                    spawn(self._tasks, self._apply_guarded, thread_id, chosen)
                else:
                    log.info("choice_dropped", thread_id=thread_id, turn_status=event.status)
                    del self._chosen[thread_id]
                return

    async def _apply_guarded(self, thread_id: str, chosen: _Chosen) -> None:
        try:
            writer = await self._registry.thread(thread_id)
            outcome = await self._discard(writer, chosen)
            if outcome is None:
                return
            self._forget(thread_id, chosen)
            if chosen.follows_up:
                await self._follow_up(thread_id, outcome)
        except (ThreadError, ProviderFailure) as error:
            log.warning("choice_not_applied", thread_id=thread_id, detail=str(error))
            self._forget(thread_id, chosen)
        except Exception:  # a defect in discarding must not end the daemon
            log.exception("choice_broke", thread_id=thread_id)
            self._forget(thread_id, chosen)

    def _forget(self, thread_id: str, chosen: _Chosen) -> None:
        if self._chosen.get(thread_id) is chosen:
            del self._chosen[thread_id]

    async def _follow_up(self, thread_id: str, outcome: str) -> None:
        if not await self._starts.start_automatic(thread_id, tools.follow_up_text(outcome)):
            log.info("follow_up_gave_way", thread_id=thread_id)

    async def _discard(self, writer: ThreadWriter, chosen: _Chosen) -> str | None:
        """Discards the chosen messages, and returns a text about it for the agent, or None if a
        turn is running and the discard has to wait for its end.
        """
        policy, wanted = self._registry.policy.discard, chosen.names
        while names := await off_loop(
            writer.state, lambda now: tools.to_discard(now, policy, wanted)
        ):
            command = DiscardContext(
                command_id=new_uuid7(), thread_id=writer.thread_id, entry_ids=names, trigger="agent"
            )
            try:
                await self._sessions.dispatch(command)
            except CommandRefused as refused:
                if refused.reason in _BUSY:
                    chosen.turn_id, chosen.follows_up = (
                        None,
                        False,
                    )  # a person's turn came first; discard after it
                    return None
                if refused.reason is not Reason.ALREADY_IN_PROGRESS:
                    return str(refused)
                await self._wait_for_other(writer, chosen)
                continue
            await self._sessions.operation_ended(writer)
            operation = writer.state.operation
            return operation.message if operation is not None else ""
        return "What you chose has left your context already."

    async def _wait_for_other(self, writer: ThreadWriter, chosen: _Chosen) -> None:
        """Waits for another open operation. No follow-up turn starts if the thread was trimmed
        meanwhile, except by an automatic compaction.
        """
        operation = writer.state.open_operation
        start_automatic = (
            operation is not None
            and operation.kind == "compact"
            and operation.compaction_trigger == AUTO
        )
        await self._sessions.operation_ended(writer)
        ended = writer.state.operation
        if not start_automatic and ended is not None and ended.phase is Phase.READY:
            chosen.follows_up = False


def with_agent_tools(params: dict[str, Any], *, by_default: bool) -> tuple[dict[str, Any], bool]:
    """Returns the parameters of `thread/start` for Codex, and whether the agent gets trimpoint's
    tools beside the client's own.

    The option `params["trimpoint"]["agentTools"]` decides, or else the configuration. If only the
    configuration asks for the tools, and the client has a tool of the same name, trimpoint's tools
    are left out.

    :raises Refusal: when the option is invalid, or asks for the tools although the client has tools
        of the same names.
    """
    option = params.get(OPTION)
    rest = {name: value for name, value in params.items() if name != OPTION}
    asked = by_default if option is None else as_dict(option).get("agentTools", False)
    if (
        not isinstance(asked, bool)
        or not (option is None or isinstance(option, dict))
        or as_dict(option).keys() - {"agentTools"}
    ):
        raise Refusal(
            Reason.INVALID_PARAMS,
            "The member trimpoint of thread/start is {agentTools: true} or {agentTools: false}.",
        )
    own = as_list(params.get("dynamicTools"))
    clashing = sorted(NAMES & {str(as_dict(tool).get("name")) for tool in own})
    if not asked or (clashing and option is None):
        return rest, False
    if clashing:
        raise Refusal(
            Reason.INVALID_PARAMS,
            f"dynamicTools has {' and '.join(clashing)}, as trimpoint's own tools are called.",
        )
    return {**rest, "dynamicTools": [*own, *SPECIFICATIONS]}, True
