"""A scripted model, the real Codex, the daemon, and the page in a browser."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, NamedTuple

import anyio
import msgspec
from trimpoint.app import Daemon, running_daemon
from trimpoint.cli.connection.client import Client
from trimpoint.config.sections import DiscardSection, FleetSection, HttpSection
from trimpoint.testkit import Reply, say
from trimpoint.transport.listeners import serve_unix

from tests.deadlines import SCENARIO_S, STEP_S
from tests.e2e.conftest import Harness, opened_harness
from tests.web.browser import emptied

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PASTE = """async (data) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], "dot.png", {type: "image/png"}));
    document.querySelector("textarea").dispatchEvent(
        new ClipboardEvent("paste", {clipboardData: transfer, bubbles: true, cancelable: true}));
}"""

SETTINGS = {"approvalPolicy": "never", "sandbox": "danger-full-access"}


class Stage(NamedTuple):
    """`page` shows the daemon, and `client` is a second client of it."""

    house: Harness
    daemon: Daemon
    client: Client
    browser: Any
    page: Any

    @property
    def origin(self) -> str:
        return str(self.daemon.http.addresses.first)

    async def thread(self, **settings: Any) -> str:
        """Starts a thread, shows it, and returns its id."""
        asked = {"cwd": str(self.house.worktree), **SETTINGS, **settings}
        thread_id = str((await self.client.request("thread/start", **asked))["thread"]["id"])
        await self.show(thread_id)
        return thread_id

    async def show(self, thread_id: str) -> None:
        """Makes the page show a thread."""
        await self.page.goto(f"{self.origin}/#/thread/{thread_id}")
        await self.page.locator("textarea").wait_for()

    async def send(self, text: str) -> None:
        """Types a prompt or a command into the page, and sends it."""
        await self.page.locator("textarea").fill(text)
        await self.page.keyboard.press("Enter")

    async def queue(self, text: str) -> None:
        """Types a prompt that is to wait for its turn."""
        await self.page.locator("textarea").fill(text)
        await self.page.keyboard.press("Alt+Enter")

    async def cut_off(self) -> None:
        """Cuts the page's connection, and all that it begins; the page has run `CUT`."""
        await self.page.evaluate("window.offline = true; window.cut();")
        await self.page.get_by_text("The daemon cannot be reached").wait_for()

    async def let_through(self) -> None:
        """Ends that the page is cut off."""
        await self.page.evaluate(
            "window.offline = false; window.dispatchEvent(new Event('online'));"
        )

    async def turns(self, *pairs: str) -> None:
        """Runs turns in the page: each pair is a prompt and an answer, with `|` between."""
        for pair in pairs:
            prompt, _, answer = pair.partition("|")
            self.house.script.then(say(answer))
            await self.send(prompt)
            await self.page.locator(".main").get_by_text(answer, exact=True).last.wait_for()
            await self.idle()

    async def idle(self) -> None:
        """Waits until no turn is running in the shown thread."""
        await self.page.locator("button[aria-label=Interrupt]").wait_for(state="detached")

    def will_answer(self, *replies: Reply) -> None:
        self.house.script.then(*replies)

    def model_input(self) -> str:
        """Returns the model's newest input as text, which proves the effect of a trim."""
        return msgspec.json.encode(self.house.model.turn_requests()[-1].input).decode()


@asynccontextmanager
async def staged(
    browser: Any, *overrides: str, fleet: FleetSection | None = None, **context: Any
) -> AsyncGenerator[Stage]:
    """Yields a stage whose page is logged in. `overrides` are Codex's, `context` has options of the
    browser's context.
    """
    async with opened_harness() as house:
        house.overrides.extend(overrides)
        config = msgspec.structs.replace(
            house.config,
            http=HttpSection(listen="127.0.0.1:0"),
            discard=DiscardSection(floor_tokens=1, target_tokens=1),
            fleet=fleet or FleetSection(),
        )
        running = running_daemon(config, house.state_dir, house.profile)
        async with running as daemon, anyio.create_task_group() as tasks, emptied(browser):
            await tasks.start(partial(serve_unix, house.socket, daemon.serve))
            with anyio.fail_after(SCENARIO_S):
                async with house.client() as client:
                    page = await logged_in(browser, daemon, **context)
                    yield Stage(house, daemon, client, browser, page)
            tasks.cancel_scope.cancel()


async def logged_in(browser: Any, daemon: Daemon, **context: Any) -> Any:
    """Returns a page of a new context that has used a one-time address. Errors of the page fail the
    test.
    """
    opened = await browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **context})
    opened.set_default_timeout(STEP_S * 1000)
    page = await opened.new_page()
    page.faults = []

    def complain(said: Any) -> None:
        if said.type == "error":
            page.faults.append(said.text)

    def fail(error: object) -> None:
        page.faults.append(str(error))

    page.on("pageerror", fail)
    page.on("console", complain)
    await page.goto(daemon.http.addresses.login_url().url)
    await page.wait_for_url(f"{daemon.http.addresses.first}/")
    return page


async def answer(page: Any, key: str) -> None:
    """Goes to the question of the agent as a person does, and answers it by a key."""
    card = page.get_by_label("The agent asks for approval")
    await card.locator(".card-choices button:enabled").first.wait_for()
    await page.keyboard.press("Alt+ArrowUp")
    await page.keyboard.press(key)
    await card.wait_for(state="detached")
