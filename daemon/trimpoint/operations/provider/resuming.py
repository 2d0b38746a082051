"""Loads a provider thread again, with the thread's settings, and records what Codex did with it
meanwhile.
"""

from typing import Any

import msgspec
from anyio import to_thread
from msgspec import Raw
from trimpoint_protocol.errors import Reason

from trimpoint.codex.appserver.errors import ProviderError, RolloutCut
from trimpoint.codex.appserver.supervisor import CodexLink, is_archived_error, is_damaged_error
from trimpoint.codex.appserver.versions import forgets_settings
from trimpoint.codex.history.rollout_files import is_damaged
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import Generation, ThreadState
from trimpoint.operations.history.resync import catch_up
from trimpoint.operations.provider.client_resumes import ClientResume
from trimpoint.operations.provider.given_again import resume_params
from trimpoint.operations.provider.names import give_name
from trimpoint.operations.provider.outside_changes import record_missed, renamed
from trimpoint.operations.provider.settings import (
    is_confirmed,
    lasting,
    missing_params,
    overridden_settings,
    resumed_settings,
    with_unconfirmed,
)
from trimpoint.operations.routing.notification_router import NotificationRouter
from trimpoint.operations.routing.routes import Route, ThreadRole
from trimpoint.threads.errors import ThreadError
from trimpoint.threads.writing.writer import ThreadWriter

SANDBOX = "sandboxPolicy"


class ArchivedElsewhere(ThreadError):
    """Codex has archived the thread, and no command of ours did. Codex's own error names a command
    of another program, and no cause.
    """

    reason = Reason.THREAD_ARCHIVED
    hint = (
        "Unarchive the thread with thread/unarchive or `trimpoint threads unarchive`; it then goes "
        "on from what trimpoint and Codex know of it."
    )

    def __str__(self) -> str:
        return (
            "The thread is archived in Codex: another program archived it, or trimpoint's state "
            "directory is a copy from before the thread's last trim."
        )


class Resumption:
    """Loads provider threads again. Its methods raise `RolloutCut` when Codex has lost a part of
    the thread, another `ProviderFailure` when it refuses, has ended or does not answer, and
    `ArchivedElsewhere` when the thread is archived in Codex.
    """

    def __init__(self, link: CodexLink, router: NotificationRouter) -> None:
        self._link = link
        self._router = router

    async def resume(
        self, writer: ThreadWriter, generation: Generation, asked: ClientResume | None = None
    ) -> tuple[ev.AnyEvent, ...]:
        """Loads a generation's provider thread again, with the client's own request `asked` if it
        can load it, and returns the facts to record.

        Turns that Codex ran without the daemon are recorded, because the model sees them.
        """
        provider_id = str(generation.provider_thread_id)
        self._router.bind(
            provider_id, Route(writer.thread_id, ThreadRole.CURRENT, generation.number)
        )
        by_client = asked if asked is not None and asked.may_load else None
        raw = await self._resume_or_unarchive(writer, provider_id, by_client)
        params = by_client.params if by_client is not None else {}
        answer = msgspec.json.decode(raw)
        thread: dict[str, Any] = answer["thread"]
        names = renamed(writer.state, thread)
        has_other = not names and thread.get("name", writer.state.name) != writer.state.name
        lacks_name = has_other or writer.state.name_unconfirmed
        missed = await catch_up(self._link, writer.state, generation)
        record_missed(writer, missed)
        if missed.is_cut:
            raise RolloutCut
        changes = {} if missed.is_anything else self._lost_settings(writer.state, params, answer)
        if missed.is_anything or lasting(params) or not changes:
            settings = resumed_settings(writer.state.settings, params, answer)
            # An answer confirms nothing: a Codex that still has the thread loaded has perhaps not
            # stored what it answers with.
            if changes or not (missed.is_anything or is_confirmed(writer.state.settings)):
                settings = with_unconfirmed(settings, changes)
            writer.record_facts(ev.SettingsChanged(settings))
            # An answer with what Codex has lost is asked for again.
            if by_client is not None and not changes and not lacks_name:
                by_client.answer = raw.copy()
        if changes:
            await self._link.request("thread/settings/update", {**changes, "threadId": provider_id})
        path = thread.get("path") or generation.rollout_path
        # A resumed thread reports no raw items (measured), so from here on they are read from the
        # rollout.
        bound = ev.ProviderThreadBound(generation.number, provider_id, path, raw_events=False)
        if lacks_name:
            await give_name(self._link, self._router.names, writer, provider_id)
        return *names, bound, ev.SessionReady(generation.number)

    def _keeps_settings(self, generation: Generation) -> bool:
        """Returns whether Codex loads the thread with the settings that it acknowledged. Before the
        first turn it does not (measured: 0.163).
        """
        return generation.turn_count > 0 and not self._forgets_settings

    @property
    def _forgets_settings(self) -> bool:
        return forgets_settings(self._link.version)

    def _lost_settings(
        self, state: ThreadState, params: dict[str, Any], answer: dict[str, Any]
    ) -> dict[str, Any]:
        """Returns the settings that Codex had acknowledged and lost when it ended (measured: 0.153,
        0.163), without those that the client's `params` set again.

        Codex loads a thread with another sandbox than it had (measured: 0.163), also where it keeps
        all other settings.
        """
        lost = missing_params(overridden_settings(state.settings, params), answer)
        if self._keeps_settings(state.generation) and is_confirmed(state.settings):
            return {SANDBOX: lost[SANDBOX]} if SANDBOX in lost else {}
        return lost

    async def _resume_or_unarchive(
        self, writer: ThreadWriter, provider_id: str, asked: ClientResume | None
    ) -> Raw:
        params: dict[str, Any] = {"threadId": provider_id, "excludeTurns": True}
        if asked is not None:
            asked.pause(self._router.pausing(provider_id))
            params = asked.request_for(provider_id)
        params = resume_params(
            writer.state.settings, params, forgets_settings=self._forgets_settings
        )
        try:
            return await self._link.request("thread/resume", params)
        except ProviderError as error:
            path = writer.state.generation.rollout_path
            if is_damaged_error(error) and path and await to_thread.run_sync(is_damaged, path):
                raise RolloutCut from error
            if not is_archived_error(error):
                raise
            if not writer.state.session_stopped:
                # A person archived it in another program.
                writer.record_facts(
                    ev.ThreadArchived(), ev.SessionStopped(writer.state.generation.number)
                )
            if writer.state.archived:
                raise ArchivedElsewhere from error
        await self._link.request("thread/unarchive", {"threadId": provider_id})
        return await self._link.request("thread/resume", params)
