"""Keeps the handles of different clients apart: ids that clients choose for a process, a watch or a
request.

Always true: for Codex, a handle and its object belong to a connection (measured: 0.163). Two
connections may use the same handle, only the connection that chose it is notified, and the object
ends with that connection. Codex has only one connection, the daemon's. So each client's handles get
a prefix of that client, and when a client disconnects, its objects are ended.

`HANDLE_TYPES` and `CANCELS` are complete: a new pair of methods is one row. A notification that
does not name a client's handle is passed on like any other.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import anyio
import msgspec
import structlog
from msgspec import Raw
from trimpoint_protocol import jsonrpc

from trimpoint.codex.appserver.errors import ProviderError, ProviderFailure
from trimpoint.codex.appserver.peer import Outcome
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.gateway.ids.handle_types import CANCELS, HANDLE_TYPES, REQUEST_ID, Cancel, HandleType
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.clients import Client, Clients, Delivery
from trimpoint.gateway.session.requests.request import ClientRequest, Handler

log = structlog.get_logger()

_NOTIFIED_TYPES = {method: kind for kind in HANDLE_TYPES for method in kind.notifications}
_CANCELS = {cancel.method: cancel for cancel in CANCELS}
_NOTIFIED_REQUESTS = frozenset(method for cancel in CANCELS for method in cancel.notifications)


class _Request:
    """A request under way that can be cancelled. `provider_id` is its id with Codex, or None if it
    was not sent.
    """

    def __init__(self, client_request: ClientRequest, cancel: Cancel) -> None:
        self.client_request = client_request
        self.cancel = cancel
        self.provider_id: int | None = None
        self.settled = anyio.Event()
        """Set when the request was sent, or has ended without being sent."""

    def is_named(self, client: Client, cancel: Cancel, request_id: bytes) -> bool:
        mine = self.client_request.client is client and self.cancel is cancel
        return mine and jsonrpc.id_key(self.client_request.message.id) == jsonrpc.id_key(request_id)


class Handles:
    """The handles of all clients. `wrap` translates handles in requests, `route_notification` in
    Codex's notifications.
    """

    def __init__(self, clients: Clients, link: CodexLink, identity: Identity) -> None:
        self._clients = clients
        self._link = link
        self._identity = identity
        self._active: dict[str, Counter[tuple[HandleType, str]]] = {}
        self._requests: list[_Request] = []
        self._numbers = count(1)

    def wrap(self, handlers: dict[str, Handler], forward: Handler) -> dict[str, Handler]:
        """Returns the handlers, with handlers added that translate handles before they call the
        inner one.

        The inner handler of a method that is not in `handlers` is `forward`.
        """
        return {**handlers, **dict(self._handlers(lambda method: handlers.get(method, forward)))}

    def route_notification(self, message: CodexMessage) -> bool:
        """Sends a notification to the client whose handle it names. Returns False if it does not
        name a client's handle.
        """
        if message.method in _NOTIFIED_TYPES:
            return self._route_to_holder(_NOTIFIED_TYPES[message.method], message)
        return message.method in _NOTIFIED_REQUESTS and self._route_to_requester(message)

    def is_to_cancel(self, client_request: ClientRequest) -> bool:
        """Returns whether the request cancels a request of the same client that is under way with
        this Codex.
        """
        cancel = _CANCELS.get(client_request.method)
        if cancel is None or not self._requests:
            return False
        params = _members(client_request.message.params)
        request_id = _cancelled_id(params)
        return request_id is not None and any(
            request.is_named(client_request.client, cancel, request_id)
            for request in self._requests
        )

    def release(self, client: Client) -> None:
        """Ends the objects and requests of a disconnected client, as Codex does when a connection
        closes.
        """
        for kind, handle in self._active.pop(client.id, ()):
            if kind.ends is not None:
                self._ask_to_end(kind.ends, {kind.member: handle})
        for request in self._requests:
            if request.client_request.client is client and request.provider_id is not None:
                self._ask_to_end(request.cancel.method, {REQUEST_ID: request.provider_id})

    def forget_epoch(self) -> None:
        """Forgets all handles, because the Codex that knew them has ended."""
        self._active.clear()  # requests under way fail by themselves

    # --- handles ---

    def _handlers(self, inner: Callable[[str], Handler]) -> Iterator[tuple[str, Handler]]:
        for kind in HANDLE_TYPES:
            for method in filter(None, (kind.starts, kind.ends, *kind.uses)):
                yield method, self._for_kind(kind, inner(method))
        for cancel in CANCELS:
            yield cancel.method, self._for_cancel(cancel, inner(cancel.method))
            for method in cancel.requests:
                yield method, self._for_cancellable(cancel, inner(method))

    def _for_kind(self, kind: HandleType, inner: Handler) -> Handler:
        async def handle(client_request: ClientRequest) -> Any:
            named = self._named(kind, client_request)
            if named is None:
                return await inner(client_request)
            try:
                if client_request.method == kind.starts:
                    return await self._start(kind, named, client_request, inner)
                result = await inner(client_request)
            except ProviderError as error:
                raise _with_client_handles(error, client_request.client.id) from error
            if client_request.method == kind.over:
                self._release(client_request.client.id, kind, named)
            return result

        return handle

    async def _start(
        self, kind: HandleType, handle: str, client_request: ClientRequest, inner: Handler
    ) -> Any:
        # Awaited first, so that nothing is awaited between the check of the client and the request:
        # what is started for a disconnected client would never be ended.
        await self._link.connected()
        if not self._clients.has(client_request.client):
            return None
        self._active.setdefault(client_request.client.id, Counter())[kind, handle] += 1
        try:
            result = await inner(client_request)
        except BaseException:
            self._release(client_request.client.id, kind, handle)
            raise
        if kind.over == kind.starts:
            self._release(client_request.client.id, kind, handle)
        return result

    def _release(self, client_id: str, kind: HandleType, handle: str) -> None:
        """Releases one use of a handle.

        Uses are counted, because a second start under a handle in use is refused and leaves the
        first one running.
        """
        held = self._active.get(client_id, Counter())
        held[kind, handle] -= 1
        if held[kind, handle] <= 0:
            del held[kind, handle]

    def _named(self, kind: HandleType, client_request: ClientRequest) -> str | None:
        """Replaces the client's handle in the request by the prefixed one, and returns that.

        Returns None, and changes nothing, if the parameters hold no valid handle; Codex then
        answers with its own error.
        """
        params = _members(client_request.message.params)
        if params is None:
            return None
        handle = self._name_for(kind, client_request, params)
        if handle is not None:
            _set_member(client_request, params, kind.member, handle)
        return handle

    def _name_for(
        self, kind: HandleType, client_request: ClientRequest, params: dict[str, Raw]
    ) -> str | None:
        chosen = msgspec.json.decode(params.get(kind.member, Raw(b"null")))
        if isinstance(chosen, str):
            return (
                None
                if kind.refuses_empty and not chosen
                else _prefix(client_request.client.id) + chosen
            )
        if chosen is None and client_request.method == kind.starts and kind.needed_for is not None:
            is_needed = any(bytes(params.get(member, b"")) == b"true" for member in kind.needed_for)
            return (
                None
                if is_needed
                else f"{_prefix(client_request.client.id)[:-1]}#{next(self._numbers)}"
            )
        return None

    def _route_to_holder(self, kind: HandleType, message: CodexMessage) -> bool:
        handle = message.member(kind.member)
        client_id, chosen = _split_handle(handle) if isinstance(handle, str) else (None, "")
        if client_id is None:
            return False
        if message.method == kind.over:
            self._release(client_id, kind, str(handle))
        client = self._clients.by_id(client_id)
        self._send_to(client, message, kind.member, msgspec.json.encode(chosen))
        return True

    # --- requests that can be cancelled ---

    def _for_cancellable(self, cancel: Cancel, inner: Handler) -> Handler:
        async def handle(client_request: ClientRequest) -> Any:
            request = _Request(client_request, cancel)
            client_request.on_sent = lambda provider_id: self._sent(request, provider_id)
            self._requests.append(request)
            try:
                return await inner(client_request)
            finally:
                request.settled.set()
                if request in self._requests:
                    self._requests.remove(request)

        return handle

    def _sent(self, request: _Request, provider_id: int) -> None:
        request.provider_id = provider_id
        request.settled.set()
        if not self._clients.has(request.client_request.client):
            self._ask_to_end(request.cancel.method, {REQUEST_ID: provider_id})

    def _for_cancel(self, cancel: Cancel, inner: Handler) -> Handler:
        async def handle(client_request: ClientRequest) -> Any:
            params = _members(client_request.message.params)
            request_id = _cancelled_id(params)
            if params is not None and request_id is not None:
                _set_member(
                    client_request,
                    params,
                    REQUEST_ID,
                    await self._provider_id(client_request.client, cancel, request_id),
                )
            return await inner(client_request)

        return handle

    async def _provider_id(self, client: Client, cancel: Cancel, request_id: bytes) -> int | str:
        """Returns Codex's id of the client's request, or an id that no request has if the client
        has no such request.
        """
        for request in self._requests:
            if request.is_named(client, cancel, request_id):
                await request.settled.wait()
                if request.provider_id is not None:
                    return request.provider_id
        return _prefix(client.id) + request_id.decode()

    def _route_to_requester(self, message: CodexMessage) -> bool:
        provider_id = message.member(REQUEST_ID)
        for request in self._requests:
            if request.provider_id == provider_id:
                self._send_to(
                    request.client_request.client,
                    message,
                    REQUEST_ID,
                    request.client_request.message.id,
                )
        return True  # the client has its answer, or has disconnected

    # --- both ---

    def _send_to(
        self, client: Client | None, message: CodexMessage, member: str, value: bytes
    ) -> None:
        method = message.method
        if client is not None and self._clients.has(client) and client.wants(None, method):
            shown = self._identity.notification_to_client(method, message.line)
            Delivery(method, lambda: _with_member(shown, member, value)).to((client,))

    def _ask_to_end(self, method: str, params: dict[str, Any]) -> None:
        peer = self._link.peer
        if peer is None:
            return
        try:
            peer.begin(method, params, deadline_s=self._link.request_deadline_s, on_outcome=_ended)
        except ProviderFailure as error:
            _ended(error)


def _prefix(client_id: str) -> str:
    """Returns the prefix of a client's handles. It does not occur in texts of Codex, so that it can
    be removed from error messages.
    """
    return f"trimpoint-{client_id}/"


def _split_handle(handle: str) -> tuple[str | None, str]:
    """Returns the client id and the handle that the client chose; the client id is None if the
    handle has no prefix of ours.
    """
    owner, slash, chosen = handle.partition("/")
    ours = slash and owner.startswith("trimpoint-")
    return (owner.removeprefix("trimpoint-"), chosen) if ours else (None, handle)


def _with_client_handles(error: ProviderError, client_id: str) -> ProviderError:
    prefix = _prefix(client_id)
    raw = bytes(error.raw).replace(prefix.encode(), b"")
    return ProviderError(error.code, error.message.replace(prefix, ""), error.data, Raw(raw))


def _cancelled_id(params: dict[str, Raw] | None) -> bytes | None:
    """Returns the id of the request to be cancelled, as JSON; None if the parameters hold no valid
    id.
    """
    request_id = bytes(params.get(REQUEST_ID, b"")) if params is not None else b""
    is_id = request_id[:1] == b'"' or request_id.removeprefix(b"-").isdigit()
    return request_id if is_id else None


def _members(params: Raw | None) -> dict[str, Raw] | None:
    """Returns the members of a JSON object, each undecoded; None if the parameters are not an
    object.
    """
    try:
        return msgspec.json.decode(params or b"null", type=dict[str, Raw])
    except msgspec.MsgspecError:
        return None


def _set_member(
    client_request: ClientRequest, params: dict[str, Raw], member: str, value: str | int
) -> None:
    encoded = msgspec.json.encode({**params, member: value})
    client_request.message = msgspec.structs.replace(client_request.message, params=Raw(encoded))


def _with_member(line: bytes, member: str, value: bytes) -> bytes:
    """Returns a notification with one parameter replaced. All other parameters stay byte for byte
    the same.
    """
    message = msgspec.json.decode(line, type=dict[str, Raw])
    params = msgspec.json.decode(message["params"], type=dict[str, Raw])
    return msgspec.json.encode({**message, "params": {**params, member: Raw(value)}})


def _ended(outcome: Outcome) -> None:
    if isinstance(outcome, ProviderFailure):
        log.info("nothing_to_end", detail=str(outcome))
