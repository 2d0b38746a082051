"""The table of all methods and their handlers."""

from collections.abc import Callable
from typing import NamedTuple

from anyio.abc import TaskGroup

from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.client_side import ClientSide
from trimpoint.gateway.commands.agent_tools import AgentTools
from trimpoint.gateway.commands.codex_tui.clear_hint import ClearHint
from trimpoint.gateway.commands.codex_tui.lost_codex import LostCodexNotices
from trimpoint.gateway.commands.codex_tui.skill_menu import SkillMenu
from trimpoint.gateway.commands.codex_tui.status_line import StatusLine
from trimpoint.gateway.commands.codex_tui.trim_notices import TrimNotices
from trimpoint.gateway.commands.codex_tui.turn_picker import TurnPicker
from trimpoint.gateway.commands.queued_prompts import QueuedPrompts
from trimpoint.gateway.commands.slash_runner import CommandViews, SlashRunner
from trimpoint.gateway.commands.turn_starts import TurnStarts
from trimpoint.gateway.commands.typed_commands import TypedCommands
from trimpoint.gateway.commands.unanswered_prompts import UnansweredPrompts
from trimpoint.gateway.commands.views.context_inspections import ContextInspections
from trimpoint.gateway.commands.views.context_meters import ContextMeters
from trimpoint.gateway.commands.views.folder_trusts import FolderTrusts
from trimpoint.gateway.commands.views.history_answers import HistoryAnswers
from trimpoint.gateway.commands.views.history_searches import HistorySearches
from trimpoint.gateway.commands.views.revert_previews import RevertPreviews
from trimpoint.gateway.commands.views.spending import AllSpending
from trimpoint.gateway.commands.within_turns import WithinTurns
from trimpoint.gateway.gateway import Routes
from trimpoint.gateway.methods.agent_sessions.agent_session_methods import (
    AgentSessionMethods,
    places_of,
)
from trimpoint.gateway.methods.extension.checkpoint_methods import CheckpointMethods
from trimpoint.gateway.methods.extension.checkpoint_storage import CheckpointStorage
from trimpoint.gateway.methods.extension.context_messages import ContextMessages
from trimpoint.gateway.methods.extension.extension_methods import ExtensionHandlers, HandlerDeps
from trimpoint.gateway.methods.extension.fleet_methods import FleetMethods, FleetView
from trimpoint.gateway.methods.extension.history_methods import HistoryMethods
from trimpoint.gateway.methods.extension.http_addresses import HttpAddresses
from trimpoint.gateway.methods.lists.thread_lists import ThreadLists
from trimpoint.gateway.methods.lists.thread_search import ThreadSearch
from trimpoint.gateway.methods.threads.archive_methods import ArchiveMethods
from trimpoint.gateway.methods.threads.forks import Forks
from trimpoint.gateway.methods.threads.interrupts import Interrupts
from trimpoint.gateway.methods.threads.queue_methods import QueueMethods
from trimpoint.gateway.methods.threads.revert_methods import RevertMethods
from trimpoint.gateway.methods.threads.samples import Samples
from trimpoint.gateway.methods.threads.terminal_methods import TerminalMethods
from trimpoint.gateway.methods.threads.thread_methods import ThreadMethods
from trimpoint.gateway.methods.threads.thread_reads import ThreadReads
from trimpoint.gateway.methods.threads.thread_requests import MethodDeps, ThreadRequests
from trimpoint.gateway.methods.threads.turn_methods import TurnMethods
from trimpoint.gateway.metrics.metrics import Metrics
from trimpoint.gateway.profiles import RunningProfiles
from trimpoint.gateway.session.requests.dispatch import ExtensionMethods
from trimpoint.gateway.session.subscriptions import Subscriptions
from trimpoint.operations.build import Operations
from trimpoint.operations.imports import Imports
from trimpoint.recall.history import History
from trimpoint.recall.recall import Recall
from trimpoint.threads.registry import ThreadRegistry


class DaemonDeps(NamedTuple):
    """The collaborators of the handlers that concern the daemon itself. `agent_tools` tells whether
    new threads get the agent tools.
    """

    profiles: RunningProfiles
    metrics: Metrics
    state_dir: str
    shut_down: Callable[[], None]
    http: HttpAddresses
    recall: Recall
    fleet: FleetView
    agent_tools: bool


