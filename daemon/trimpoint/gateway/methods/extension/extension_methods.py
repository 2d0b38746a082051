"""Handlers of trimpoint's own methods, of which each is a row of
`trimpoint_protocol.methods.METHODS`.
"""

import os
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec
import structlog
from trimpoint_protocol import methods as m
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.readmodel import ContextStatus, OrchestrationThread

from trimpoint import __version__
from trimpoint.codex.appserver.launch_requests import codex_home, decode_launch_request
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.core.commands.arguments import spelled_option
from trimpoint.core.commands.declaration import Command
from trimpoint.core.commands.parsing import complete, parse
from trimpoint.core.commands.registry import REGISTRY
from trimpoint.core.context.active_context import pruned_turn_ids
from trimpoint.core.model.events import Record, TrimPointCreated
from trimpoint.core.views.view import TurnWindow, envelopes, read_model
from trimpoint.gateway.commands.slash_runner import SlashRunner
from trimpoint.gateway.commands.views.context_meters import ContextMeters
from trimpoint.gateway.methods.extension.http_addresses import HttpAddresses
from trimpoint.gateway.methods.extension.thread_overviews import ThreadOverviews
from trimpoint.gateway.methods.extension.timeline_pages import timeline_page
from trimpoint.gateway.metrics.exposition import exposition
from trimpoint.gateway.metrics.metrics import Metrics
from trimpoint.gateway.profiles import RunningProfile, RunningProfiles
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.live_items import LiveItems
from trimpoint.gateway.session.requests.dispatch import Call, Handler
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.operations.sessions import Sessions
from trimpoint.threads.off_loop import off_loop
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.writing.writer import ThreadWriter

# After so many snapshots that were outdated before they were made, one is made at once.
SNAPSHOT_ATTEMPTS = 3


class HandlerDeps(NamedTuple):
    """The collaborators of the handlers. `shut_down` ends the daemon."""

    registry: ThreadRegistry
    sessions: Sessions
    clients: Clients
    profiles: RunningProfiles
    slash: SlashRunner
    meters: ContextMeters
    metrics: Metrics
    state_dir: str
    shut_down: Callable[[], None]
    http: HttpAddresses
    live: LiveItems


