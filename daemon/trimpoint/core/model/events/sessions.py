"""Events of generations and of the provider threads that serve them."""

from typing import ClassVar

from trimpoint.core.model.events.event import Event


class GenerationOpened(Event, frozen=True, array_like=True, tag="thread.generation-opened"):
    """A generation was opened; the generation before it is retired.

    `bootstrap`: none | turns | summary | provider (the provider thread holds the context already).
    `turn_ids` are the kept turns. `summary` is the summary of the pruned messages, and
    `summarized_messages` is their number. `skipped_items` is the number of oldest raw items of the
    first active turn that are left out because the summary covers them. `pins` are the ids of the
    pins that stand after the summary.
    """

    generation: int
    reason: str
    bootstrap: str
    turn_ids: tuple[str, ...] = ()
    summary: str | None = None
    summarized_messages: int = 0
    skipped_items: int = 0
    pins: tuple[str, ...] = ()


class ProviderThreadBound(Event, frozen=True, array_like=True, tag="thread.provider-bound"):
    """A provider thread now serves the generation. `raw_events` says whether it reports raw
    items.
    """

    private: ClassVar[frozenset[str]] = frozenset({"provider_thread_id", "rollout_path"})
    generation: int
    provider_thread_id: str
    rollout_path: str | None = None
    raw_events: bool = False


class SessionReady(Event, frozen=True, array_like=True, tag="thread.session-ready"):
    """The bootstrap is complete: the generation's provider thread holds exactly the active
    context.
    """

    generation: int


class SessionStopRequested(
    Event, frozen=True, array_like=True, tag="thread.session-stop-requested"
):
    """The release of a generation's provider thread was requested."""

    generation: int


class SessionStopped(Event, frozen=True, array_like=True, tag="thread.session-stopped"):
    """The provider thread of the generation was released.

    `retained_because` says why Codex keeps it loaded (running terminals), and is empty if Codex
    does not.
    """

    generation: int
    retained_because: str = ""


class SessionStartRequested(
    Event, frozen=True, array_like=True, tag="thread.session-start-requested"
):
    """The current generation was requested to get a provider thread that holds the active
    context.
    """

    generation: int


class ContextLost(Event, frozen=True, array_like=True, tag="thread.context-lost"):
    """Codex no longer has the conversation, and the context could not be rebuilt from the ledger.
    `message` is for a person.
    """

    generation: int
    message: str
