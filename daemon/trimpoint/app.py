"""The daemon, put together: the only module that knows every part (style: `app.py` alone wires everything)."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup

from trimpoint.codex.appserver.orphans import reap_orphans
from trimpoint.codex.appserver.process import LaunchProfile
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.config import Config, MetricsSection
from trimpoint.core.model.decision import DiscardPolicy, Policy
from trimpoint.gateway.commands.agent_tools import AgentTools
from trimpoint.gateway.commands.context_meters import ContextMeters
from trimpoint.gateway.commands.slash_runner import SlashRunner
from trimpoint.gateway.commands.turn_starts import TurnStarts
from trimpoint.gateway.commands.typed_commands import TypedCommands
from trimpoint.gateway.gateway import Gateway
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.methods.archive_methods import ArchiveMethods
from trimpoint.gateway.methods.checkpoint_methods import CheckpointMethods
from trimpoint.gateway.methods.checkpoint_storage import CheckpointStorage
from trimpoint.gateway.methods.context_messages import ContextMessages
from trimpoint.gateway.methods.extension_methods import ExtensionHandlers, HandlerDeps
from trimpoint.gateway.methods.interrupts import Interrupts
from trimpoint.gateway.methods.revert_methods import RevertMethods
from trimpoint.gateway.methods.terminal_methods import TerminalMethods
from trimpoint.gateway.methods.thread_lists import ThreadLists
from trimpoint.gateway.methods.thread_methods import ThreadMethods
from trimpoint.gateway.metrics.exposition import exposition
from trimpoint.gateway.metrics.metrics import Metrics, MetricSources
from trimpoint.gateway.metrics.metrics_endpoint import Address, serve_metrics
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.dispatch import ExtensionMethods
from trimpoint.gateway.transport.connection import Connection, Limits, Transport
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.journal.storage.instrumented_files import InstrumentedFiles
from trimpoint.operations.checkpoints.file_reverts import FileReverts
from trimpoint.operations.checkpoints.turn_captures import CaptureRules, TurnCaptures
from trimpoint.operations.provider.lost_endings import EndingLimits, LostEndings
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.operations.provider.settings import compact_limit, working_folder
from trimpoint.operations.routing.notification_router import NotificationRouter
from trimpoint.operations.runner import OperationRunner, RunnerLimits
from trimpoint.operations.sessions import Sessions
from trimpoint.threads.activity import Activity
from trimpoint.threads.idle import IdleRules
from trimpoint.threads.registry import ThreadRegistry
from trimpoint.threads.retention import RetentionRule, expire

log = structlog.get_logger()

# A turn waits for an operation a little longer than the longest operation may take.
WAIT_BEYOND_COMPACTION_S = 60.0


class Daemon:
    """A running daemon. `serve` talks to one client; `stop_requested` is set when somebody asked it to end."""

    def __init__(
        self, config: Config, state_dir: Path, engine: ThreadRegistry, link: CodexLink, files: InstrumentedFiles
    ) -> None:
        self.stop_requested = anyio.Event()
        self.clients = Clients()
        limits, policy = config.limits, policy_of(config, link.profile)
        wait_s = config.compaction.deadline_s + WAIT_BEYOND_COMPACTION_S
        self._handshake_deadline_s = limits.handshake_deadline_s
        self._limits = Limits(max_message_bytes=limits.max_message_bytes, max_outbox_bytes=limits.max_outbox_bytes)
        self._engine, self._link = engine, link
        self._inbound = NotificationRouter(engine)
        engine.in_use.extend((self.clients.has_subscribers_for, self._inbound.has_fast_path))
        self._activity = Activity()
        engine.subscribe(self._activity.on_record)
        identity = Identity(engine)
        self._gateway = Gateway(engine, self.clients, identity, link, limits.max_requests_in_flight)
        self._threads = ProviderThreads(engine, link, self._inbound)
        self._captures = TurnCaptures(
            engine, lambda state: working_folder(state.settings), CaptureRules(*msgspec.structs.astuple(config.checkpoints))
        )
        worktrees = FileReverts(engine, self._captures)
        driver = OperationRunner(engine, self._threads, worktrees, RunnerLimits(config.compaction.deadline_s))
        self._sessions = Sessions(engine, self._threads, driver, wait_s)
        slash = SlashRunner(engine, self._sessions, wait_s, policy.discard)
        self._meters = ContextMeters(engine, self.clients, self._inbound.foreign_usage)
        questions, announcements = self._gateway.questions, self._gateway.announcements
        self.metrics = Metrics(MetricSources(engine, self._activity, self.clients, questions, link, files))
        around = HandlerDeps(
            engine, self.clients, link, slash, self._meters, self.metrics, str(state_dir), self.stop_requested.set
        )
        starts = TurnStarts(self._sessions, self._threads, identity, self._captures)
        self._lost_endings = LostEndings(engine, self._threads, EndingLimits())
        methods = ThreadMethods(
            engine, self._sessions, self._threads, identity, questions, self.clients, starts,
            agent_tools=config.discard.agent_tools,
        )  # fmt: skip
        self._agent_tools = AgentTools(engine, self._sessions, policy.discard, starts, wait_s)
        self._gateway.intercept_server_request = self._agent_tools.intercept
        engine.in_use.append(self._agent_tools.is_in_use)
        archive = ArchiveMethods(engine, self._sessions, self._threads, identity, announcements, methods.forward)
        lists, terminals = ThreadLists(engine, link, identity), TerminalMethods(self._threads, identity)
        revert = RevertMethods(self._sessions, identity, methods, announcements, wait_s)
        played = self._gateway.played
        interrupts = Interrupts(self._sessions, self._threads, identity, methods, self._lost_endings, played)
        typed = TypedCommands(self.clients, identity, slash, self._sessions, played)
        tables = (methods, lists, terminals, archive, revert, interrupts)
        handlers = {name: handler for table in tables for name, handler in table.handlers.items()}
        handlers = played.wrap(typed.wrap(handlers, methods.forward))
        handlers = self._gateway.handles.wrap(handlers, methods.forward)
        own = ExtensionHandlers(around).table | ContextMessages(engine, self._sessions, policy.discard).table
        own |= CheckpointMethods(engine, identity, self._captures.limits).table | CheckpointStorage(engine).table
        self._gateway.set_routes(ExtensionMethods(own), handlers, methods.forward)

    def start(self, tasks: TaskGroup) -> None:
        """Bring every part to life in `tasks`."""
        self._inbound.start(tasks, self._gateway)
        self._link.start(tasks, self._inbound)
        self._sessions.start(tasks)
        self._lost_endings.start(tasks)
        self._captures.start(tasks)
        self._inbound.before_turn_ends = self._captures.settled
        self._gateway.start(tasks)
        self._agent_tools.start(tasks)
        self._engine.subscribe(self._meters.on_record)

    def describe(self) -> str:
        """How it is, in one line for people: threads, clients, Codex. Nothing of what is said in them."""
        link = self._link
        version = f"Codex {'.'.join(map(str, link.version))}" if link.version is not None else "Codex"
        state = f"{version} {link.state}" if link.problem is None else f"{version} {link.state}: {link.problem}"
        return f"{_count(len(self._engine.summaries), 'thread')}, {_count(len(self.clients), 'client')}; {state}"

    async def serve(self, transport: Transport) -> None:
        """Talk to the client at the other end of `transport` until it is gone, or has not introduced itself in time."""
        await self._gateway.serve(Connection(transport, self._limits, self._gateway.on_message), self._handshake_deadline_s)

    async def serve_owner(self, transport: Transport) -> None:
        """As `serve`, for the client that this daemon was started by, which may take its time."""
        await self._gateway.serve(Connection(transport, self._limits, self._gateway.on_message), None)


def policy_of(config: Config, profile: LaunchProfile) -> Policy:
    """The configured rules, as the core knows them."""
    context = config.context
    return Policy(
        min_messages=config.compaction.min_messages,
        overflow_recovery=context.overflow_recovery,
        warning_at=context.warning_at,
        critical_at=context.critical_at,
        model_windows={name: model.max_context_tokens for name, model in config.models.items() if model.max_context_tokens},
        auto=context.auto,
        preserve_recent_turns=context.preserve_recent_turns,
        min_freed=context.min_freed,
        provider_compacts_at=compact_limit(profile.overrides),
        discard=DiscardPolicy(config.discard.floor_tokens, config.discard.target_tokens),
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


@asynccontextmanager
async def running_daemon(config: Config, state_dir: Path, profile: LaunchProfile) -> AsyncGenerator[Daemon]:
    """Run a daemon over `state_dir` for as long as the block lasts; on leaving it everything is durable and the child is gone.

    :raises StateDirectoryBusy: another daemon holds the directory.
    """
    files = InstrumentedFiles()
    store = StateDirectory(state_dir, files=files)
    with store.lock():
        await reap_orphans(state_dir)
        await to_thread.run_sync(_expire, store, config)
        async with ThreadRegistry.running(store, policy_of(config, profile), _idle_rules(config)) as engine:
            link = CodexLink(profile, state_dir, config.codex.request_deadline_s)
            try:
                async with anyio.create_task_group() as tasks:
                    daemon = Daemon(config, state_dir, engine, link, files)
                    daemon.start(tasks)
                    await _serve_metrics(config.metrics, daemon.metrics, tasks)
                    log.info("daemon_ready", state_dir=str(state_dir), threads=len(engine.summaries))
                    try:
                        yield daemon
                    finally:
                        tasks.cancel_scope.cancel()
            finally:
                engine.clear_subscribers()  # what the engine still makes durable must not wake what has ended


def _expire(store: StateDirectory, config: Config) -> None:
    """What the rule names leaves before it is loaded; a disk that refuses keeps it, and the daemon starts all the same."""
    rule = RetentionRule(config.retention.archived_after_days, config.retention.delete)
    try:
        for one in expire(store, rule, time.time_ns() // 1_000_000) if rule.archived_after_days else ():
            log.info("thread_expired", thread_id=one.thread_id, outcome=one.outcome, detail=one.detail)
    except OSError as error:
        log.warning("retention_failed", detail=str(error))


def _idle_rules(config: Config) -> IdleRules:
    threads = config.threads
    return IdleRules(threads.evict_after_s, threads.max_idle, threads.snapshot_after_records)


async def _serve_metrics(section: MetricsSection, metrics: Metrics, tasks: TaskGroup) -> None:
    if (address := section.address()) is not None:
        await tasks.start(serve_metrics, Address(*address), lambda: exposition(metrics.families()))
