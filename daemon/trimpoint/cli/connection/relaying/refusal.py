"""Answers the first request of a client on stdin and stdout with the error that keeps it from being
served.

Standard error is not enough: a desktop shell may hide what its child writes there, and the official
Python SDK reads it too late to show it (measured: 0.163).
"""

import anyio
import orjson
import structlog
from trimpoint_protocol.errors import ERROR_KINDS, Reason
from trimpoint_protocol.peer import Asked

from trimpoint.cli.exits import CliError
from trimpoint.logging import configure_logging
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.connection import Connection
from trimpoint.transport.inbox import ClientMessage
from trimpoint.transport.limits import Limits

# For a client that says nothing: it is not waited for longer than a person would notice.
_PATIENCE_S = 1.0


async def refuse_client(transport: Transport, error: CliError) -> None:
    """Answers the client's first request with `error`, then closes the connection."""
    if not structlog.is_configured():
        configure_logging("error")
    refusal = {
        "code": ERROR_KINDS[Reason.PROVIDER_UNAVAILABLE].code,
        "message": error.message,
        "data": {"reason": error.reason, "retryable": False, "hint": error.hint},
    }

    def on_message(connection: Connection, message: ClientMessage) -> None:
        if isinstance(message, Asked):
            connection.refuse(message, orjson.dumps(refusal))
            connection.close("it was refused")

    with anyio.move_on_after(_PATIENCE_S):
        await Connection(transport, Limits(), on_message).run()