class RouteDeps(NamedTuple):
    """The collaborators of the handlers for one Codex. `is_here(thread_id)` returns whether the
    thread is stored in this Codex's `CODEX_HOME`.
    """

    registry: ThreadRegistry
    link: CodexLink
    operations: Operations
    client_side: ClientSide
    is_here: Callable[[str], bool]
    daemon: DaemonDeps


def build_routes(deps: RouteDeps, tasks: TaskGroup) -> Routes:
    """Builds every handler. Handlers with background work run it in `tasks`."""
    registry, link, side, daemon = deps.registry, deps.link, deps.client_side, deps.daemon
    router, threads, captures, sessions, _, worktrees, lost_endings = deps.operations
    identity = side.identity
    previews = RevertPreviews(registry, sessions, identity, worktrees)
    inspections = ContextInspections(registry, sessions)
    history = History(daemon.recall, registry)
    trusts = FolderTrusts(registry, threads.trust)
    spending = AllSpending(registry)
    views = CommandViews(previews, inspections, HistorySearches(history), trusts, spending)
    slash = SlashRunner(registry, sessions, views)
    starts = TurnStarts(registry, sessions, threads, identity, captures)
    queue = QueuedPrompts(registry, side.clients, starts, tasks)
    UnansweredPrompts(registry, starts, tasks)
    agent_tools = AgentTools(registry, sessions, starts, HistoryAnswers(history), tasks)
    side.codex_events.add_interceptor(agent_tools.intercept)
    meters = ContextMeters(registry, side.clients, router.foreign_usage, tasks)
    method_deps = MethodDeps(registry, sessions, threads, identity)
    requests = ThreadRequests(method_deps)
    subscriptions = Subscriptions(side.clients, side.server_requests)
    reads = ThreadReads(method_deps, requests)
    within = WithinTurns(registry, sessions, starts, threads, lost_endings, queue, tasks)
    turns = TurnMethods(method_deps, requests, reads, subscriptions, starts, within)
    methods = ThreadMethods(
        method_deps, requests, reads, subscriptions, agent_tools=daemon.agent_tools
    )
    archive = ArchiveMethods(method_deps, requests, reads, side.lifecycle)
    revert = RevertMethods(method_deps, requests, reads, side.lifecycle, starts)
    lists = ThreadLists(registry, link, identity, deps.is_here)
    picker = TurnPicker(registry, side.own_questions)
    in_order = threads.router.in_order
    typed = TypedCommands(side.clients, identity, slash, sessions, side.played, picker, in_order)
    notices = TrimNotices(registry, side.clients, identity, side.played, tasks)
    LostCodexNotices(registry, side.clients)
    handlers = {
        **methods.handlers,
        **reads.handlers,
        **turns.handlers,
        **QueueMethods(method_deps, requests).handlers,
        **lists.handlers,
        **ThreadSearch(registry, link, identity, lists).handlers,
        **TerminalMethods(threads, identity).handlers,
        **Forks(method_deps, requests, methods).handlers,
        **Samples(sessions, identity, turns.handlers["thread/sample"]).handlers,
        **archive.handlers,
        **revert.handlers,
        **Interrupts(method_deps, requests, lost_endings, side.played, starts, within).handlers,
        **SkillMenu(link, requests.forward).handlers,
        **StatusLine(link, meters, identity, requests.forward).handlers,
        **ClearHint(registry, identity, turns.handlers["thread/name/set"]).handlers,
    }
    handlers = side.played.wrap(notices.wrap(typed.wrap(handlers, requests.forward)))
    extension_deps = HandlerDeps(
        registry,
        sessions,
        side.clients,
        daemon.profiles,
        slash,
        meters,
        daemon.metrics,
        daemon.state_dir,
        daemon.shut_down,
        daemon.http,
        side.codex_events.live,
    )
    extensions = {
        **ExtensionHandlers(extension_deps).table,
        **ContextMessages(registry, sessions).table,
        **CheckpointMethods(registry, identity, captures.rules).table,
        **CheckpointStorage(registry).table,
        **AgentSessionMethods(
            places_of(link.profile), registry, Imports(registry, threads, sessions), sessions
        ).table,
        **HistoryMethods(registry, history).table,
        **FleetMethods(daemon.fleet).table,
        **previews.table,
        **inspections.table,
        **spending.table,
    }
    return Routes(
        ExtensionMethods(extensions),
        side.handles.wrap(handlers, requests.forward),
        requests.forward,
    )
