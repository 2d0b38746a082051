"""Makes docs/img/chat.svg from the screen of `trimpoint chat`, with the real daemon and the real
Codex on a scripted model.
"""

import os
import sys
from itertools import groupby

import anyio
import pyte
from rich.style import Style
from rich.text import Text
from trimpoint.testkit import Usage, run, say

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from make_pictures import OUT, svg

from tests.chat.terminal import chat, in_git
from tests.cli.stage import CliHarness, opened_stage

ROWS, COLUMNS = 30, 92
SUMMARY = (
    'The parser of prices accepted "1,5" and read it as 15. Cause: the comma was dropped before '
    "the number was read. Fixed in prices.py, with a test. Open: the same in discounts.py."
)
FIX = """\
`discounts.py` had the same mistake. I reused the reader of prices:

```python
def discount(text: str) -> Decimal:
    return read_number(text) / 100
```

Both tests pass."""
TESTS = """\
import unittest


class Discounts(unittest.TestCase):
    def test_a_comma(self):
        self.assertEqual(float("1,5".replace(",", ".")), 1.5)

    def test_a_point(self):
        self.assertEqual(float("1.5"), 1.5)
"""
_COLOURS = {"brown": "yellow", "brightbrown": "bright_yellow"}


async def main() -> None:
    """Holds a short conversation, compacts it, and writes the picture."""
    async with opened_stage() as stage:
        stage.script.summary = SUMMARY
        stage.worktree = stage.folder / "home" / "shop"
        stage.worktree.mkdir()
        await in_git(stage)
        async with stage.serving():
            await begin(stage)
            async with chat(stage, size=(ROWS, COLUMNS)) as terminal:
                await terminal.types("/compact")
                await terminal.shows("To undo")
                await terminal.types("Now the same for discounts")
                await terminal.shows("Both tests pass.")
                await terminal.shows("unittest")
                await terminal.types("/c", enter=False)
                await terminal.shows("/clear [N]")
                OUT.joinpath("chat.svg").write_text(
                    svg(lines_of(terminal.screen), "chat"), encoding="utf-8"
                )


async def begin(stage: CliHarness) -> None:
    """Runs three turns in the thread, and queues the replies to the next ones."""
    usage = Usage(input_tokens=184_000, output_tokens=900)
    stage.script.then(*(say(f"Done, step {number}.", usage=usage) for number in (1, 2, 3)))
    (stage.worktree / "test_discounts.py").write_text(TESTS)
    stage.script.then(run("python3 -m unittest"), say(FIX, usage=usage))
    for prompt in ("Prices with a comma are wrong", "Write a test first", "Now mend it"):
        words = ["ask", "-a", "never", "-s", "danger-full-access", prompt]
        assert (await stage.run(*words)).code == 0


def lines_of(screen: pyte.Screen) -> list[Text]:
    """Returns the lines of a screen with their colours."""
    return [line_of(screen, row) for row in range(screen.lines)]


def line_of(screen: pyte.Screen, row: int) -> Text:
    """Returns a line of a screen, in pieces of one style each."""
    chars = [screen.buffer[row][column] for column in range(screen.columns)]
    line = Text()
    for style, run_of_chars in groupby(chars, key=style_of):
        line.append("".join(char.data for char in run_of_chars), style)
    line.rstrip()
    return line


def style_of(char: pyte.screens.Char) -> Style:
    """Returns the style of a character."""
    return Style(
        color=colour(char.fg), bgcolor=colour(char.bg), bold=char.bold, italic=char.italics,
        reverse=char.reverse,
    )  # fmt: skip


def colour(name: str) -> str | None:
    """Converts pyte's name of a colour to rich's."""
    if name == "default":
        return None
    if len(name) == 6 and all(letter in "0123456789abcdef" for letter in name):
        return f"#{name}"
    name = _COLOURS.get(name, name)
    return f"bright_{name[6:]}" if name.startswith("bright") and "_" not in name else name


if __name__ == "__main__":
    anyio.run(main)
