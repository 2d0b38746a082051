"""Builds the parts of the gateway that requests, notifications and methods of one Codex share."""

from typing import NamedTuple

from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.gateway.client_events import CodexEvents, ThreadEvents
from trimpoint.gateway.ids.handles import Handles
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.compaction_turns import CompactionTurns
from trimpoint.gateway.session.lifecycle_notifications import LifecycleNotifications
from trimpoint.gateway.session.own_questions import OwnQuestions
from trimpoint.gateway.session.played_turns import PlayedTurns
from trimpoint.gateway.session.server_requests import PendingServerRequests
from trimpoint.gateway.session.startup_notifications import StartupNotifications
from trimpoint.threads.registry import ThreadRegistry


class ClientSide(NamedTuple):
    """The shared parts of the gateway for one Codex; `codex_events` receives Codex's notifications
    and requests.
    """

    clients: Clients
    identity: Identity
    handles: Handles
    server_requests: PendingServerRequests
    own_questions: OwnQuestions
    lifecycle: LifecycleNotifications
    startup: StartupNotifications
    played: PlayedTurns
    codex_events: CodexEvents


def build_client_side(
    registry: ThreadRegistry, link: CodexLink, clients: Clients, identity: Identity
) -> ClientSide:
    """Builds the shared parts for one Codex, and subscribes them to the records of `registry`."""
    events = ThreadEvents(registry, clients, identity)
    registry.subscribe(events.on_record)
    lifecycle = LifecycleNotifications(clients)
    registry.subscribe(lifecycle.on_record)
    handles = Handles(clients, link, identity)
    requests = PendingServerRequests(
        clients,
        lambda: link.peer,
        events.on_request_opened,
        events.on_request_closed,
        registry.unfinished_items.set_waiting,
    )
    startup = StartupNotifications()
    played = PlayedTurns(CompactionTurns())
    codex_events = CodexEvents(clients, identity, handles, requests, startup, played)
    return ClientSide(
        clients,
        identity,
        handles,
        requests,
        OwnQuestions(),
        lifecycle,
        startup,
        played,
        codex_events,
    )
