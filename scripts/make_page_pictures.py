"""Makes pictures of the web page: `scripts/make-page-pictures FOLDER` of every state in two themes
and two widths, for review; without a folder, the two of the README, in docs/img.

The pictures are taken in Chromium, with the real daemon and the real Codex on a scripted model.
"""

import os
import sys
from pathlib import Path
from uuid import uuid4

import anyio
from trimpoint.testkit import Reply, Usage, call, hang, reasoning, run, say

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tests.e2e.worktree import git
from tests.web.browser import CUT, chromium
from tests.web.stage import SETTINGS, Stage, staged

DOCS = Path(__file__).resolve().parents[1] / "docs" / "img"
WIDE, NARROW = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
IN_README = {"width": 1280, "height": 800}
QUESTIONS = "features.default_mode_request_user_input=true"
SUMMARY = """\
**Goal**: the parser must not lose the last line of a file without a newline.

- Cause: `read_lines` stops at the first empty chunk; `stream.py` hides the error.
- Decided: keep the chunk size of 4096, yield the rest at the end.
- Open: the benchmark for files of 1 GB."""
CODE = """\
Done. `read_lines` keeps what is left of a chunk and yields it at the end:

```python
def read_lines(stream: BinaryIO) -> Iterator[bytes]:
    rest = b""
    while chunk := stream.read(4096):
        *lines, rest = (rest + chunk).split(b"\\n")
        yield from lines
    if rest:
        yield rest
```

Two tests cover it: one with a newline at the end, one **without**."""
TABLE = """\
It is as fast as before, within what the machine varies by:

| Input | Before | After |
|:--|--:|--:|
| 10 MB | 0.40 s | 0.41 s |
| 1 GB | 41.2 s | 40.7 s |

1. The chunk size stays at 4096.
2. Larger chunks gain nothing: see [the measurements](https://example.com/measurements)."""
SURVEY = """\
### What I found

The last line is lost when a file has no newline at its end. `read_lines` returns at the first
empty chunk, with the rest of the line still in its buffer.

> `stream.py` catches the error that would have shown it.

I would yield the rest at the end, and leave the chunk size alone."""
PATCH = """\
apply_patch <<'EOF'
*** Begin Patch
*** Update File: parser.py
@@
 def read_lines(stream):
+    rest = b""
     while chunk := stream.read(4096):
-        yield from chunk.split(b"\\n")
+        *lines, rest = (rest + chunk).split(b"\\n")
+        yield from lines
+    if rest:
+        yield rest
*** Add File: tests/test_parser.py
+from parser import read_lines
+
+
+def test_a_last_line_without_a_newline_is_read() -> None:
+    assert list(read_lines(BytesIO(b"a\\nb"))) == [b"a", b"b"]
*** End Patch
EOF
"""
OLD = """\
def read_lines(stream):
    while chunk := stream.read(4096):
        yield from chunk.split(b"\\n")
"""
QUESTION = {
    "id": "chunk",
    "header": "Chunk size",
    "question": "How large shall a chunk be?",
    "options": [
        {"label": "4096 (Recommended)", "description": "as it is now"},
        {"label": "65536", "description": "fewer calls, more memory"},
    ],
}
OTHERS = ("Rename the config keys", "Flaky test on Windows", "Release notes for 2.4")
SMALL, FULL = Usage(input_tokens=38_000), Usage(input_tokens=238_000)


