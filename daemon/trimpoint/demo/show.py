"""Prints the demo: prompts and answers, and the model's input before and after each command."""

from collections.abc import Sequence
from itertools import pairwise

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from trimpoint.demo.model_input import Row, Seen
from trimpoint.demo.proof import Findings
from trimpoint.demo.script import FILE, Line

_ROLES = {
    "user": "cyan",
    "assistant": "green",
    "tool call": "yellow",
    "tool result": "yellow",
    "summary": "magenta",
}
_TEXT_WIDTH, _LEAST_TEXT_WIDTH = 64, 16
# The longest name of a role with its padding, and the padding of the text.
_ROLE_CELLS = 15


def title(console: Console, text: str, explanation: str) -> None:
    """Prints the heading of a part."""
    console.print()
    console.print(Rule(Text(text, "bold cyan"), style="cyan", align="left"))
    console.print(Text(explanation, "dim"))


def opening(console: Console, text: str) -> None:
    """Prints what was played before the first command."""
    console.print(Text(text, "dim"))


def turn(console: Console, line: Line) -> None:
    """Prints a turn: the prompt, the agent's commands, and its answer."""
    console.print(Text.assemble(("❯ ", "bold cyan"), (line.prompt, "bold")))
    for command in line.commands:
        console.print(Text.assemble(("  $ ", "yellow"), (_cut(command), "bright_black")))
    console.print(Text.assemble(("● ", "green"), line.answer))


def command(console: Console, text: str, message: str) -> None:
    """Prints a slash command and the daemon's answer, without the line that says how to undo it."""
    console.print(Text.assemble(("❯ ", "bold magenta"), (text, "bold magenta")))
    console.print(Text.assemble(("✓ ", "bold green"), message.partition("\nTo undo")[0]))


def turns_sent(
    console: Console, rows: list[Row], sizes: Sequence[int], inputs: Sequence[str]
) -> None:
    """Prints a comparison of inputs on few lines: the size of each, and one row for each turn."""
    table = _table(inputs, ["what the model is sent (✂ pruned, ✚ new)"])
    tokens = "tokens, with Codex's own instructions"
    table.add_row(*(Text(f"{size:,}", "dim") for size in sizes), Text(tokens, "dim"))
    for row in rows:
        if row.role == "user":
            said = Text().append(_cut(row.text), "dim" if "" in row.seen[:2] else "")
            table.add_row(*_marks(row.seen), said)
    console.print(table)


def _table(inputs: Sequence[str], others: Sequence[str], title: str | None = None) -> Table:
    """Returns a table with a column for each input, and `others`."""
    table = Table(
        title=title, title_style="italic dim", title_justify="left", box=None, padding=(0, 1)
    )
    for heading in inputs:
        table.add_column(heading, header_style="dim", justify="center", no_wrap=True)
    for heading in others:
        table.add_column(heading, header_style="dim", no_wrap=True)
    return table


def model_input(
    console: Console, rows: list[Row], preamble: int, inputs: Sequence[str] = ("before", "after")
) -> None:
    """Prints a comparison of inputs, one line for each item and a column for each input."""
    table = _table(inputs, ["who", "says"], "what the model is sent")
    # What the marks and the names of the roles leave, so that no column is lost.
    room = console.width - sum(len(heading) + 2 for heading in inputs) - _ROLE_CELLS
    room = max(_LEAST_TEXT_WIDTH, min(_TEXT_WIDTH, room))
    if preamble:
        table.add_row(
            *[Text("●", "green")] * len(inputs),
            Text("Codex", "dim"),
            Text(_cut(f"its own instructions and environment, {preamble} items", room), "dim"),
        )
    for row in rows:
        role, style = (
            ("red dim", "red dim strike") if row.is_pruned else (_ROLES.get(row.role, ""), "")
        )
        # A style of its own, so that the padding behind the text is not struck.
        said = Text().append(_cut(row.text, room), style)
        table.add_row(*_marks(row.seen), Text(row.role, role), said)
    console.print(table)
    counts = [sum(mark.plain == sign for row in rows for mark in _marks(row.seen)) for sign in "✂✚"]
    is_answered = any("answer" in row.seen for row in rows)
    answer = "○ its answer; " if is_answered else ""
    console.print(Text(f"● sent; {answer}✂ pruned: {counts[0]}; ✚ new: {counts[1]}", "dim"))


def _marks(seen: Sequence[Seen]) -> list[Text]:
    marks = [_mark(seen[0])]
    for at, (was, place) in enumerate(pairwise(seen), 1):
        if was and not place:
            marks.append(Text("✂", "bold red"))
        elif place == "sent" and not any(seen[:at]):
            marks.append(Text("✚", "bold cyan"))
        else:
            marks.append(_mark(place))
    return marks


def _mark(place: Seen) -> Text:
    return Text({"": "", "sent": "●", "answer": "○"}[place], "green")


def verdict(console: Console, findings: Findings) -> None:
    """Prints the result of the check: the pruned texts that the model received, the kept ones that
    it lacked, and whether the agent's file is right.
    """
    mark = Text("✓ ", "bold green") if findings.are_good else Text("✗ ", "bold red")
    found = f"Pruned text in the model's input: {_listed(findings.leaked)}"
    console.print(mark + Text(f"{found}; kept text missing: {_listed(findings.missing)}.", "bold"))
    if not findings.file_is_right:
        console.print(Text(f"  {FILE} is not as the agent left it.", "bold"))


def _listed(texts: list[str]) -> str:
    return ", ".join(map(repr, texts)) or "none"


def _cut(text: str, width: int = _TEXT_WIDTH) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"
