"""A scripted model, the real Codex, and VS Code with the extension, which starts the daemon."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

import anyio
import msgspec
from trimpoint.testkit import Reply, say

from tests.cli.stage import CliHarness, opened_stage
from tests.deadlines import STEP_S
from tests.neovim.stage import configure, make_repository
from tests.vscode.code_server import served

FRAME = "iframe.webview"
INNER = "#active-frame"
PATIENCE_MS = 6000
SIZE = {"width": 1400, "height": 900}


class Window:
    """A person at VS Code. `page` is the browser's, `chat` the conversation in it."""

    def __init__(self, house: CliHarness, browser: Any, page: Any) -> None:
        self.house = house
        self.page = page
        self._browser = browser

    @asynccontextmanager
    async def another(self, folder: Path) -> AsyncGenerator[Self]:
        """Yields a window on another folder, of the same VS Code."""
        async with _page(
            self._browser, f"{self.page.url.partition('?')[0]}?folder={folder}"
        ) as page:
            yield type(self)(self.house, self._browser, page)

    async def frame(self) -> Any:
        """Returns the frame of the conversation."""
        element = await self.chat.locator("body").element_handle()
        return await element.owner_frame()

    @property
    def chat(self) -> Any:
        return self.page.frame_locator(FRAME).last.frame_locator(INNER)

    @property
    def picker(self) -> Any:
        return self.page.locator(".quick-input-widget")

    async def command(self, title: str) -> None:
        """Carries out a command of the palette."""
        await self._open_palette()
        await self.picker.locator("input").first.fill(f">trimpoint: {title}")
        row = self.picker.get_by_role("option").filter(has_text=f"trimpoint: {title}").first
        await row.wait_for()
        await row.click()

    async def _open_palette(self) -> None:
        """Presses the key again where it was lost: a view that is loading takes the keys and has no
        use for them.
        """
        from playwright.async_api import TimeoutError as TooLate

        box = self.picker.locator("input").first
        with anyio.fail_after(STEP_S):
            while not await box.is_visible():
                await self.page.keyboard.press("F1")
                with suppress(TooLate):
                    await box.wait_for(timeout=PATIENCE_MS)

    async def row(self, text: str) -> Any:
        """Waits for a row of the picker, and returns it."""
        row = self.picker.get_by_role("option").filter(has_text=text).first
        await row.wait_for()
        return row

    async def notice(self, text: str) -> Any:
        """Waits for a notification, and returns it."""
        found = self.page.locator(".notification-toast").filter(has_text=text).first
        await found.wait_for()
        return found

    async def send(self, text: str) -> None:
        """Types a prompt or a command into the conversation, and sends it."""
        box = self.chat.locator("textarea")
        await box.fill(text)
        await box.press("Enter")

    async def ask(self, prompt: str, *replies: Reply, until: str) -> None:
        """Runs a turn to its end, in which the conversation shows the text `until`."""
        self.house.script.then(*replies)
        await self.send(prompt)
        await self.chat.get_by_text(until, exact=True).last.wait_for()
        await self.idle()

    async def turns(self, *pairs: str) -> None:
        """Runs turns: each pair is a prompt and an answer, with `|` between."""
        for pair in pairs:
            prompt, _, answer = pair.partition("|")
            await self.ask(prompt, say(answer), until=answer)

    async def idle(self) -> None:
        """Waits until no turn is running in the shown thread."""
        await self.chat.locator("button[aria-label=Interrupt]").wait_for(state="detached")

    def model_input(self) -> str:
        """Returns the model's newest input as text, which proves the effect of a trim."""
        return msgspec.json.encode(self.house.model.turn_requests()[-1].input).decode()


def _install(house: CliHarness) -> None:
    places = Path(house.environment["HOME"], ".local", "bin")
    places.mkdir(parents=True)
    (places / "trimpoint").symlink_to(house.folder / "bin" / "trimpoint")


@asynccontextmanager
async def opened_window(
    browser: Any, archive: Path, *, overrides: tuple[str, ...] = (), **settings: Any
) -> AsyncGenerator[Window]:
    """Yields VS Code with a repository opened and the extension installed; nothing else runs."""
    async with AsyncExitStack() as stack:
        house = await stack.enter_async_context(opened_stage())
        house.overrides.extend(overrides)
        configure(house)
        make_repository(house.worktree)
        environment = house.with_program_on_path()
        # VS Code takes `PATH` from a login shell, and the extension looks here too.
        _install(house)
        address = await stack.enter_async_context(
            served(
                archive, house.folder, house.worktree, environment,
                **{"security.workspace.trust.enabled": False, **settings},
            )
        )  # fmt: skip
        page = await stack.enter_async_context(_page(browser, address))
        yield Window(house, browser, page)


@asynccontextmanager
async def _page(browser: Any, address: str) -> AsyncGenerator[Any]:
    context = await browser.new_context(viewport=SIZE)
    try:
        context.set_default_timeout(STEP_S * 1000)
        page = await context.new_page()
        await page.goto(address)
        # The palette lists what is known when it opens.
        await page.locator(".activitybar").get_by_label("trimpoint").first.wait_for()
        yield page
    finally:
        await context.close()
