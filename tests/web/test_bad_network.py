"""A network that fails repeatedly while the agent works. `TRIMPOINT_E2E_LONG=n` has n times as many
failures.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import anyio
import pytest
from anyio.abc import ByteStream, SocketAttribute, SocketStream
from trimpoint.testkit import run, say

from tests.deadlines import SCENARIO_S, STEP_S
from tests.effort import longer
from tests.web.browser import needs_browser, shown, until_counted
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]

STEPS = 8 * longer()
CUT_EVERY_S = 1.0
_BREAKS = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)


@pytest.mark.thorough(reason="a page that is cut off once has every event once in test_page.py")
async def test_a_page_whose_network_breaks_each_second_loses_and_doubles_nothing(
    stage: Stage,
) -> None:
    thread_id = await stage.thread()
    daemon_port = urlsplit(stage.origin).port
    assert daemon_port is not None
    async with breaking_network(daemon_port) as (port, breaks):
        page = await (await stage.browser.new_context()).new_page()
        page.set_default_timeout(STEP_S * 1000)
        login = stage.daemon.http.addresses.login_url().url
        await page.goto(login.replace(f":{daemon_port}/", f":{port}/"))
        await page.wait_for_url(f"http://127.0.0.1:{port}/")
        await page.goto(f"http://127.0.0.1:{port}/#/thread/{thread_id}")
        await page.locator("textarea").fill("half a prom")
        with anyio.fail_after(SCENARIO_S):
            breaks.set()
            for turn in range(2):
                for step in range(STEPS // 2):
                    words = say(f"word-{turn}-{step}.", phase="commentary")
                    stage.will_answer(words + run("sleep 1"))
                stage.will_answer(say(f"end-{turn}."))
                await stage.send(f"go {turn}")
                await stage.page.locator(".main").get_by_text(f"end-{turn}.", exact=True).wait_for()
                await stage.idle()
                await stage.send("/clear 0")
                await stage.page.locator(".divider").nth(turn).wait_for()
            breaks.clear()
        await page.locator(".divider").nth(1).wait_for()
        assert breaks.count >= STEPS // 2
        assert await page.locator("textarea").input_value() == "half a prom"
        for one in (page, stage.page):
            for divider in (await one.locator(".divider button").all())[::-1]:
                await divider.click()
            await until_counted(one.locator(".turn.is-trimmed"), 2)
        assert await shown(page) == await shown(stage.page)


class Breaks:
    """Whether the network is down at present, and how often it was."""

    def __init__(self) -> None:
        self.count = 0
        self._is_on = False

    def set(self) -> None:
        self._is_on = True

    def clear(self) -> None:
        self._is_on = False

    def __bool__(self) -> bool:
        return self._is_on


@asynccontextmanager
async def breaking_network(port: int) -> AsyncGenerator[tuple[int, Breaks]]:
    """Relays to a port of this machine. Each second all connections end, as without a network."""
    breaks, streams = Breaks(), set[ByteStream]()

    async def relay(client: SocketStream) -> None:
        async with client, await anyio.connect_tcp("127.0.0.1", port) as server:
            streams.update((client, server))
            async with anyio.create_task_group() as both:
                both.start_soon(_pump, client, server)
                both.start_soon(_pump, server, client)
            streams.difference_update((client, server))

    async def break_it() -> None:
        while True:
            await anyio.sleep(CUT_EVERY_S)
            if breaks and streams:
                breaks.count += 1
                for stream in list(streams):
                    await stream.aclose()

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, relay)
        tasks.start_soon(break_it)
        yield listener.extra(SocketAttribute.local_port), breaks
        tasks.cancel_scope.cancel()


async def _pump(source: ByteStream, sink: ByteStream) -> None:
    try:
        while True:
            await sink.send(await source.receive())
    except _BREAKS:
        await source.aclose()
        await sink.aclose()
