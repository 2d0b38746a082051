"""A client's own `thread/resume`, kept until it is known whether it loads the thread.

Codex takes a model, instructions, approvals and a sandbox from the request that loads a thread, and
from no later one. So the client's request itself has to be that one, and what Codex says of the
thread meanwhile waits until the client is answered.
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

from msgspec import Raw

from trimpoint.operations.provider.settings import lasting

# These say which conversation to load, in other words than its id; Codex compares them with a
# thread that is loaded.
OTHER_SOURCES = ("history", "path")


class ClientResume:
    """`params` are the client's. `is_alone` tells whether no client takes part in the thread.

    `answer` is Codex's answer once the request has loaded `provider_id`. Use it as a context
    manager: what was said of the thread is passed on when the block ends, so answer the client
    within it.
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
        """Returns whether the request, with the provider thread's id in it, can load the thread."""
        return not any(self.params.get(name) for name in OTHER_SOURCES)

    @property
    def overrides(self) -> dict[str, Any]:
        """Returns the parameters that set something on the thread."""
        return lasting(self.params) if self.may_load else {}

    def wants_reload(self) -> bool:
        """Returns whether a loaded thread has to be loaded anew, as Codex does where no connection
        is subscribed (measured: 0.163).
        """
        return bool(self.overrides) and not self.is_used and self.is_alone()

    def request_for(self, provider_id: str) -> dict[str, Any]:
        """Returns the request's parameters for a provider thread; from now on the request counts as
        used.
        """
        self.is_used = True
        self.provider_id = provider_id
        return {**self.params, "threadId": provider_id}

    def pause(self, pausing: Any) -> None:
        """Enter the context manager `pausing`, to be left when the block of this one ends."""
        self._stack.enter_context(pausing)
