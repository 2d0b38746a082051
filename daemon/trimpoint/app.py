"""Builds the daemon from its parts. No other module knows all of them."""

import socket
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup

from trimpoint import __version__
from trimpoint.background import spawn
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.orphans import reap_orphans
from trimpoint.config.sections import Config, fixed_settings
from trimpoint.core.model.decision import (
    CachePolicy,
    DiscardPolicy,
    Policy,
    SummarizerPolicy,
    counted,
)
from trimpoint.gateway.gateway import Gateway
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.methods.extension.fleet_methods import FleetView, NoFleet
from trimpoint.gateway.methods.extension.http_addresses import HttpAddresses
from trimpoint.gateway.metrics.exposition import exposition
from trimpoint.gateway.metrics.metrics import Metrics, MetricSources
from trimpoint.gateway.profiles import RunningProfiles
from trimpoint.gateway.routes import DaemonDeps
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.unused import Usage
from trimpoint.http.front import Front, FrontDeps
from trimpoint.http.listening import HttpListeners
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.journal.storage.instrumented_files import InstrumentedFiles
from trimpoint.journal.storage.written_by import note_version
from trimpoint.operations.build import build_files
from trimpoint.operations.notify import EVERY_KIND, Notifications, Way, ways_to_tell
from trimpoint.operations.provider.settings import compact_limit
from trimpoint.profiles import Profiles, SharedParts
from trimpoint.recall.recall import Recall
from trimpoint.threads.activity import Activity
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.retention import expire
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.limits import Limits

log = structlog.get_logger()


class Parts(NamedTuple):
    """The parts that a daemon is built from. `files` counts the calls to the disk."""

    registry: ThreadRegistry
    profile: LaunchProfile
    files: InstrumentedFiles
    store: StateDirectory


class Daemon:
    """A running daemon. `serve` serves one client; `stop_requested` is set when a client has asked
    the daemon to end.
    """

    def __init__(self, config: Config, state_dir: Path, parts: Parts, tasks: TaskGroup) -> None:
        self.stop_requested = anyio.Event()
        registry, limits = parts.registry, config.limits
        self._registry = registry
        self.clients = Clients()
        registry.keep_in_memory(self.clients.has_subscribers_for)
        activity = Activity()
        registry.subscribe(activity.on_record)
        shown = Way("clients", self.clients.tell, EVERY_KIND)
        ways = [shown, *ways_to_tell(config.notify)]
        Notifications(registry, ways, tasks, has_prompts=config.notify.prompts)
        running = RunningProfiles()
        self.metrics = Metrics(
            MetricSources(registry, activity, self.clients, running, parts.files)
        )
        addresses = HttpAddresses()
        recall = Recall(parts.store, registry)
        spawn(tasks, recall.run, lasting=True)
        about = DaemonDeps(
            running,
            self.metrics,
            str(state_dir),
            self.stop_requested.set,
            addresses,
            recall,
            _fleet_view(config),
            config.discard.agent_tools,
        )
        worktrees = build_files(registry, config.checkpoints, tasks)
        self.captures = worktrees.captures
        identity = Identity(registry)
        shared = SharedParts(registry, self.clients, identity, worktrees, about, state_dir)
        profiles = Profiles(parts.profile, shared, config, tasks)
        self._link = running.default.link
        if config.codex.control_socket:
            self._link.wake()  # plain `codex` should not wait for it
        self.usage = Usage(self.clients, addresses.codes, running)
        gateway = Gateway(
            registry, self.clients, identity, profiles, limits.max_requests_in_flight, tasks
        )
        client_limits = Limits(
            max_message_bytes=limits.max_message_bytes, max_outbox_bytes=limits.max_outbox_bytes
        )
        front_deps = FrontDeps(gateway, self.clients, lambda: exposition(self.metrics.families()))
        self.front = Front(front_deps, client_limits, limits.handshake_deadline_s)
        self.http = HttpListeners(self.front, addresses, state_dir, config.http, tasks)
        if config.fleet.servers:
            self._join_fleet(config, state_dir, gateway, tasks)
        profiles.resume()

    def _join_fleet(
        self, config: Config, state_dir: Path, gateway: Gateway, tasks: TaskGroup
    ) -> None:
        """Starts the fleet service, or logs why it cannot. The fleet is imported here because few
        daemons use it, and nats takes memory.
        """
        try:
            from trimpoint.fleet.commands.local_client import local_client
            from trimpoint.fleet.service import Fleet, FleetDeps, host_name

            host = host_name(config.fleet)
        except (ImportError, ValueError) as error:
            log.error("fleet_not_joined", detail=f"{error}; see `trimpoint doctor`")
            return

        deps = FleetDeps(
            self._registry,
            StateDirectory(state_dir).journal_path,
            gateway,
            local_client(self.front.serve, tasks),
        )
        spawn(tasks, Fleet(config.fleet, host, deps, tasks).run, lasting=True)

    def describe(self) -> str:
        """Returns one line for people, with the number of threads and clients and the state of
        Codex, and without any content of a conversation.
        """
        link = self._link
        version = (
            f"Codex {'.'.join(map(str, link.version))}" if link.version is not None else "Codex"
        )
        state = (
            f"{version} {link.state}"
            if link.problem is None
            else f"{version} {link.state}: {link.problem}"
        )
        return (
            f"{counted(len(self._registry.summaries), 'thread')}, "
            f"{counted(len(self.clients), 'client')}; {state}"
        )

    def running_turns(self) -> int:
        """Returns the number of threads in which a turn is running."""
        writers = self._registry.loaded_writers()
        return sum(writer.state.running_turn_id is not None for writer in writers)

    async def serve(self, transport: Transport) -> None:
        """Serves the client at the other end of `transport` until it disconnects, or is
        disconnected because it sent no `initialize` in time.
        """
        await self.front.serve(transport)


