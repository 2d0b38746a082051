"""Carries over to a new provider thread the properties that are not in its context
(docs/spec/sessions.md, "Carried over").

Each property is carried over if this Codex has a method for it. The command's message names those
that could not be carried over.
"""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

import anyio
import msgspec
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.codex.appserver.errors import ProviderError, ProviderFailure
from trimpoint.codex.appserver.supervisor import CodexLink, is_missing_error, lacks_method
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import counted
from trimpoint.core.model.state import Generation, ThreadState
from trimpoint.operations.provider.names import give_name
from trimpoint.operations.provider.settings import memory_mode, update_params, with_unconfirmed
from trimpoint.operations.routing.name_reports import NameReports
from trimpoint.threads.writing.writer import ThreadWriter

# Codex's default page of queued prompts is smaller than this; a person queues fewer prompts.
MAX_QUEUED = 100
METADATA_MEMBERS = ("gitInfo", "projectId", "daybreakEnabled")
FORKED_MEMBERS = ("projectId", "daybreakEnabled")
ATTACHMENT_MEMBERS = ("attachmentType", "identityKey", "payload")
QUEUED_MEMBERS = ("input", "clientUserMessageId", "responsesapiClientMetadata")


async def inherit_state(
    link: CodexLink,
    names: NameReports,
    writer: ThreadWriter,
    old_id: str | None,
    new_id: str,
) -> list[str]:
    """Carries over settings, name, goal, metadata and attachments. Returns the names of those that
    Codex refused. May be repeated; what must happen only once is in `move_queue`.

    :raises ProviderFailure: when Codex has ended or does not answer; a refusal of a single property
        does not raise.
    """
    steps: list[tuple[str, Callable[[], Awaitable[None]]]] = [
        ("settings", lambda: _settings(link, writer, new_id)),
        ("memory mode", lambda: _memory_mode(link, writer.state, new_id)),
        ("name", lambda: give_name(link, names, writer, new_id)),
    ]
    if old_id is not None:
        steps.append(("goal", lambda: _goal(link, old_id, new_id)))
        steps.append(
            ("Git information, project and section", lambda: _metadata(link, old_id, new_id))
        )
        steps.append(("attachments", lambda: _attachments(link, old_id, new_id)))
    refused: dict[str, ProviderFailure] = {}

    async def carry(what: str, step: Callable[[], Awaitable[None]]) -> None:
        try:
            await step()
        except ProviderFailure as error:
            refused[what] = error

    async with anyio.create_task_group() as tasks:
        for what, step in steps:
            tasks.start_soon(carry, what, step)
    again = [(what, step) for what, step in steps if _finds_none(refused.get(what))]
    if again:
        with _nothing_to_carry():
            await _store(link, new_id)
    for what, step in again:
        del refused[what]
        await carry(what, step)
    for error in refused.values():
        if not isinstance(error, ProviderError):
            raise error
    return [what for what, error in refused.items() if not _has_nothing_to_carry(error)]


async def inherit_as_fork(link: CodexLink, old_id: str, new_id: str) -> dict[str, Any]:
    """Carries over what Codex gives to a fork beside its context and name (measured: 0.163, 0.171),
    and returns the members of the thread that are set by it.
    """
    given: dict[str, Any] = {}
    with _nothing_to_carry():
        await _store(link, new_id)
    with _nothing_to_carry():
        given = await _set_metadata(link, await _read(link, old_id), new_id, FORKED_MEMBERS)
    with _nothing_to_carry():
        await _attachments(link, old_id, new_id)
    return given


@contextmanager
def _nothing_to_carry() -> Generator[None]:
    """Suppresses the refusal of a Codex that has no such property."""
    try:
        yield
    except ProviderFailure as error:
        if not _has_nothing_to_carry(error):
            raise


def _finds_none(error: ProviderFailure | None) -> bool:
    return error is not None and is_missing_error(error)


def _has_nothing_to_carry(error: ProviderFailure) -> bool:
    return (
        lacks_method(error)
        or is_missing_error(error)
        or (isinstance(error, ProviderError) and _is_unavailable(error))
    )


def _is_unavailable(error: ProviderError) -> bool:
    """Returns whether the feature is switched off in this Codex, so that there is nothing to carry
    over.
    """
    return any(
        phrase in error.message
        for phrase in ("disabled", "not enabled", "not supported", "requires experimental")
    )


async def _settings(link: CodexLink, writer: ThreadWriter, new_id: str) -> None:
    params = update_params(writer.state.settings)
    if params:
        writer.record_facts(ev.SettingsChanged(with_unconfirmed(writer.state.settings, {})))
        await link.request("thread/settings/update", {**params, "threadId": new_id})


async def _memory_mode(link: CodexLink, state: ThreadState, new_id: str) -> None:
    mode = memory_mode(state.settings)
    if mode is not None:
        await link.request("thread/memoryMode/set", {"threadId": new_id, "mode": mode})


