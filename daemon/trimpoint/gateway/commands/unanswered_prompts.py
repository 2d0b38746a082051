"""Has the agent answer a prompt that came into its turn as that ended: Codex puts it into the
context and ends the turn without asking the model (measured: 0.144 and 0.163; 0.171 begins a turn).

A daemon that dies in that moment has the prompt in the context, and the next turn answers it.
"""

import structlog
from anyio.abc import TaskGroup

from trimpoint.background import spawn
from trimpoint.codex.appserver.errors import ProviderFailure
from trimpoint.core.decide.queueing import ends_unanswered
from trimpoint.core.model import events as ev
from trimpoint.gateway.commands.turn_starts import TurnStarts
from trimpoint.threads.errors import ThreadError
from trimpoint.threads.registry import ThreadRegistry

log = structlog.get_logger()


class UnansweredPrompts:
    """Starts a turn without a prompt behind each turn that ended so, in tasks of `tasks`."""

    def __init__(self, registry: ThreadRegistry, starts: TurnStarts, tasks: TaskGroup) -> None:
        self._registry = registry
        self._starts = starts
        self._tasks = tasks
        registry.subscribe(self._on_record)

    def _on_record(self, thread_id: str, record: ev.Record) -> None:
        # What another program's turn ended with, which was read back, is that program's business.
        ended = [
            one.turn_id
            for one in record.events
            if isinstance(one, ev.TurnCompleted) and one.items_heard
        ]
        writer = self._registry.loaded(thread_id) if ended else None
        if writer is not None and ends_unanswered(writer.state, ended[-1]):
            spawn(self._tasks, self._answer, thread_id)

    async def _answer(self, thread_id: str) -> None:
        try:
            if not await self._starts.start_automatic(thread_id):
                log.info("unanswered_prompt_gave_way", thread_id=thread_id)
        except (ProviderFailure, ThreadError) as error:
            log.warning("unanswered_prompt", thread_id=thread_id, detail=str(error))
        except Exception:  # the boundary of a task: a defect in it must not end the daemon
            log.exception("unanswered_prompt_broke", thread_id=thread_id)
