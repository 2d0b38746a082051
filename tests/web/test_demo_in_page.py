"""`trimpoint demo --web`: the conversation runs in the page, and ends with Ctrl-C."""

import signal

import pytest

from tests.cli.stage import CODEX, opened_stage
from tests.deadlines import STEP_S
from tests.web.browser import chromium, needs_browser

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]


async def test_the_demo_is_played_in_the_page() -> None:
    async with opened_stage() as stage, chromium() as browser:
        words = ("demo", "--web", "--print", "--plain", "--codex", str(CODEX))
        environment = stage.environment | {"XDG_CACHE_HOME": str(stage.codex_home / "cache")}
        async with stage.running(*words, env=environment) as demo:
            await demo.said("begins when the page is there")
            page = await browser.new_page()
            page.set_default_timeout(STEP_S * 1000)
            await page.goto(demo.out.split()[0])
            await page.get_by_label("Context compacted", exact=True).wait_for()
            await page.get_by_role("link", name="Go on there").click()
            await (
                page.locator(".main")
                .get_by_text("Nothing yet; shall I look at the files?")
                .wait_for()
            )
            await demo.said("until you press Ctrl-C")
            assert "✓ Pruned text in the model's input: none;" in demo.out
            demo.process.send_signal(signal.SIGINT)
            assert await demo.ended() == 0
