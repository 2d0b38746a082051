"""Serves an editor on stdin and stdout."""

import asyncio
import os
import signal
import sys
from contextlib import suppress

from trimpoint_protocol.locations import codex_home_to_ask_for

from trimpoint.acp.agent import Agent
from trimpoint.acp.connection.daemon import DaemonLink, FindDaemon
from trimpoint.acp.connection.stdio import Stdio
from trimpoint.streams.ends import take_standard_streams

# At the end of the editor this process ends within a second.
ANSWER_DEADLINE_S, CLOSE_DEADLINE_S = 0.3, 0.6


async def serve(find: FindDaemon, version: str) -> None:
    """Serves the editor until it closes its output, stops reading, or a signal requests the end."""
    stdio = Stdio(*take_standard_streams())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stdio.ended.set)
    link = DaemonLink(find, version, codex_home_to_ask_for(os.environ))
    agent = Agent(link, stdio.send, dict(os.environ), version)
    stdio.start(agent.take)
    pacing = loop.create_task(_keep_pace(stdio, link))
    await stdio.ended.wait()
    pacing.cancel()
    with suppress(TimeoutError):
        async with asyncio.timeout(ANSWER_DEADLINE_S):
            await agent.settled()
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_DEADLINE_S):
            await agent.close()
    link.close()
    stdio.close()
    sys.stderr.flush()


async def _keep_pace(stdio: Stdio, link: DaemonLink) -> None:
    """Stops reading from the daemon while the editor does not read."""
    while True:
        await stdio.full.wait()
        link.pause()
        await stdio.room()
        link.resume()
