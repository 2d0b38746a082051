"""A real Chromium for the tests of the page, and the reasons to skip them.

Needs Debian's `chromium-headless-shell` (or `chromium`), PyPI's `playwright`, and the built page
(`scripts/build-web`). TRIMPOINT_REQUIRE_BROWSER=1 makes it a failure if one is missing.
"""

import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any, cast

import anyio
import pytest
from trimpoint.http.static_files import BUILT, default_folder

from tests.deadlines import STEP_S

REQUIRED = bool(os.environ.get("TRIMPOINT_REQUIRE_BROWSER"))
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")

# Cuts the page's connection as a network does, and keeps it cut for as long as `offline` is set.
CUT = """() => {
    const Original = window.WebSocket;
    const sockets = [];
    window.offline = false;
    window.WebSocket = class extends Original {
        constructor(url, protocols) {
            super(window.offline ? "ws://127.0.0.1:9/" : url, protocols);
            sockets.push(this);
        }
    };
    window.cut = () => sockets.forEach((socket) => socket.close());
}"""


def missing() -> str:
    """Returns the reason why the tests cannot run; empty if they can."""
    if CHROMIUM is None:
        return "Chromium is not installed (Debian: chromium-headless-shell)"
    if find_spec("playwright") is None:
        return "playwright is not installed (pip install --group browser)"
    if not (default_folder() / BUILT).exists():
        return "the page is not built (scripts/build-web)"
    return ""


needs_browser = pytest.mark.skipif(bool(missing()) and not REQUIRED, reason=missing())


@asynccontextmanager
async def chromium(**options: Any) -> AsyncGenerator[Any]:
    """Yields a browser; `options` are those of its launch."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, **options)
        yield browser
        await browser.close()


@asynccontextmanager
async def emptied(browser: Any) -> AsyncGenerator[None]:
    """Closes all that was opened in a browser when the block ends, pages and cookies too."""
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            for context in browser.contexts:
                await context.close()


async def until_counted(locator: Any, count: int) -> None:
    """Waits until a locator finds this many elements.

    The page's policy forbids the usual way, which evaluates a string repeatedly.
    """
    await expected(locator).to_have_count(count, timeout=STEP_S * 1000)


def expected(of: Any) -> Any:
    """Returns playwright's assertions about a page or a locator, which wait."""
    from playwright.async_api import expect

    return cast("Any", expect)(of)


async def shown(page: Any) -> list[str]:
    rows = await page.locator(".list-row").all_inner_texts()
    return [" ".join(row.split()) for row in rows]
