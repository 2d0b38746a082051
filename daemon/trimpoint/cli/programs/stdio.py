"""`trimpoint stdio`: connects a client on stdin and stdout to the daemon.

This process only relays bytes. If no daemon runs, it first starts one in the background, which
continues to serve other clients when this process or its client ends.
"""

import argparse
import os
from contextlib import suppress
from functools import cache, partial

import anyio
import orjson
import structlog
from trimpoint_protocol.errors import ERROR_KINDS, Reason
from trimpoint_protocol.methods import ProfileParams
from trimpoint_protocol.peer import Asked

from trimpoint import event_loop
from trimpoint.cli.connection.attach import DaemonLeft, attach
from trimpoint.cli.connection.background import Launch, launch_of, socket_of_daemon
from trimpoint.cli.connection.profile import profile_of
from trimpoint.cli.connection.serving.foreground import StopSignals, run_daemon
from trimpoint.cli.connection.settings import settings_of
from trimpoint.cli.exits import CliError, Exit, NoDaemon
from trimpoint.logging import configure_logging
from trimpoint.transport.client_stream import Transport
from trimpoint.transport.connection import Connection
from trimpoint.transport.inbox import ClientMessage
from trimpoint.transport.limits import Limits
from trimpoint.transport.listeners import ListenError, take_stdio

log = structlog.get_logger()

# A daemon may end in the moment in which it is found; another one then takes its place.
_ATTEMPTS = 5


def run(arguments: argparse.Namespace) -> int:
    """Serves the client until it closes its output.

    :raises CliError: when no daemon could be started, or the running one cannot be used; the
        client's first request has been answered with this error.
    """
    try:
        return _run(arguments)
    except NoDaemon:
        raise
    except CliError as error:
        with suppress(ListenError):
            event_loop.run(refuse_client, _stdio(), error)
        raise


@cache
def _stdio() -> Transport:
    """Returns the transport of the client on stdin and stdout; these are moved to other file
    descriptors once.
    """
    return take_stdio()


def _run(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    launch = launch_of(settings, arguments)
    profile = profile_of(arguments, os.environ)
    return run_daemon(settings, partial(_serve, launch, profile))


async def _serve(launch: Launch, profile: ProfileParams, stop: StopSignals) -> int:
    # Not closed here: should it come to nothing, the client still gets the reason.
    transport = _stdio()
    async with anyio.create_task_group() as tasks:

        async def until_asked() -> None:
            log.info("stopping", asked_by=(await stop.wait()).name)
            tasks.cancel_scope.cancel()

        tasks.start_soon(until_asked)
        await _attach(launch, profile, transport)
        tasks.cancel_scope.cancel()
    return Exit.DONE


async def _attach(launch: Launch, profile: ProfileParams, transport: Transport) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        place = await socket_of_daemon(launch)
        try:
            await attach(launch.settings, profile, place, transport)
        except DaemonLeft as left:
            if attempt == _ATTEMPTS:
                raise
            log.info("daemon_left", socket=str(place), problem=left.message)
        else:
            return


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