def _fleet_view(config: Config) -> FleetView:
    """Returns the view of the configured fleet, or an empty one. The fleet is imported only if it
    is configured, because it takes memory.
    """
    if not config.fleet.servers:
        return NoFleet()
    try:
        from trimpoint.fleet.viewing import PersonsView
    except ImportError:
        return NoFleet()  # the error is logged where the fleet is joined
    return PersonsView(config.fleet)


def policy_of(config: Config, profile: LaunchProfile) -> Policy:
    """Returns the core's policy for this configuration and launch profile."""
    context = config.context
    return Policy(
        min_messages=config.compaction.min_messages,
        overflow_recovery=context.overflow_recovery,
        warning_at=context.warning_at,
        critical_at=context.critical_at,
        model_windows={
            name: model.max_context_tokens
            for name, model in config.models.items()
            if model.max_context_tokens
        },
        auto=context.auto,
        mask_at=context.mask_at,
        preserve_recent_turns=context.preserve_recent_turns,
        min_freed=context.min_freed,
        pins_share=context.pins_share,
        summarizer=SummarizerPolicy(
            config.compaction.model,
            config.compaction.effort,
            {
                name: model.compaction_model
                for name, model in config.models.items()
                if model.compaction_model
            },
        ),
        provider_compacts_at=compact_limit(profile.overrides),
        pays_off_within=context.pays_off_within,
        mid_turn=context.mid_turn,
        discard=DiscardPolicy(
            config.discard.floor_tokens, config.discard.target_tokens, context.keep_turns
        ),
        cache=CachePolicy(context.cached_price, context.cache_write_price, context.cache_minutes),
        model_caches={
            name: CachePolicy(
                model.cached_price or context.cached_price,
                model.cache_write_price or context.cache_write_price,
                model.cache_minutes or context.cache_minutes,
            )
            for name, model in config.models.items()
        },
    )


@asynccontextmanager
async def running_daemon(
    config: Config,
    state_dir: Path,
    profile: LaunchProfile,
    *,
    http_listeners: Sequence[socket.socket] = (),
) -> AsyncGenerator[Daemon]:
    """Runs a daemon over `state_dir` until the block ends. Then everything is durable and Codex has
    ended.

    :param http_listeners: TCP sockets that a service manager opened, in addition to the configured
        one.
    :raises StateDirectoryBusy: when another daemon uses the directory.
    """
    if fixed := fixed_settings(config):
        log.warning("setting_is_fixed", keys=fixed, hint="delete it from the configuration")
    files = InstrumentedFiles()
    store = StateDirectory(state_dir, files=files)
    with store.lock():
        await to_thread.run_sync(_note_version, state_dir)
        await reap_orphans(state_dir)
        await to_thread.run_sync(_expire, store, config)
        async with ThreadRegistry.running(
            store, policy_of(config, profile), config.threads
        ) as registry:
            daemon: Daemon | None = None
            try:
                async with anyio.create_task_group() as tasks:
                    daemon = Daemon(
                        config, state_dir, Parts(registry, profile, files, store), tasks
                    )
                    await daemon.http.listen(config.metrics.address(), http_listeners)
                    log.info(
                        "daemon_ready", state_dir=str(state_dir), threads=len(registry.summaries)
                    )
                    try:
                        yield daemon
                    finally:
                        await daemon.captures.finish()
                        tasks.cancel_scope.cancel()
            finally:
                # Records that the registry still writes must not call parts that have ended.
                registry.close()
                if daemon is not None:
                    await daemon.captures.capture_unfinished()


def _expire(store: StateDirectory, config: Config) -> None:
    """Removes expired threads before the threads are loaded. If the disk cannot be written, the
    threads stay and the daemon starts.
    """
    rule = config.retention
    try:
        for one in (
            expire(store, rule, time.time_ns() // 1_000_000) if rule.archived_after_days else ()
        ):
            log.info(
                "thread_expired", thread_id=one.thread_id, outcome=one.outcome, detail=one.detail
            )
    except OSError as error:
        log.warning("retention_failed", detail=str(error))


def _note_version(state_dir: Path) -> None:
    # A disk that is full refuses more than this, and says so.
    with suppress(OSError):
        if (newer := note_version(state_dir, __version__)) is not None:
            log.warning("state_of_newer_version", newest=newer, hint=f"run trimpoint {newer}")
