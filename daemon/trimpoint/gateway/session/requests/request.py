"""One request of a client and its one response."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import structlog
from anyio.lowlevel import checkpoint
from msgspec import Raw
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.lenient import as_dict
from trimpoint_protocol.peer import Asked

from trimpoint.gateway.session.clients import Client
from trimpoint.gateway.session.requests.errors import Refusal, WireError, as_wire_error
from trimpoint.gateway.session.requests.sizes import CONTENT

LARGE_MESSAGE_BYTES = 256 * 1024

_decode_members = msgspec.json.Decoder(dict[str, Raw] | None).decode

log = structlog.get_logger()


class ClientRequest:
    """A client's request. Exactly one of `answer` and `refuse` is called; a value that the handler
    returns is sent as the answer.
    """

    def __init__(self, client: Client, asked: Asked) -> None:
        self.client = client
        self.message = asked.request
        self.is_answered = False
        self.on_sent: Callable[[int], None] | None = None
        """Receives the id under which the request was forwarded to Codex."""
        self.amend: Callable[[Any], Any] | None = None
        """Changes the result before it is sent."""
        self._asked = asked
        self._members: tuple[Raw, dict[str, Raw]] | None = None

    @property
    def method(self) -> str:
        """Returns the request's method."""
        return self.message.method

    @property
    def is_large(self) -> bool:
        """Returns whether each step with the whole message takes noticeable time."""
        return len(self.message.wire) > LARGE_MESSAGE_BYTES

    def members(self) -> dict[str, Raw]:
        """Returns the members of the parameters, each undecoded; none when the parameters are
        absent. Of a large message they are found once.

        :raises Refusal: when the parameters are not an object.
        """
        raw = self.message.params
        if raw is None:
            return {}
        if self._members is not None and self._members[0] is raw:
            return self._members[1]
        members = members_of(self.method, raw)
        if self.is_large:
            self._members = (raw, members)
        return members

    def params(self) -> dict[str, Any]:
        """Returns the parameters as an object, empty when they are absent. The content of a large
        message (`sizes.CONTENT`) stays undecoded: it is a `Raw`.

        :raises Refusal: when they are not an object.
        """
        if self.is_large:
            return self._params_beside_content()
        raw = self.message.params
        decoded = None if raw is None else msgspec.json.decode(raw)
        if not isinstance(decoded, dict | None):
            raise _not_an_object(self.method)
        return {} if decoded is None else as_dict(decoded)

    def _params_beside_content(self) -> dict[str, Any]:
        content = CONTENT.get(self.method)
        left_raw = None if content is None else content.member
        return {
            name: text if name == left_raw else msgspec.json.decode(text)
            for name, text in self.members().items()
        }

    async def let_others_on(self) -> None:
        """Yields to the event loop if the message is large, so that other tasks run between two
        steps with it.
        """
        if self.is_large:
            await checkpoint()

    def answer(self, result: Any) -> None:
        """Sends the result; bytes and `Raw` are taken as JSON. Does nothing if the request was
        answered already.
        """
        if not self.is_answered:
            result = result if self.amend is None else self.amend(result)
            self.client.connection.answer(self._asked, result)
            # Set only now: if the result cannot be encoded, an error can still be sent.
            self.is_answered = True

    def refuse(self, error: Exception) -> None:
        """Sends an error for the exception `error`. If the request was answered already, only logs
        it.
        """
        error_object = as_wire_error(error)
        if self.is_answered:
            log.error("failed_after_its_answer", method=self.method, detail=error_object.message)
        else:
            self.refuse_with(error_object)

    def refuse_with(self, error: WireError) -> None:
        """Sends an error object, unless the request was answered already."""
        if not self.is_answered:
            self.is_answered = True
            self.client.connection.refuse(self._asked, error.encode())


def members_of(method: str, params: Raw) -> dict[str, Raw]:
    """Returns the members of a method's parameters, each undecoded.

    :raises Refusal: when the parameters are not an object.
    """
    try:
        return _decode_members(params) or {}
    except msgspec.ValidationError as error:
        raise _not_an_object(method) from error


def _not_an_object(method: str) -> Refusal:
    return Refusal(Reason.INVALID_PARAMS, f"{method} takes its parameters as an object.")


Handler = Callable[[ClientRequest], Awaitable[Any]]
"""Handles a request: returns its result, or answers the request itself and returns None."""
