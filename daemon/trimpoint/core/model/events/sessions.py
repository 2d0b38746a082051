"""Events of generations and of the Codex threads that serve them."""

from typing import ClassVar

from trimpoint.core.model.events.event import Event


class GenerationOpened(Event, frozen=True, array_like=True, tag="thread.generation-opened"):
    """Retires the generation before it.

    `bootstrap`: none | turns | summary | provider (the provider keeps the context). `turn_ids` are
    the kept turns, `summary` the text that stands for what was pruned, `summarized_messages` how
    many. `skipped_items`: so many of the first active turn's oldest items are left out, because the
    summary stands for them too. `pins` are those that stand behind the
    summary.
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
    """A provider thread now serves the generation; `raw_events`: it reports the items the model
    sees.
    """

    private: ClassVar[frozenset[str]] = frozenset({"provider_thread_id", "rollout_path"})
    generation: int
    provider_thread_id: str
    rollout_path: str | None = None
    raw_events: bool = False


class SessionReady(Event, frozen=True, array_like=True, tag="thread.session-ready"):
    """The bootstrap is in place: the generation's provider thread holds exactly the active
    context.
    """

    generation: int


class SessionStopRequested(
    Event, frozen=True, array_like=True, tag="thread.session-stop-requested"
):
    """The intent to release a generation's provider thread."""

    generation: int


class SessionStopped(Event, frozen=True, array_like=True, tag="thread.session-stopped"):
    """The provider thread was released.

    `retained_because` says why it stays loaded, if it does (running terminals).
    """

    generation: int
    retained_because: str = ""


class SessionStartRequested(
    Event, frozen=True, array_like=True, tag="thread.session-start-requested"
):
    """The intent to make the current generation's session ready."""

    generation: int


class ContextLost(Event, frozen=True, array_like=True, tag="thread.context-lost"):
    """The provider no longer has the conversation and it could not be rebuilt; said, never
    silent.
    """

    generation: int
    message: str
