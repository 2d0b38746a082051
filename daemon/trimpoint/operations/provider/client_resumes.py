"""A client's own `thread/resume`, kept until it is known whether it loads the thread.

Codex takes a model, instructions, approvals and a sandbox from the request that loads a thread, and
from no later one. So the client's own request has to load it, and notifications about the thread
wait until the client has its answer.
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

from msgspec import Raw

from trimpoint.operations.provider.settings import lasting

# Parameters that name the conversation to load in another way than by id; Codex compares them with
# a loaded thread.
OTHER_SOURCES = ("history", "path")


class ClientResume:
    """A client's `thread/resume` with the parameters `params`.

    `is_alone` returns whether no client takes part in the thread. `answer` is Codex's answer once
    the request has loaded `provider_id`. Use the object as a context manager, and answer the client
    within the block: notifications that were held back are passed on when it ends.
    """

    def __init__(self, params: dict[str, Any], is_alone: Callable[[], bool]) -> None:
        self.params = params
        self.is_alone = is_alone
        self.answer: Raw | None = None
        self.provider_id: str | None = None
        self.is_used = False
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()

    @property
    def may_load(self) -> bool:
        """Returns whether the request can load the thread once the provider thread's id is put into
        it.
        """
        return not any(self.params.get(name) for name in OTHER_SOURCES)

    @property
    def overrides(self) -> dict[str, Any]:
        """Returns the parameters that change a setting of the thread; empty if the request cannot
        load it.
        """
        return lasting(self.params) if self.may_load else {}

    def wants_reload(self) -> bool:
        """Returns whether a loaded thread has to be loaded again for these parameters, as Codex
        does for a thread without subscribers (measured: 0.163).
        """
        return bool(self.overrides) and not self.is_used and self.is_alone()

    def request_for(self, provider_id: str) -> dict[str, Any]:
        """Returns the request's parameters for a provider thread, and marks the request as used."""
        self.is_used = True
        self.provider_id = provider_id
        return {**self.params, "threadId": provider_id}

    def pause(self, pausing: Any) -> None:
        """Enters the context manager `pausing`, and leaves it at the end of this object's own
        block.
        """
        self._stack.enter_context(pausing)
