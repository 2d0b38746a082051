"""`trimpoint acp`: connects an editor that speaks the Agent Client Protocol on stdin and stdout to
Codex.

An editor runs one such process for each window, so it is kept small: a daemon is started by another
process, and modules that only people need are not imported.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path

from trimpoint import __version__
from trimpoint.acp.connection.daemon import DaemonMissing
from trimpoint.acp.serve import serve
from trimpoint.cli.connection.endpoint import read_published_socket
from trimpoint.cli.connection.settings import Settings, settings_of
from trimpoint.cli.exits import CliError, Exit

START_DEADLINE_S = 90.0


def run(arguments: argparse.Namespace) -> int:
    """Serves the editor until it closes its output.

    :raises CliError: when the daemon could not be started.
    """
    if arguments.login:
        from trimpoint.cli.programs.codex_itself import become

        become(["login"])
    if arguments.start_daemon:
        return _start_daemon(arguments)
    settings = settings_of(arguments)
    # asyncio's own handlers of signals, which `serve` sets, wake the event loop too.
    asyncio.run(serve(lambda: _find(settings), __version__))  # noqa: TID251
    return Exit.DONE


async def _find(settings: Settings) -> Path:
    """Returns the socket of a running daemon; starts one if none answers.

    :raises DaemonMissing: when it could not be started.
    """
    for place in _places(settings):
        if await _answers(place):
            return place
    return await _started()


def _places(settings: Settings) -> list[Path]:
    published = None if settings.socket_is_named else read_published_socket(settings.state_dir)
    # The published one is of this state directory; the default one may be another's.
    return [settings.socket] if settings.socket_is_named else [published] if published else []


async def _answers(place: Path) -> bool:
    try:
        _, writer = await asyncio.open_unix_connection(str(place))
    except OSError:
        return False
    writer.close()
    return True


async def _started() -> Path:
    command = [sys.executable, "-P", "-m", "trimpoint", *sys.argv[1:], "--start-daemon", "--json"]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(START_DEADLINE_S):
            said, _ = await process.communicate()
        answer = json.loads(said)
    except (TimeoutError, ValueError):
        raise DaemonMissing("It did not start in time; see its log.") from None
    if "error" in answer:
        raise DaemonMissing(
            " ".join(filter(None, (answer["error"]["message"], answer["error"]["hint"])))
        )
    return Path(answer["socket"])


def _start_daemon(arguments: argparse.Namespace) -> int:
    from trimpoint import event_loop
    from trimpoint.cli.connection.background import launch_of, socket_of_daemon

    launch = launch_of(settings_of(arguments), arguments)
    try:
        socket = event_loop.run(socket_of_daemon, launch)
    except OSError as error:
        raise CliError(
            f"The daemon could not start: {error}.", reason="daemon_not_started"
        ) from None
    print(json.dumps({"socket": str(socket)}), flush=True)
    return Exit.DONE