class Pictures:
    """Takes pictures of the page; each state in both themes and widths."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage, self.page, self._folder = stage, stage.page, folder

    async def take(self, name: str) -> None:
        for width, size in (("wide", WIDE), ("narrow", NARROW)):
            await self.page.set_viewport_size(size)
            for theme in ("light", "dark"):
                await self.page.emulate_media(color_scheme=theme)
                await self.page.wait_for_timeout(350)  # until what moves has arrived
                await self.page.screenshot(path=self._folder / f"{name}.{width}.{theme}.png")
        await self.page.set_viewport_size(WIDE)
        await self.page.wait_for_timeout(100)

    async def say(self, prompt: str, *replies: Reply) -> None:
        self.stage.will_answer(*replies)
        await self.stage.send(prompt)
        await self.ended(prompt)

    async def ended(self, prompt: str) -> None:
        """Waits for the end of a turn, and approves everything that is asked meanwhile."""
        card = self.page.get_by_label("The agent asks for approval")
        foot = self.page.locator(".turn").filter(has_text=prompt).last.locator(".turn-foot")
        while not await foot.count():
            if await card.count():
                await card.press("y")
            await self.page.wait_for_timeout(100)

    async def panel(self, name: str) -> None:
        await self.page.get_by_role("button", name=name, exact=True).click()
        await self.page.locator(".panel").wait_for()

    async def no_panel(self) -> None:
        await self.page.locator(".panel").get_by_label("Close").click()


async def all_states(pictures: Pictures) -> None:
    """Walks through the states of the page."""
    stage, page = pictures.stage, pictures.page
    await page.add_init_script(f"({CUT})()")
    await page.reload()
    await page.get_by_text("No thread is open").wait_for()
    await pictures.take("01-first-run")
    await page.get_by_role("button", name="New thread").first.click()
    await page.get_by_role("dialog").wait_for()
    await pictures.take("02-new-thread")
    await page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    await other_threads(stage)
    await stage.thread(approvalPolicy="untrusted")
    await pictures.take("03-nothing-said")
    await conversation(pictures)
    await pictures.say("How fast is it now?", run("echo 10 MB: 0.41 s"), say(TABLE, usage=SMALL))
    await pictures.take("04-long-timeline")
    await streaming(pictures)
    await asking(pictures)
    await page.locator("textarea").fill("/")
    await page.get_by_role("option").first.wait_for()
    await pictures.take("08-command-menu")
    await page.locator("textarea").fill("")
    await panels(pictures)
    await full(pictures)
    await page.evaluate("window.offline = true; window.cut();")
    await page.get_by_text("The daemon cannot be reached").wait_for()
    await pictures.take("17-offline")
    await page.evaluate("localStorage.clear()")
    await page.reload()
    await page.get_by_text("This browser is not logged in").wait_for()
    await pictures.take("18-login")


async def other_threads(stage: Stage) -> None:
    """Fills the list: two folders, three levels of the meter."""
    folder = stage.house.worktree.parent / "shop"
    folder.mkdir()
    for number, name in enumerate((*OTHERS, *(f"Review of change {n}" for n in range(411, 421)))):
        cwd = str(folder if number % 3 == 1 else stage.house.worktree)
        tokens = (38_000, 190_000, 236_000)[number] if number < len(OTHERS) else 38_000
        stage.will_answer(say("Done.", usage=Usage(input_tokens=tokens)))
        opened = await stage.client.request("thread/start", **{**SETTINGS, "cwd": cwd})
        thread_id, after = opened["thread"]["id"], len(stage.client.messages)
        said = [{"type": "text", "text": name}]
        await stage.client.request("turn/start", threadId=thread_id, input=said)
        await stage.client.expect(lambda m: m.get("method") == "turn/completed", after)


async def conversation(pictures: Pictures) -> None:
    """Runs turns of every kind, with a compaction between them."""
    stage, page = pictures.stage, pictures.page
    stage.house.script.summary = SUMMARY
    thought = reasoning("**Reading the parser**\n\nWhere does it stop?")
    await pictures.say(
        "The parser loses the last line", thought + run("cat parser.py"), say(SURVEY, usage=SMALL)
    )
    await pictures.say("Is that in the other readers too?", say("No, only there.", usage=SMALL))
    await stage.send("/compact")
    await page.locator(".divider").wait_for()
    stage.will_answer(run(PATCH), run("python3 -m compileall -q parser.py"), say(CODE, usage=SMALL))
    await stage.send("Mend it, and keep the chunk size")
    card = page.get_by_label("The agent asks for approval")
    await card.or_(page.get_by_text("Two tests cover it")).first.wait_for()
    if await card.count():
        await pictures.take("06-approval-of-files")
    await pictures.ended("Mend it, and keep the chunk size")


async def streaming(pictures: Pictures) -> None:
    """Shows a running turn with a growing answer, and a queued prompt."""
    stage, page = pictures.stage, pictures.page
    stage.will_answer(hang(CODE[:260]))
    await stage.send("And if the file is empty?")
    await page.locator(".answer[aria-busy=true] .code").wait_for()
    await stage.queue("Then a line for the changelog")
    await page.get_by_label("Waiting prompts").wait_for()
    await pictures.take("05-streaming")
    await page.get_by_label("Waiting prompts").get_by_label("Do not send").click()
    await page.locator("textarea").press("Escape")
    await page.get_by_text("Interrupted").wait_for()
    await stage.idle()


async def asking(pictures: Pictures) -> None:
    """Shows an approval of a command, and a question."""
    stage, page = pictures.stage, pictures.page
    stage.will_answer(run("git push origin main"))
    await stage.send("Push it")
    card = page.get_by_label("The agent asks for approval")
    await card.wait_for()
    await pictures.take("06-approval")
    await card.press("n")
    await pictures.ended("Push it")
    stage.will_answer(call("request_user_input", {"questions": [QUESTION]}), say("4096 it is."))
    await stage.send("Ask me about the chunk size")
    await page.get_by_label("The agent asks", exact=True).wait_for()
    await pictures.take("07-question")
    await page.get_by_role("radio").first.press("Space")
    await page.keyboard.press("Enter")
    await pictures.ended("Ask me about the chunk size")


async def panels(pictures: Pictures) -> None:
    """Shows the panels at the right, and the preview in a dialog."""
    stage, page = pictures.stage, pictures.page
    await pictures.panel("Context")
    await page.locator(".segment").first.wait_for()
    await pictures.take("10-x-ray")
    for box in (await page.locator(".segment input:enabled").all())[:3]:
        await box.check()
    await pictures.take("11-discard")
    await page.get_by_label("A note to pin").fill("The chunk size stays at 4096.")
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Unpin 1").wait_for()
    await stage.send("/pin 4")
    await page.get_by_role("button", name="Unpin 2").wait_for()
    await pictures.take("12-pins")
    await pictures.no_panel()
    await pictures.panel("Files")
    await page.get_by_role("button", name="Diff").last.click()
    await page.locator(".panel .diff").first.wait_for()
    await pictures.take("13-checkpoints")
    await page.get_by_role("button", name="Revert to here").last.click()
    await page.get_by_role("dialog").get_by_role("heading", name="To be written").wait_for()
    await pictures.take("14-revert")
    await page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    await pictures.no_panel()
    await pictures.panel("Search")
    await page.get_by_label("Words to search for").fill("chunk")
    await page.locator(".hits button").first.wait_for()
    await pictures.take("15-search")
    await pictures.no_panel()
    log = next(stage.house.codex_home.glob("sessions/**/rollout-*.jsonl"))
    other = str(uuid4())
    copy = log.with_name(log.name.replace(log.stem[-36:], other))
    copy.write_text(log.read_text().replace(log.stem[-36:], other))
    await page.get_by_text("Sessions of other agents").click()
    await page.locator(".session").first.click()
    await page.get_by_role("dialog").locator(".session-text").wait_for()
    await pictures.take("16-session")
    await page.keyboard.press("Escape")


async def full(pictures: Pictures) -> None:
    """Shows a context that is nearly full, with advice."""
    await pictures.say("One more thing", say("Noted.", usage=FULL))
    await pictures.page.locator(".advice").wait_for()
    await pictures.take("09-advice")


async def of_the_readme(pictures: Pictures) -> None:
    """Shows the conversation with the context panel beside it."""
    page = pictures.page
    await other_threads(pictures.stage)
    await pictures.stage.thread()
    await conversation(pictures)
    await pictures.panel("Context")
    await page.locator(".segment").first.wait_for()
    await page.set_viewport_size(IN_README)
    for theme in ("light", "dark"):
        await page.emulate_media(color_scheme=theme)
        await page.wait_for_timeout(350)
        await page.screenshot(path=DOCS / f"web-{theme}.png")


async def main() -> None:
    """Makes the pictures."""
    async with chromium() as browser, staged(browser, QUESTIONS, viewport=WIDE) as stage:
        prepare(stage.house.worktree)
        if len(sys.argv) == 1:
            await of_the_readme(Pictures(stage, DOCS))
            return
        await all_states(Pictures(stage, Path(sys.argv[1])))


def prepare(worktree: Path) -> None:
    """Makes a repository of the folder that the conversation is in."""
    worktree.joinpath("parser.py").write_text(OLD, encoding="utf-8")
    for words in (("init", "-qb", "main"), ("add", "."), ("commit", "-qm", "Begin")):
        git(worktree, *words)


if __name__ == "__main__":
    anyio.run(main)