async def _goal(link: CodexLink, old_id: str, new_id: str) -> None:
    goal: dict[str, Any] | None = _decode(
        await link.request("thread/goal/get", {"threadId": old_id})
    ).get("goal")
    if not goal:
        return
    kept = {
        name: goal[name]
        for name in ("objective", "status", "tokenBudget")
        if goal.get(name) is not None
    }
    await link.request("thread/goal/set", {"threadId": new_id, **kept})


async def _metadata(link: CodexLink, old_id: str, new_id: str) -> None:
    thread = await _read(link, old_id)
    await _set_metadata(link, thread, new_id, METADATA_MEMBERS)
    section_id = as_dict(thread.get("section")).get("id")
    if section_id is not None:
        await link.request("thread/section/move", {"threadId": new_id, "sectionId": section_id})


async def _read(link: CodexLink, thread_id: str) -> dict[str, Any]:
    params = {"threadId": thread_id, "includeTurns": False}
    return as_dict(_decode(await link.request("thread/read", params)).get("thread"))


async def _set_metadata(
    link: CodexLink, thread: dict[str, Any], new_id: str, members: tuple[str, ...]
) -> dict[str, Any]:
    kept = {name: thread[name] for name in members if thread.get(name) is not None}
    if kept:
        await link.request("thread/metadata/update", {**kept, "threadId": new_id})
    return kept


async def _attachments(link: CodexLink, old_id: str, new_id: str) -> None:
    cursor: str | None = None
    while True:
        params = {"threadId": old_id, **({"cursor": cursor} if cursor is not None else {})}
        listed = _decode(await link.request("thread/attachment/list", params))
        for attachment in as_list(listed.get("data")):
            kept = {name: attachment.get(name) for name in ATTACHMENT_MEMBERS}
            await link.request("thread/attachment/add", {**kept, "threadId": new_id})
        cursor = listed.get("nextCursor")
        if not cursor:
            return


async def _store(link: CodexLink, thread_id: str) -> None:
    """Has Codex store a thread, by setting its branch to what it is.

    Codex stores a thread with the first thing that happens in it. Before that it takes no
    attachments, project or section (measured: 0.163, 0.171).
    """
    branch = as_dict((await _read(link, thread_id)).get("gitInfo")).get("branch")
    same = {"threadId": thread_id, "gitInfo": {"branch": branch}}
    await link.request("thread/metadata/update", same)


async def move_queue(link: CodexLink, previous: Generation, serving: Generation) -> str:
    """Moves the queued prompts to a generation that is ready for them. An idle thread begins the
    first one at once (measured: 0.163). If Codex refuses some, returns a sentence that says so.

    Each is deleted from the old queue once its copy is acknowledged. If Codex or the daemon ends in
    between, the copy is recognized by its client id the next time, so no prompt is begun twice.

    :raises ProviderFailure: when Codex has ended or does not answer.
    """
    old_id, new_id = previous.provider_thread_id, serving.provider_thread_id
    if old_id is None or new_id is None:
        return ""
    try:
        queued = await _queued(link, old_id)
    except ProviderError:
        return ""  # archived, so it was moved before; or this Codex has no queues
    known = await _client_ids(link, new_id) if queued else set[str]()
    refused = 0
    for one in queued:
        copy = {name: one[name] for name in QUEUED_MEMBERS if one.get(name) is not None}
        client_id = copy.setdefault("clientUserMessageId", f"{old_id}/{one.get('id')}")
        try:
            if client_id not in known:
                await link.request("thread/queue/add", {**copy, "threadId": new_id})
            queued_id = {"queuedSubmissionId": one.get("id")}
            await link.request("thread/queue/delete", {**queued_id, "threadId": old_id})
        except ProviderError:
            refused += 1
    return f"Codex did not take over {counted(refused, 'queued prompt')}." if refused else ""


async def _queued(link: CodexLink, thread_id: str) -> list[dict[str, Any]]:
    params = {"threadId": thread_id, "limit": MAX_QUEUED}
    listed = _decode(await link.request("thread/queue/list", params))
    return [as_dict(one) for one in as_list(listed.get("data"))]


async def _client_ids(link: CodexLink, thread_id: str) -> set[str]:
    """Returns the client ids of the prompts that a thread has begun or queued."""
    known = {str(one.get("clientUserMessageId")) for one in await _queued(link, thread_id)}
    with suppress(ProviderError):  # a thread without a turn
        listed = _decode(await link.request("thread/turns/list", {"threadId": thread_id}))
        turns = map(as_dict, as_list(listed.get("data")))
        items = [as_dict(item) for turn in turns for item in as_list(turn.get("items"))]
        known |= {str(item.get("clientId")) for item in items}
    return known


def _decode(raw: msgspec.Raw) -> Any:
    return msgspec.json.decode(raw) or {}
