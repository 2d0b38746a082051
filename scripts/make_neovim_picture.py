"""Makes docs/img/neovim.svg from the real plugin: a real Neovim in a terminal, and the real Codex
with a scripted model. Run it with the Python of .venv, from the root of the repository.
"""

import re
import sys
from collections import Counter
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "daemon"), str(ROOT / "protocol"), str(ROOT / "scripts")]

import anyio  # noqa: E402
import make_pictures  # noqa: E402
import pyte  # noqa: E402
from rich.style import Style  # noqa: E402
from rich.text import Text  # noqa: E402
from trimpoint.testkit import run, say  # noqa: E402

from tests.neovim.stage import Chat, opened_chat  # noqa: E402
from tests.tui.terminal import COLUMNS  # noqa: E402

FOLDER = re.compile(r"/tmp/\w+/worktree")
ANSWER = """\
`parse` read the file **twice** for every line. It now reads it once:

```python
def parse(path):
    return [line.split("=") for line in path.read_text().splitlines()]
```

The tests pass, and the run takes 0.4 s instead of 31 s."""
CODE = """\
from pathlib import Path


def parse(path: Path) -> list[list[str]]:
    found = []
    for at in range(len(path.read_text().splitlines())):
        line = path.read_text().splitlines()[at]
        found.append(line.split("="))
    return found


def settings(path: Path) -> dict[str, str]:
    return {name: value for name, value in parse(path)}
"""


def main() -> None:
    """Writes the picture."""
    make_pictures.COLUMNS = COLUMNS
    picture = make_pictures.svg(anyio.run(screen), "neovim")
    (ROOT / "docs" / "img" / "neovim.svg").write_text(
        FOLDER.sub(_project, picture), encoding="utf-8"
    )


def _project(found: re.Match[str]) -> str:
    """Returns a replacement for the temporary folder's name, padded to the same length."""
    name = "~/project"
    return "&#160;" * (len(found[0]) - len(name)) + name


async def screen() -> list[Text]:
    """Returns the screen of a short session, line by line."""
    async with opened_chat(repository=True) as chat:
        editor = chat.editor
        (chat.house.worktree / "settings.py").write_text(CODE)
        await editor.lua(
            "vim.o.termguicolors = true; vim.o.background = 'dark'; vim.o.showtabline = 0"
        )
        await editor.lua(
            "vim.o.laststatus = 0; vim.o.ruler = false; vim.cmd.colorscheme('habamax')"
        )
        await conversation(chat)
        await editor.command("wincmd h | edit settings.py | set number | 5 | wincmd p")
        await editor.keys(":echo ''<CR>")
        await editor.shows("def settings")
        await editor.shows(lambda text: ":echo" not in text and "wincmd" not in text)
        return lines_of(editor.terminal.screen)


async def conversation(chat: Chat) -> None:
    """Runs three turns, with a compaction after the second."""
    await chat.turns("What does settings.py do?|It reads settings from a file.")
    await chat.turns("How are the tests run?|With pytest, from the root.")
    await chat.type("/clear 1")
    await chat.editor.shows("Context cleared")
    await chat.ask(
        "Loading takes 31 s. Find out why and mend it.",
        run("printf 'settings.py:6: reads the file in a loop\\nsettings.py:7: again\\n'"),
        say(ANSWER),
    )
    await chat.editor.shows("instead of 31 s")


def lines_of(screen: pyte.Screen) -> list[Text]:
    """Returns the lines that pyte has read, with their colours."""
    cells = [
        [screen.buffer[row][column] for column in range(screen.columns)]
        for row in range(screen.lines)
    ]
    [(ground, _)] = Counter(cell.bg for row in cells for cell in row).most_common(1)
    lines = [
        line_of([cell._replace(bg="default") if cell.bg == ground else cell for cell in row])
        for row in cells
    ]
    while lines and not lines[-1].plain.strip():
        lines.pop()
    return lines


def line_of(cells: list[pyte.screens.Char]) -> Text:
    """Returns one line; neighbouring cells of one style are joined."""
    line = Text(end="")
    for style, run_of_cells in groupby(cells, style_of):
        line.append("".join(cell.data for cell in run_of_cells), style)
    return line


def style_of(cell: pyte.screens.Char) -> Style:
    """Returns the style of a cell."""
    return Style(
        color=colour(cell.fg),
        bgcolor=colour(cell.bg),
        bold=cell.bold,
        italic=cell.italics,
        underline=cell.underscore,
        reverse=cell.reverse,
    )


def colour(name: str) -> str | None:
    """Converts pyte's name of a colour to rich's."""
    if name == "default":
        return None
    is_hex = len(name) == 6 and all(digit in "0123456789abcdef" for digit in name.lower())
    return (
        f"#{name}" if is_hex else {"brown": "yellow"}.get(name, name.replace("bright", "bright_"))
    )


if __name__ == "__main__":
    main()
