"""Explains `/clear 3` in Codex's own terminal UI, where it starts a new thread with the name "3"
and trims nothing.
"""

import re
from typing import Any

from trimpoint.gateway.commands.lone_messages import send_lone_message
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.codex_tui import is_codex_tui
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.threads.registry import ThreadRegistry


class ClearHint:
    """Wraps `rename`, the handler of `thread/name/set`, and sends the hint after its answer."""

    def __init__(self, registry: ThreadRegistry, identity: Identity, rename: Handler) -> None:
        self._registry = registry
        self._identity = identity
        self._rename = rename
        self.handlers: dict[str, Handler] = {"thread/name/set": self._name_set}

    async def _name_set(self, client_request: ClientRequest) -> Any:
        answer = await self._rename(client_request)
        client_request.answer(answer)
        thread_id, name = (
            self._identity.thread_named_in(client_request),
            str(client_request.params().get("name")),
        )
        writer = self._registry.loaded(thread_id) if thread_id is not None else None
        is_new = writer is not None and not writer.state.turns
        if (
            thread_id is not None
            and is_new
            and is_codex_tui(client_request.client)
            and re.fullmatch(r"[0-9]{1,4}", name)
        ):
            send_lone_message([client_request.client], thread_id, _hint(name))
        return answer


def _hint(name: str) -> str:
    return (
        f"This is a new chat with the name “{name}”; nothing was trimmed. To keep the last turns "
        "of a chat in its context, "
        f"go back to it with /resume and type :clear {name}, with a colon."
    )
