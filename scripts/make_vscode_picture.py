"""Makes docs/img/vscode-dark.png and vscode-light.png from the real extension: a real VS Code in a
browser, and the real Codex on a scripted model. `python scripts/make_vscode_picture.py`.
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from trimpoint.testkit import run, say

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tests.vscode.code_server import packed
from tests.vscode.stage import Window, opened_window
from tests.web.browser import chromium

DOCS = Path(__file__).resolve().parents[1] / "docs" / "img"
THEMES = {"dark": "Dark Modern", "light": "Light Modern"}
WIDER_BY_PX = 170
SIZE = {"width": 1240, "height": 780}
BEFORE = """def read_lines(stream):
    while chunk := stream.read(4096):
        yield from chunk.split(b"\\n")
"""
AFTER = """def read_lines(stream):
    rest = b""
    while chunk := stream.read(4096):
        *lines, rest = (rest + chunk).split(b"\\n")
        yield from lines
    if rest:
        yield rest
"""
ANSWER = """\
Done. `read_lines` keeps what is left of a chunk, and yields it at the end.

Two tests cover it: one with a newline at the end, one **without**."""


async def story(window: Window) -> None:
    """Plays the conversation, and shows what its last turn changed."""
    page = window.page
    await page.set_viewport_size(SIZE)
    await window.command("New Conversation")
    await window.chat.locator("textarea").wait_for()
    edge = await page.locator(".part.sidebar").bounding_box()
    at = edge["x"] + edge["width"] + 2
    await page.mouse.move(at, 400)
    await page.mouse.down()
    await page.mouse.move(at + WIDER_BY_PX, 400, steps=8)
    await page.mouse.up()
    write = f"cat > lines.py <<'EOF'\n{BEFORE}EOF"
    await window.ask("Read a file line by line.", run(write), say("It does."), until="It does.")
    await window.turns("Which chunk size is best?|4096: larger ones gain nothing.")
    await window.send("/clear 1")
    await window.chat.get_by_text("messages pruned").wait_for()
    fix = f"cat > lines.py <<'EOF'\n{AFTER}EOF"
    prompt = "The last line is lost without a newline. Fix it."
    await window.ask(prompt, run(fix), say(ANSWER), until="without")
    await window.command("Show What a Turn Changed")
    await (await window.row("3: The last line")).click()
    await page.locator(".editor .view-line").get_by_text("rest").first.wait_for()
    dismiss = window.chat.get_by_role("button", name="Dismiss")
    while await dismiss.count():
        await dismiss.first.click()
    await page.mouse.move(900, 500)
    await page.wait_for_timeout(2000)


async def main() -> None:
    """Takes a picture in each theme."""
    with TemporaryDirectory() as folder:
        archive = packed(Path(folder))
        async with chromium() as browser:
            for name, theme in THEMES.items():
                settings = {
                    "workbench.colorTheme": theme,
                    "window.autoDetectColorScheme": False,
                    "diffEditor.renderSideBySide": False,
                }
                async with opened_window(browser, archive, **settings) as window:
                    await story(window)
                    await window.page.screenshot(path=DOCS / f"vscode-{name}.png")


if __name__ == "__main__":
    anyio.run(main)