class ExtensionHandlers:
    """Handles trimpoint's own methods. `table` maps method names to handlers."""

    def __init__(self, deps: HandlerDeps) -> None:
        self._deps = deps
        self._registry = deps.registry
        self._overviews = ThreadOverviews(deps.registry)
        self._began = time.monotonic()
        self.table: dict[str, Handler] = {
            "commands/list": self._commands_list,
            "commands/complete": self._commands_complete,
            "commands/execute": self._commands_execute,
            "commands/cancel": self._commands_cancel,
            "orchestration/dispatch": self._dispatch,
            "orchestration/subscribeThread": self._subscribe,
            "orchestration/unsubscribeThread": self._unsubscribe,
            "orchestration/subscribeNotices": self._subscribe_notices,
            "orchestration/snapshot": self._snapshot,
            "timeline/read": self._timeline,
            "context/status": self._context,
            "sidecar/useProfile": self._use_profile,
            "sidecar/status": self._status,
            "sidecar/metrics": self._metrics,
            "sidecar/loginUrl": self._login_url,
            "sidecar/shutdown": self._shutdown,
        }

    async def _commands_list(self, call: Call, params: m.NoParams) -> m.CommandList:
        return _command_list(REGISTRY.values())

    async def _commands_complete(self, call: Call, params: m.CompleteParams) -> m.CommandList:
        return _command_list(complete(params.text))

    async def _commands_execute(self, call: Call, params: m.ExecuteParams) -> m.CommandOutcome:
        def progress(step: m.CommandProgress) -> None:
            call.client.notify("commands/progress", step)

        thread_id = (
            self._registry.stable_id(params.thread_id) if params.thread_id is not None else None
        )
        outcome = await self._deps.slash.run(
            parse(params.text),
            thread_id,
            params.command_id,
            progress,
            dry_run=params.dry_run,
        )
        if outcome.new_thread_id is not None:
            call.client.join(outcome.new_thread_id)
        return outcome

    async def _commands_cancel(self, call: Call, params: m.CancelParams) -> m.CancelResult:
        cancelled = await self._deps.sessions.cancel_operation(params.operation_id)
        return m.CancelResult(cancelled=cancelled)

    async def _dispatch(self, call: Call, params: m.DispatchParams) -> m.DispatchResult:
        with structlog.contextvars.bound_contextvars(thread_id=params.command.thread_id):
            writer = await self._registry.thread(params.command.thread_id)
            result = await self._deps.sessions.dispatch(params.command)
        # The answer holds only journaled facts: the same command again must get the same answer.
        shown = list(envelopes(writer.state, result.record))
        return m.DispatchResult(
            sequence=result.sequence, events=shown, operation_id=result.operation_id
        )

    async def _subscribe(self, call: Call, params: m.SubscribeParams) -> m.SubscribeResult:
        writer = await self._registry.thread(params.thread_id)
        if (
            writer.read_only is None
        ):  # a read-only journal has nothing to write, and can still be followed
            await writer.flush()
        context = await self._deps.meters.status_of(writer)
        is_replayed = self._missed(writer, params) is not None
        window = None if params.turns is None else TurnWindow(params.turns)
        shown = None if is_replayed else await self._snapshot_of(writer, window, context)
        # A snapshot is of the state, which may be ahead of what is durable.
        sequence = writer.durable_sequence if shown is None else shown.sequence
        newest = None
        if shown is not None and params.entries is not None:
            asked = m.TimelineParams(thread_id=params.thread_id, expand="all", limit=params.entries)
            newest = timeline_page(writer.state, asked)

        def then() -> None:
            # Everything that became durable before this moment is sent here, and everything later
            # by the subscription that begins here: nothing is missed, and nothing comes twice.
            cursor = (params.after_sequence or 0) if shown is None else sequence
            for record in writer.durable_since(cursor) or ():
                for envelope in envelopes(writer.state, record):
                    if envelope.sequence > cursor:
                        call.client.notify("orchestration/event", envelope)
            sent = max(cursor, writer.durable_sequence)
            call.client.followed[params.thread_id] = sent
            marker = m.Synchronized(thread_id=params.thread_id, sequence=sent)
            call.client.notify("orchestration/synchronized", marker)

        call.after.append(then)
        return m.SubscribeResult(
            mode="replay" if shown is None else "snapshot",
            thread=shown,
            sequence=sequence,
            live=self._deps.live.of(params.thread_id),
            timeline=newest,
        )

    async def _snapshot_of(
        self, writer: ThreadWriter, window: TurnWindow | None, context: ContextStatus
    ) -> OrchestrationThread:
        """Returns a snapshot that the records in memory continue."""
        for _ in range(SNAPSHOT_ATTEMPTS):
            shown = await self._read_model(writer, window, context)
            if (
                shown.sequence >= writer.durable_sequence
                or writer.durable_since(shown.sequence) is not None
            ):
                return shown
        return read_model(writer.state, self._registry.policy, writer.read_only, window, context)

    async def _read_model(
        self, writer: ThreadWriter, window: TurnWindow | None, context: ContextStatus
    ) -> OrchestrationThread:
        policy, read_only = self._registry.policy, writer.read_only
        if window is not None:
            return read_model(writer.state, policy, read_only, window, context)
        return await off_loop(
            writer.state,
            lambda now: read_model(now, policy, read_only, None, context),
            with_checkpoints=True,
        )

    def _missed(self, writer: ThreadWriter, params: m.SubscribeParams) -> list[Record] | None:
        """Returns the records after the client's cursor, or None if there is no cursor or a replay
        would not give the same events.
        """
        if params.after_sequence is None:
            return None
        missed = writer.durable_since(params.after_sequence)
        trims = [
            event
            for record in missed or ()
            for event in record.events
            if isinstance(event, TrimPointCreated)
        ]
        return (
            None if any(pruned_turn_ids(writer.state, trim) is None for trim in trims) else missed
        )

    async def _unsubscribe(self, call: Call, params: m.ThreadParams) -> m.Empty:
        call.client.followed.pop(params.thread_id, None)
        return m.Empty()

    async def _subscribe_notices(self, call: Call, params: m.NoParams) -> m.Empty:
        call.client.has_notices = True
        return m.Empty()

    async def _snapshot(self, call: Call, params: m.SnapshotParams) -> m.SnapshotResult:
        if params.thread_id is not None:
            writer = await self._registry.thread(self._registry.stable_id(params.thread_id))
            window = None if params.turns is None else TurnWindow(params.turns, params.before_turn)
            return m.SnapshotResult(
                thread=await self._read_model(
                    writer, window, await self._deps.meters.status_of(writer)
                ),
                threads=[],
                clients=len(self._deps.clients.subscribers(writer.thread_id)),
                live=self._deps.live.of(writer.thread_id),
            )
        known = self._registry.summaries
        wanted = known if params.thread_ids is None else known.keys() & set(params.thread_ids)
        summaries = sorted(
            (known[thread_id] for thread_id in wanted), key=lambda summary: -summary.updated_at_ms
        )
        return m.SnapshotResult(
            thread=None, threads=[await self._overviews.of(summary) for summary in summaries]
        )

    async def _timeline(self, call: Call, params: m.TimelineParams) -> m.TimelinePage:
        writer = await self._registry.thread(self._registry.stable_id(params.thread_id))
        return timeline_page(writer.state, params)

    async def _context(self, call: Call, params: m.ThreadParams) -> ContextStatus:
        return await self._deps.meters.status(self._registry.stable_id(params.thread_id))

    async def _status(self, call: Call, params: m.NoParams) -> m.SidecarStatus:
        profiles = self._deps.profiles
        return m.SidecarStatus(
            version=__version__,
            pid=os.getpid(),
            uptime_s=round(time.monotonic() - self._began, 3),
            state_dir=self._deps.state_dir,
            clients=len(self._deps.clients),
            threads=len(self._registry.summaries),
            sequence=self._registry.sequence,
            codex=_codex_status(profiles.default.link),
            http=self._deps.http.first,
            profiles=[self._profile(profile) for profile in profiles if profile.key],
        )

    def _profile(self, profile: RunningProfile) -> m.ProfileStatus:
        link = profile.link
        clients = [one for one in self._deps.clients.all() if one.profile == profile.key]
        return m.ProfileStatus(
            profile=profile.key,
            overrides=list(profile.request.overrides),
            codex_home=str(codex_home(link.profile, os.environ)),
            clients=len(clients),
            threads=sum(map(profile.owns, self._registry.launches)),
            codex=_codex_status(link),
        )

    async def _use_profile(self, call: Call, params: m.ProfileParams) -> m.ProfileChosen:
        # Before `initialize` the gateway answers this method itself.
        raise Refusal(
            Reason.ALREADY_INITIALIZED, "A profile is chosen before initialize, or not at all."
        )

    async def _metrics(self, call: Call, params: m.MetricsParams) -> m.MetricsResult:
        families = self._deps.metrics.families()
        return m.MetricsResult(
            families=families, text=exposition(families) if params.format == "prometheus" else None
        )

    async def _login_url(self, call: Call, params: m.LoginUrlParams) -> m.LoginUrl:
        if params.listen:
            await self._deps.http.have_one()
        addresses = self._deps.http
        is_own = params.own_home and addresses.takes_home_of_client
        home = decode_launch_request(call.client.launch).codex_home if is_own else None
        of_daemon = codex_home(self._deps.profiles.default.link.profile, os.environ)
        return msgspec.structs.replace(addresses.login_url(home), codex_home=home or str(of_daemon))

    async def _shutdown(self, call: Call, params: m.ShutdownParams) -> m.ShutdownResult:
        if params.when_idle and await self._is_working():
            return m.ShutdownResult(stopping=False)
        call.after.append(self._deps.shut_down)
        return m.ShutdownResult()

    async def _is_working(self) -> bool:
        profiles = list(self._deps.profiles)
        for profile in profiles:
            if await profile.is_working():
                return True
        # What began while another Codex was asked.
        return any(profile.has_unfinished_thread() for profile in profiles)


def _codex_status(link: CodexLink) -> m.CodexStatus:
    return m.CodexStatus(
        path=str(link.profile.codex),
        state=link.state,
        version=".".join(map(str, link.version)) if link.version is not None else None,
        problem=link.problem,
        epoch=link.epoch,
        overrides=list(link.profile.overrides),
    )


def _command_list(commands: Iterable[type[Command]]) -> m.CommandList:
    return m.CommandList(
        commands=[
            m.CommandInfo(
                name=kind.command,
                usage=kind.usage(),
                summary=kind.summary,
                details=kind.explanation(),
                asks_with=(
                    None if kind.asks_with is None else [*map(spelled_option, kind.asks_with)]
                ),
            )
            for kind in commands
        ]
    )
