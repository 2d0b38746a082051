"""Begins threads: new ones, and threads of Codex that have no journal yet."""

from collections.abc import Callable
from typing import Any

import anyio.to_thread
import msgspec
from anyio.lowlevel import checkpoint
from msgspec import Raw
from trimpoint_protocol.lenient import as_dict

from trimpoint.codex.project_trust import TrustBefore
from trimpoint.core.commands.trust import newly_trusted
from trimpoint.core.context.context_size import overhead_tokens
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import has_agent_tools, model_in
from trimpoint.git.dot_git import branch_of
from trimpoint.operations.fillings import end_filling
from trimpoint.operations.history.adoption import (
    OpenedThread,
    imported_turns,
    inherited_history,
    started_with,
    with_injected,
)
from trimpoint.operations.provider.provider_threads import (
    ProviderThreads,
    thread_in,
)
from trimpoint.operations.provider.settings import (
    inherited_params,
    initial_settings,
    lasting,
)
from trimpoint.operations.routing.routes import Route, ThreadRole
from trimpoint.operations.routing.thread_messages import own_warning
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

# They take some milliseconds.
FACTS_AT_ONCE = 256


async def begin_thread(
    registry: ThreadRegistry,
    threads: ProviderThreads,
    params: dict[str, Any],
    on_begun: Callable[[Raw, str], None],
    *,
    agent_tools: bool = False,
    launch: bytes = b"",
) -> None:
    """Calls `thread/start` for a client. `on_begun` receives Codex's answer and the new thread's
    stable id; the thread keeps the launch request `launch`.

    `on_begun` is called before any notification about the thread is passed on, because Codex
    answers first. The stable id is the id of the first provider thread (docs/adr/0002). An
    ephemeral thread is not recorded.

    :raises ProviderFailure: when Codex refused or has ended.
    :raises JournalRefuses: when the journal cannot be written.
    """
    trusted = await threads.trust.before(params)
    with threads.router.buffering():
        raw = await threads.start(params, may_trust=True)
        thread = thread_in(raw)
        thread_id = str(thread["id"])
        if not params.get("ephemeral"):
            settings = initial_settings(
                params, _cwd(thread, params), model_in_answer(raw), agent_tools=agent_tools
            )
            creation = _creation(thread, params, "started", settings, raw_events=True)
            await registry.create(msgspec.structs.replace(creation, launch=launch))
            threads.use(thread_id, Route(thread_id, ThreadRole.CURRENT, 1))
        on_begun(raw, thread_id)
        threads.router.release(thread_id)
    await warn_of_trust(threads, thread_id, trusted)


async def warn_of_trust(
    threads: ProviderThreads, thread_id: str, trusted: TrustBefore | None
) -> None:
    """Warns a thread's clients of folders that Codex has begun to trust since `trusted`."""
    for folder in await threads.trust.added(trusted):
        threads.router.notify(thread_id, "warning", own_warning(newly_trusted(folder)))


