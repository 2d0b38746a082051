"""A page over a slow link: what it asks for while it is itself still on its way."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from tests.web.browser import needs_browser, until_counted
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]

FOLLOWED = '"orchestration/subscribeThread"'


@asynccontextmanager
async def asked_before_its_script(stage: Stage) -> AsyncGenerator[list[str]]:
    """Reloads the page without its script until a thread was asked for and the block has ended.
    Yields what was sent to the daemon, and goes on filling it.
    """
    released, asked, sent = anyio.Event(), anyio.Event(), list[str]()

    async def hold(route: Any) -> None:
        await released.wait()
        await route.continue_()

    def note(frame: Any) -> None:
        sent.append(str(frame))
        if FOLLOWED in str(frame):
            asked.set()

    def listen(socket: Any) -> None:
        socket.on("framesent", note)

    await stage.page.route("**/main.js", hold)
    stage.page.on("websocket", listen)
    await stage.page.reload(wait_until="commit")
    await asked.wait()
    yield sent
    released.set()


async def test_a_thread_is_asked_for_once_and_before_the_script_of_the_page_is_there(
    stage: Stage,
) -> None:
    await stage.thread()
    await stage.turns("one?|apple-1.", "two?|pear-2.")
    async with asked_before_its_script(stage) as sent:
        pass
    await stage.page.locator(".main").get_by_text("pear-2.", exact=True).wait_for()
    await stage.turns("three?|plum-3.")
    for method in (FOLLOWED, '"initialize"'):
        assert [method in frame for frame in sent].count(True) == 1
    answers = await stage.page.locator(".answer").all_inner_texts()
    assert answers == ["apple-1.", "pear-2.", "plum-3."]


async def test_another_thread_that_is_named_meanwhile_is_the_one_that_is_shown(
    stage: Stage,
) -> None:
    first = await stage.thread()
    await stage.turns("one?|apple-1.")
    await stage.thread()
    await stage.turns("two?|pear-2.")
    async with asked_before_its_script(stage):
        await stage.page.evaluate("(id) => { location.hash = `#/thread/${id}`; }", first)
    await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    await stage.turns("three?|plum-3.")
    await until_counted(stage.page.locator(".answer"), 2)
