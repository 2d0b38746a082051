"""Threads that begin: a client starts one, or opens one of Codex's that has no journal yet."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from trimpoint.codex.history.adoption import imported_turns, inherited_history, started_with
from trimpoint.core.context.context_size import overhead_tokens
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.lenient import as_dict, as_list
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import model_in
from trimpoint.operations.provider.provider_threads import (
    ProviderThreads,
    model_in_answer,
    thread_in,
)
from trimpoint.operations.provider.settings import (
    has_agent_tools,
    inherited_params,
    initial_settings,
    lasting,
)
from trimpoint.operations.routing.routes import Route, ThreadRole
from trimpoint.threads.registry import ThreadRegistry


async def begin_thread(
    engine: ThreadRegistry,
    threads: ProviderThreads,
    params: dict[str, Any],
    on_begun: Callable[[Raw, str], None],
    *,
    agent_tools: bool = False,
    launch: bytes = b"",
) -> None:
    """Calls `thread/start` for a client; `on_begun` is given Codex's answer as it came and the new
    thread's stable id. The thread keeps `launch`.

    It is called before anything that Codex says of the thread is passed on, as Codex itself
    answers first.

    The first provider thread's id is the stable id (docs/adr/0002). An ephemeral thread is
    Codex's alone: nothing of it is kept.

    :raises ProviderFailure: Codex refused or is gone.
    :raises JournalRefuses: the thread could not be written down.
    """
    with threads.inbound.buffering():
        raw = await threads.start(params)
        thread = thread_in(raw)
        thread_id = str(thread["id"])
        if not params.get("ephemeral"):
            settings = initial_settings(
                params, _cwd(thread, params), model_in_answer(raw), agent_tools=agent_tools
            )
            creation = _creation(thread, params, "started", settings, raw_events=True)
            await engine.create(msgspec.structs.replace(creation, launch=launch))
            threads.use(thread_id, Route(thread_id, ThreadRole.CURRENT, 1))
        on_begun(raw, thread_id)
        threads.inbound.release(thread_id)


async def adopt_thread(
    engine: ThreadRegistry,
    threads: ProviderThreads,
    raw: Raw,
    params: dict[str, Any],
    origin: str,
    parent: ThreadState | None = None,
    launch: bytes = b"",
) -> None:
    """Records a thread that Codex has loaded for us (resumed, forked), its turns with it.

    `raw` is Codex's answer. `parent` is the thread of ours that it was forked from, whose
    earlier generations are its past too, and whose launch it keeps; without one, `launch`.

    :raises JournalRefuses: it could not be written down.
    """
    thread = thread_in(raw)
    thread_id = str(thread["id"])
    has_tools = parent is not None and has_agent_tools(parent.settings)
    whole = (
        {**await started_with(thread), **lasting(params)}
        if parent is None
        else inherited_params(params, parent.settings)
    )
    settings = initial_settings(
        whole,
        _cwd(thread, params),
        model_in_answer(raw),
        agent_tools=has_tools,
        answer=msgspec.json.decode(raw),
    )
    inherited = inherited_history(parent, thread_id) if parent is not None else ()
    unknown_to_provider = tuple(
        fact.turn_id for fact in inherited if isinstance(fact, ev.TurnStarted)
    )
    creation = _creation(thread, params, origin, settings, raw_events=False)
    creation = msgspec.structs.replace(
        creation,
        inherited_turn_ids=unknown_to_provider,
        launch=launch if parent is None else parent.launch,
        **({} if parent is None else _measured_in(parent, settings)),
    )
    writer = await engine.create(creation)
    threads.use(thread_id, Route(thread_id, ThreadRole.CURRENT, writer.state.generation.number))
    if not writer.state.turns:
        writer.record_facts(
            *inherited, *await imported_turns(thread, as_list(thread.get("turns")), parent)
        )
        await writer.flush()


def _cwd(thread: dict[str, Any], params: dict[str, Any]) -> str:
    return str(thread.get("cwd") or params.get("cwd") or "")


def _measured_in(parent: ThreadState, settings: bytes) -> dict[str, Any]:
    """Returns what a fork knows of its context before Codex reports anything: the overhead and the
    window that were measured in its parent, where both have the same model.
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
        branch_name=as_dict(thread.get("gitInfo")).get("branch"),
        name=thread.get("name"),
    )