async def adopt_thread(
    registry: ThreadRegistry,
    threads: ProviderThreads,
    opened: OpenedThread,
    params: dict[str, Any],
    origin: str,
    parent: ThreadState | None = None,
    launch: bytes = b"",
    items: list[bytes] | None = None,
) -> None:
    """Records a thread that Codex has resumed or forked for a client, together with its turns.
    With `items`, the thread is empty in Codex and is given these as its context.

    `opened` is Codex's answer. `parent` is the thread of ours that it was forked from; the fork
    inherits the parent's earlier generations and launch request. Without a parent, the launch
    request is `launch`.

    Hold the thread's lock meanwhile: it counts as loaded only when all its turns are recorded, so a
    command of another client waits for them.

    :raises JournalRefuses: when the journal cannot be written.
    """
    thread, thread_id = opened.thread, opened.id
    has_tools = parent is not None and has_agent_tools(parent.settings)
    whole = (
        {**await started_with(thread), **lasting(params)}
        if parent is None
        else inherited_params(params, parent.settings)
    )
    settings = initial_settings(
        whole,
        _cwd(thread, params),
        _model_in(opened.members),
        agent_tools=has_tools,
        answer=opened.members,
    )
    inherited: tuple[ev.AnyEvent, ...] = ()
    if parent is not None:
        inherited = await anyio.to_thread.run_sync(inherited_history, parent, thread_id)
    # Of a long thread these are many facts, so nothing is called for each.
    unknown_to_provider = [fact.turn_id for fact in inherited if type(fact) is ev.TurnStarted]
    creation = _creation(thread, params, origin, settings, raw_events=False)
    parent_id = creation.parent_thread_id if parent is None else parent.id
    creation = msgspec.structs.replace(
        creation,
        inherited_turn_ids=(*unknown_to_provider,),
        parent_thread_id=parent_id,
        launch=launch if parent is None else parent.launch,
        to_be_filled=items is not None,
        **({} if parent is None else _measured_in(parent, settings)),
    )
    writer = await registry.create(creation)
    if items is not None:
        await threads.inject(thread_id, items)
    if not writer.state.turns:
        await _record(
            writer, await anyio.to_thread.run_sync(_history, opened, inherited, parent, params)
        )
    if items is not None:
        await end_filling(writer)
    threads.use(thread_id, Route(thread_id, ThreadRole.CURRENT, writer.state.generation.number))


def _history(
    opened: OpenedThread,
    inherited: tuple[ev.AnyEvent, ...],
    parent: ThreadState | None,
    params: dict[str, Any],
) -> list[ev.AnyEvent]:
    facts = [*inherited, *imported_turns(opened, parent)]
    return facts if parent is None else [*with_injected(facts, parent, params)]


async def _record(writer: ThreadWriter, facts: list[ev.AnyEvent]) -> None:
    """Records the facts about a thread's turns in slices of whole turns, so that other clients need
    not wait. If the daemon is killed in between, the turns that are left are found when the thread
    is loaded.
    """
    part: list[ev.AnyEvent] = []
    for fact in facts:
        part.append(fact)
        if len(part) >= FACTS_AT_ONCE and isinstance(fact, ev.TurnCompleted):
            writer.record_facts(*part)
            await writer.flush()
            part.clear()
            await checkpoint()
    writer.record_facts(*part)
    await writer.flush()


def _cwd(thread: dict[str, Any], params: dict[str, Any]) -> str:
    return str(thread.get("cwd") or params.get("cwd") or "")


def _measured_in(parent: ThreadState, settings: bytes) -> dict[str, Any]:
    """Returns the overhead and context window that were measured in the parent of a fork, if both
    threads have the same model; otherwise empty.
    """
    if model_in(settings) != model_in(parent.settings):
        return {}
    return {
        "overhead_tokens": overhead_tokens(parent),
        "window_tokens": parent.usage.window,
    }


def _creation(
    thread: dict[str, Any],
    params: dict[str, Any],
    origin: str,
    settings: bytes,
    *,
    raw_events: bool,
) -> internal.CreateThread:
    cwd = _cwd(thread, params)
    return internal.CreateThread(
        thread_id=str(thread["id"]),
        cwd=cwd,
        origin=origin,
        settings=settings,
        provider_thread_id=str(thread["id"]),
        rollout_path=thread.get("path"),
        raw_events=raw_events,
        parent_thread_id=thread.get("forkedFromId"),
        project_id=thread.get("projectId"),
        worktree_id=cwd,
        # Codex tells it of a thread in which a turn has begun.
        branch_name=as_dict(thread.get("gitInfo")).get("branch") or branch_of(cwd),
        name=thread.get("name"),
    )


def model_in_answer(raw: Raw) -> str | None:
    """Returns the model in Codex's answer, or None."""
    return _model_in(msgspec.json.decode(raw))


def _model_in(answer: dict[str, Any]) -> str | None:
    model = answer.get("model")
    return str(model) if model else None
