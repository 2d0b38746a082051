"""Prints the demo: prompts and answers, and the model's input before and after each command."""

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from trimpoint.demo.model_input import Row
from trimpoint.demo.proof import Findings
from trimpoint.demo.script import FILE, Line

_ROLES = {
    "user": "cyan",
    "assistant": "green",
    "tool call": "yellow",
    "tool result": "yellow",
    "summary": "magenta",
}
_TEXT_WIDTH = 64


def title(console: Console, text: str, explanation: str) -> None:
    """Prints the heading of a part."""
    console.print()
    console.print(Rule(Text(text, "bold cyan"), style="cyan", align="left"))
    console.print(Text(explanation, "dim"))


def turn(console: Console, line: Line) -> None:
    """Prints a turn: the prompt, the agent's commands, and its answer."""
    console.print(Text.assemble(("❯ ", "bold cyan"), (line.prompt, "bold")))
    for command in line.commands:
        console.print(Text.assemble(("  $ ", "yellow"), (_cut(command), "bright_black")))
    console.print(Text.assemble(("● ", "green"), line.answer))


def command(console: Console, text: str, message: str) -> None:
    """Prints a slash command and the daemon's answer."""
    console.print(Text.assemble(("❯ ", "bold magenta"), (text, "bold magenta")))
    console.print(Text.assemble(("✓ ", "bold green"), message))


def model_input(console: Console, rows: list[Row], preamble: int) -> None:
    """Prints the comparison of two inputs, one line for each item."""
    table = Table(
        title="what the model is sent",
        title_style="italic dim",
        title_justify="left",
        box=None,
        padding=(0, 1),
    )
    for heading in ("before", "after", "who", "says"):
        is_mark = heading in {"before", "after"}
        table.add_column(
            heading,
            header_style="dim",
            justify="center" if is_mark else "left",
            no_wrap=True,
            min_width=len(heading) if is_mark else None,
        )
    kept = Text("●", "green")
    if preamble:
        table.add_row(
            kept,
            kept,
            Text("Codex", "dim"),
            Text(f"its own instructions and environment, {preamble} items", "dim"),
        )
    for row in rows:
        table.add_row(*_cells(row))
    console.print(table)
    pruned = sum(row.is_pruned for row in rows)
    console.print(
        Text(
            f"{pruned} pruned ✂, {sum(row.before and row.after for row in rows)} kept ●, "
            f"{_new(rows)} new ✚",
            "dim",
        )
    )


def _new(rows: list[Row]) -> int:
    return sum(not row.before for row in rows)


def _cells(row: Row) -> tuple[Text, Text, Text, Text]:
    before = Text("●", "green") if row.before else Text("")
    if row.is_pruned:
        return (
            before,
            Text("✂", "bold red"),
            Text(row.role, "red dim"),
            _struck(_cut(row.text)),
        )
    after = Text("●", "green") if row.before else Text("✚", "bold cyan")
    return before, after, Text(row.role, _ROLES.get(row.role, "")), Text(_cut(row.text))


def _struck(text: str) -> Text:
    """Returns the text struck through, without striking the padding after it."""
    struck = Text()
    return struck.append(text, "red dim strike")


def verdict(console: Console, findings: Findings) -> None:
    """Prints the result of the check: the pruned texts that the model received, and the kept ones
    that it lacked.
    """
    console.print()
    mark = Text("✓ ", "bold green") if findings.are_good else Text("✗ ", "bold red")
    console.print(
        mark.append_text(
            Text(f"pruned text in the model's input: {_listed(findings.leaked)}", "bold")
        )
    )
    looked = (
        f"{findings.looked_for} pruned texts were looked for in all that the model was sent "
        "afterwards"
    )
    file = (
        f"{FILE} is as the agent left it"
        if findings.file_is_right
        else f"{FILE} is not as the agent left it"
    )
    console.print(
        Text(f"  {looked}; kept text missing: {_listed(findings.missing)}; {file}", "dim")
    )


def _listed(texts: list[str]) -> str:
    return ", ".join(map(repr, texts)) or "none"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT_WIDTH else f"{line[: _TEXT_WIDTH - 1]}…"
