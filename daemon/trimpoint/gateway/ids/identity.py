"""Translates thread and turn ids in both directions: clients use stable ids, Codex uses ids of
provider threads.
"""

import re

from msgspec import Raw

from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.gateway.ids import idmap
from trimpoint.gateway.session.clients import RAW_EVENTS
from trimpoint.gateway.session.requests.request import ClientRequest
from trimpoint.threads.registry import ThreadRegistry

# The parameters hold raw items, in which no id may be changed.
WITH_RAW_ITEMS = RAW_EVENTS | {"thread/realtime/itemAdded", "thread/inject_items"}
LARGE_PARAMS_BYTES = 64 * 1024
# The name of a fork for an operation of ours. Text has no bare quotation marks.
OWN_SOURCE = re.compile(rb'"threadSource":"trimpoint-[^"]*"')


class Identity:
    """Translates ids by the registry's index. Ids of threads that are not ours stay as they are."""

    def __init__(self, registry: ThreadRegistry) -> None:
        self._registry = registry

    def thread_of(self, any_id: str) -> str | None:
        """Returns the stable id for a stable id or a provider thread's id, or None if the thread is
        not ours.
        """
        if any_id in self._registry.summaries:
            return any_id
        return self._registry.owner_of(any_id)

    def thread_named_in(self, client_request: ClientRequest) -> str | None:
        """Returns the stable id of the thread that a request names, or None if it does not name a
        thread of ours.

        :raises Refusal: when the parameters are not an object.
        """
        named = client_request.params().get("threadId")
        return self.thread_of(named) if isinstance(named, str) else None

    def provider_of(self, thread_id: str) -> str | None:
        """Returns the id of the provider thread that serves a thread at present, or None if it has
        none yet.
        """
        writer = self._registry.loaded(thread_id)
        if writer is not None and writer.state.generations:
            return writer.state.generation.provider_thread_id
        summary = self._registry.summaries.get(thread_id)
        return (
            summary.provider_thread_ids[-1]
            if summary is not None and summary.provider_thread_ids
            else None
        )

    def to_client(self, message: bytes) -> bytes:
        """Returns a message of Codex with its provider ids replaced by stable ids."""
        if not self._registry.renamed or not idmap.mentions_any(message, self._registry.renamed):
            return message
        shown = idmap.rewrite_ids_in_encoded(message, self._registry.renamed.get)
        return OWN_SOURCE.sub(b'"threadSource":null', shown)

    def error_to_client(self, error: Exception) -> Exception:
        """Returns an error of Codex with stable ids in it; any other exception unchanged."""
        if not isinstance(error, ProviderError) or not idmap.mentions_any(
            bytes(error.raw), self._registry.renamed
        ):
            return error
        raw = Raw(idmap.rewrite_ids_in_error(bytes(error.raw), self._registry.renamed.get))
        return ProviderError(error.code, error.message, error.data, raw)

    def notification_to_client(self, method: str, line: bytes) -> bytes:
        """Returns a notification of Codex with stable ids in it. Deltas are not decoded, and raw
        items stay unchanged.
        """
        if not self._registry.renamed:
            return line
        if method.endswith(("delta", "Delta")):
            shown = idmap.rewrite_thread_id(line, self._registry.renamed.get)
            return (
                idmap.rewrite_turn_id(shown, self._registry.renamed.get)
                if self._registry.retried
                else shown
            )
        if method in WITH_RAW_ITEMS:
            return idmap.rewrite_ids_in_line(line, self._registry.renamed.get)
        return self.to_client(line)

    def run_to_client(self, method: str, lines: list[bytes]) -> bytes:
        """Returns notifications joined by newlines, with stable ids in them.

        The notifications are identical up to the end of their thread id, which is therefore looked
        up only once.
        """
        if not self._registry.renamed:
            return b"\n".join(lines)
        if method.endswith(("delta", "Delta")) and not self._registry.retried:
            return idmap.rewrite_thread_id_of_run(lines, self._registry.owner_of)
        return b"\n".join(self.notification_to_client(method, line) for line in lines)

    def to_provider(self, params: bytes, method: str = "") -> bytes:
        """Returns a client's parameters with provider ids in them. If `method` carries raw items,
        those stay unchanged.
        """
        if not idmap.mentions_any(params, self._registry.summaries):
            return params
        if method in WITH_RAW_ITEMS:
            return idmap.rewrite_ids_in_params(params, self._provider_if_ours)
        if len(params) > LARGE_PARAMS_BYTES and params.startswith(b"{"):
            return idmap.rewrite_ids_in_large_object(params, self._provider_if_ours)
        return idmap.rewrite_ids_in_encoded(params, self._provider_if_ours)

    def turn_of(self, any_id: str) -> str:
        """Returns the id by which clients know a turn, for that id or for Codex's."""
        return self._registry.renamed.get(any_id, any_id)

    def provider_turn(self, turn_id: str) -> str:
        """Returns Codex's id of a turn."""
        return self._registry.retried.get(turn_id, turn_id)

    def _provider_if_ours(self, any_id: str) -> str | None:
        return (
            self.provider_of(any_id)
            if any_id in self._registry.summaries
            else self._registry.retried.get(any_id)
        )
