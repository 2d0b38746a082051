"""The context x-ray in the terminal: each item of the model's next input, coloured by class."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from trimpoint_protocol.methods import ClassTotal, ContextInspection, InspectedItem

from trimpoint.cli.terminal import one_line
from trimpoint.cli.views.context_view import EMPTY, FILLED
from trimpoint.core.model.decision import counted
from trimpoint.core.model.tokens import short_count as tokens
from trimpoint.core.views.inspection_view import REST, class_name

BAR_CELLS = 24
_LEAST_CELLS = 12
_PADDING_CELLS = 8
_COLOURS = {
    "instructions": "dim",
    "tools": "dim",
    "environment": "dim",
    "projectDocs": "magenta",
    "skills": "dim",
    "summary": "yellow",
    "pinned": "bright_yellow",
    "user": "cyan",
    "assistant": "green",
    "toolCall": "blue",
    "toolResult": "bright_blue",
    "reasoning": "bright_magenta",
    "image": "magenta",
}


def class_colour(item_class: str) -> str:
    """Returns the colour of a class of items; empty if it has none."""
    return _COLOURS.get(item_class, "")


def inspection_view(found: ContextInspection, width: int) -> RenderableType:
    """Returns a line for each item, a bar for each class, and the sums, which agree with the
    meter, for a screen of `width` columns.
    """
    return Group(_items(found.items, width), Text(), _totals(found), *_sums(found))


def _items(items: list[InspectedItem], width: int) -> Table:
    table = Table(box=None, padding=(0, 1), show_header=False, pad_edge=False)
    cells = [
        (str(item.index), _class(item), item.short_id or "", tokens(item.est_tokens))
        for item in items
    ]
    wide = [max((len(row[at]) for row in cells), default=0) for at in range(4)]
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    # Rich would take from every column where one line is too long.
    room = max(_LEAST_CELLS, width - sum(wide) - _PADDING_CELLS)
    table.add_column(max_width=room, overflow="ellipsis", no_wrap=True)
    for item, (index, name, place, count) in zip(items, cells, strict=True):
        said = Text(one_line(item.preview, 200) + _marks(item))
        table.add_row(index, Text(name, class_colour(item.item_class)), place, count, said)
    return table


def _class(item: InspectedItem) -> str:
    others = len(item.parts) - 1 if item.parts else 0
    return f"{class_name(item.item_class)}{f' +{others}' if others else ''}"


def _marks(item: InspectedItem) -> str:
    marks = ["pinned"] if item.pinned else []
    marks += [f"stays: {class_name(item.protected)}"] if item.protected is not None else []
    return f"  ({', '.join(marks)})" if marks else ""


def _totals(found: ContextInspection) -> Table:
    table = Table.grid(padding=(0, 2))
    whole = max(found.used_tokens, found.estimated_tokens, 1)
    for total in found.totals:
        table.add_row(*_total_row(total, whole))
    if found.overhead_tokens > 0:
        row = (REST, found.overhead_tokens, whole)
        table.add_row(Text(row[0], "dim"), _bar(row[1], whole, "dim"), tokens(row[1]))
    return table


def _total_row(total: ClassTotal, whole: int) -> tuple[Text, Text, str, Text]:
    colour = class_colour(total.item_class)
    name, bar = Text(class_name(total.item_class), colour), _bar(total.est_tokens, whole, colour)
    return name, bar, tokens(total.est_tokens), Text(counted(total.count, "item"), "dim")


def _bar(count: int, whole: int, colour: str) -> Text:
    filled = min(BAR_CELLS, round(count * BAR_CELLS / whole))
    return Text(FILLED * filled, colour).append(EMPTY * (BAR_CELLS - filled), "dim")


def _sums(found: ContextInspection) -> Iterator[Text]:
    about = "~" if found.estimated else ""
    window = f" of {tokens(found.window_tokens)}" if found.window_tokens is not None else ""
    used = f"{about}{tokens(found.used_tokens)}{window} tokens"
    items = f"{tokens(found.estimated_tokens)} in items by estimate"
    sign = "-" if found.overhead_tokens < 0 else "+"
    rest = f"{sign} {tokens(abs(found.overhead_tokens))} for {REST}"
    yield Text(f"{used} = {items} {rest}", "bold")
    if found.note is not None:
        yield Text(one_line(found.note, 300), "dim")
