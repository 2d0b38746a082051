"""Formats a diff for the terminal: the list of files, then the changes with line numbers."""

import re
from collections.abc import Iterable, Iterator

from rich.table import Table
from rich.text import Text
from trimpoint_protocol.shapes.checkpoints import FileChange, FilesChanged

from trimpoint.cli.terminal import one_line, printable
from trimpoint.core.model.decision import counted

_MARKS = {
    "added": ("A", "green"),
    "modified": ("M", "yellow"),
    "deleted": ("D", "red"),
    "renamed": ("R", "cyan"),
    "typeChanged": ("T", "magenta"),
}
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)")
_LINE_STYLES = {"+": "green", "-": "red", " ": "", "\\": "dim"}
_NUMBER_WIDTH = 6


def counts(changed: FilesChanged) -> Text:
    """Returns the totals, such as `3 files +12 -4`."""
    text = Text(counted(changed.files, "file", "no"))
    if changed.additions:
        text.append(f" +{changed.additions}", "green")
    if changed.deletions:
        text.append(f" -{changed.deletions}", "red")
    return text


def file_table(files: Iterable[FileChange]) -> Table:
    """Returns a table with one row for each file."""
    table = Table.grid(padding=(0, 1, 0, 0))
    for file in files:
        mark, style = _MARKS[file.status]
        table.add_row(Text(mark, style), Text(_name(file), overflow="fold"), _lines(file))
    return table


def diff_rows(text: str) -> Iterator[Text]:
    """Yields the lines of a unified diff, each with its line number: that in the new file, or that
    in the old file for a removed line.
    """
    header: list[str] | None = None
    numbers = [0, 0]
    for line in text.split("\n")[:-1]:
        hunk = _HUNK.match(line)
        if line.startswith("diff --git "):
            yield from _titles(header)
            header = [line]
        elif hunk is not None:
            yield from _titles(header)
            header = None
            numbers = [int(hunk[1]), int(hunk[2])]
            yield Text(f"{'⋯':>{_NUMBER_WIDTH}}{one_line(hunk[3])}", "cyan")
        elif header is not None:
            header.append(line)
        else:
            yield _line(line, numbers)
    yield from _titles(header)


def _name(file: FileChange) -> str:
    name = one_line(file.path, 500)
    return f"{one_line(file.old_path, 500)} → {name}" if file.old_path is not None else name


def _lines(file: FileChange) -> Text:
    if file.binary:
        return Text("binary", "dim")
    added, gone = file.additions or 0, file.deletions or 0
    parts = [(f"+{added}", "green")] * bool(added) + [
        (f" -{gone}" if added else f"-{gone}", "red")
    ] * bool(gone)
    return Text.assemble(*parts)


def _titles(header: list[str] | None) -> Iterator[Text]:
    """Yields the heading of a file's hunks, without the header lines that only programs need."""
    if header is None:
        return
    names = {
        line[:4]: line[4:].removeprefix("a/").removeprefix("b/")
        for line in header
        if line[:4] in ("--- ", "+++ ")
    }
    name = next(
        (
            names[side].rstrip("\t")
            for side in ("+++ ", "--- ")
            if names.get(side, "/dev/null") != "/dev/null"
        ),
        None,
    )
    yield Text()
    yield Text(one_line(name or _from_first_line(header[0]), 500), "bold")
    for line in header[1:]:
        if not line.startswith(("index ", "--- ", "+++ ", "similarity ")):
            yield Text(one_line(line, 500), "dim")


def _from_first_line(line: str) -> str:
    """Returns the path of a file without shown lines, such as a binary one, from its `diff --git`
    line, which has the path twice.
    """
    both = line.removeprefix("diff --git ")
    return both[: len(both) // 2].removeprefix("a/").removeprefix('"a/')


def _line(line: str, numbers: list[int]) -> Text:
    kind = line[:1] or " "
    number = numbers[0] if kind == "-" else numbers[1]
    numbers[0] += kind in "- "
    numbers[1] += kind in "+ "
    gutter = (
        (f"{number:>{_NUMBER_WIDTH}} ", "dim") if kind in "+- " else (" " * (_NUMBER_WIDTH + 1), "")
    )
    return Text.assemble(gutter, (printable(line), _LINE_STYLES.get(kind, "")))
