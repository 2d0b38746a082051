"""The screen with the items of the agent's context, where items can be discarded and turns
pinned.
"""

from typing import ClassVar

from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static
from trimpoint_protocol.methods import InspectedItem

from trimpoint.cli.terminal import one_line
from trimpoint.cli.views.context_view import EMPTY, FILLED
from trimpoint.cli.views.inspection_view import class_colour
from trimpoint.core.context.context_size import percent_text
from trimpoint.core.model.decision import counted
from trimpoint.core.model.tokens import short_count as tokens
from trimpoint.tui.model.choosing import rows_around
from trimpoint.tui.model.clicks import keyed
from trimpoint.tui.model.inspection import Inspection
from trimpoint.tui.session.chat import Chat
from trimpoint.tui.session.inquiries import Removal
from trimpoint.tui.widgets.key_line import KeyLine
from trimpoint.tui.widgets.picker import columns

_PAGE = 10
_WHEEL = 3


class InspectionScreen(ModalScreen[None]):
    """The screen. Space marks items, D discards the marked ones, M masks their output, P pins
    the turn of an item.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", show=False, priority=True),
        Binding("up,k", "move(-1)", show=False, priority=True),
        Binding("down,j", "move(1)", show=False, priority=True),
        Binding("pageup", f"move(-{_PAGE})", show=False, priority=True),
        Binding("pagedown", f"move({_PAGE})", show=False, priority=True),
        Binding("home", "move(-1000000)", show=False, priority=True),
        Binding("end", "move(1000000)", show=False, priority=True),
        Binding("space", "mark", show=False, priority=True),
        Binding("d", "ask('discard')", show=False, priority=True),
        Binding("m", "ask('mask')", show=False, priority=True),
        Binding("p", "pin", show=False, priority=True),
        Binding("enter,y", "confirm", show=False, priority=True),
    ]

    def __init__(self, chat: Chat) -> None:
        super().__init__()
        self._chat = chat
        self._inspection: Inspection | None = None
        self._said = "reading …"
        self._asks: Removal | None = None
        self._heading = Static(classes="picker-heading")
        self._rows = Static(classes="picker-rows")
        self._keys = KeyLine(classes="picker-keys")

    def compose(self) -> ComposeResult:
        """Yields the bar, the items and the line of keys."""
        with Vertical(classes="picker"):
            yield self._heading
            yield self._rows
            yield self._keys

    def on_mount(self) -> None:
        self._read("")

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw)

    @work(exclusive=True)
    async def _read(self, said: str) -> None:
        read = await self._chat.inquiries.inspect()
        if read is None:
            self.dismiss(None)
            return
        before = self._inspection.chosen if self._inspection is not None else None
        self._inspection = Inspection(*read)
        if before is not None:
            self._inspection.chosen = min(before, len(read[0].items) - 1)
        self._said = said
        self.draw()

    def draw(self) -> None:
        """Draws the items."""
        inspection = self._inspection
        width, height = max(10, self._rows.size.width), max(1, self._rows.size.height)
        if inspection is None:
            self._heading.update(Text(self._said, "dim"))
            return
        self._heading.update(_heading(inspection, width))
        lines = [
            _row(inspection, item, width, is_chosen=at == inspection.chosen)
            for at, item in rows_around(inspection.found.items, inspection.chosen, height)
        ]
        self._rows.update(Text("\n").join(lines))
        self._keys.update(self._footer(inspection))

    def _footer(self, inspection: Inspection) -> Text:
        if self._asks is not None:
            items = counted(len(inspection.marked), "item")
            weight = f"~{tokens(inspection.marked_tokens)} tokens"
            asked = f"Discard {items}, {weight}? Enter discards · Esc keeps"
            if self._asks == "mask":
                asked = f"Mask the output of {items} of {weight}? Enter masks · Esc keeps"
            return keyed(asked, "bold yellow")
        if self._said:
            return Text(one_line(self._said, 300), "yellow").append_text(
                keyed(" · Esc closes", "dim")
            )
        if inspection.marked:
            freed = tokens(inspection.marked_tokens)
            said = f"~{freed} tokens marked · D discards · M masks · Space marks · Esc"
            return keyed(said, "cyan")
        keys = "Space marks · D discards, M masks what is marked · P pins its turn · Esc closes"
        return keyed(keys, "dim")

    # --- keys and mouse ---------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """Chooses the item under the mouse, and marks it where it is chosen already."""
        at, inspection = event.get_content_offset(self._rows), self._inspection
        if at is None or inspection is None:
            return
        height = max(1, self._rows.size.height)
        rows = rows_around(inspection.found.items, inspection.chosen, height)
        if at.y < len(rows) and rows[at.y][0] == inspection.chosen:
            self.action_mark()
        elif at.y < len(rows):
            self.action_move(rows[at.y][0] - inspection.chosen)

    def on_mouse_scroll_up(self) -> None:
        self.action_move(-_WHEEL)

    def on_mouse_scroll_down(self) -> None:
        self.action_move(_WHEEL)

    def action_move(self, step: int) -> None:
        """Moves the choice by `step` items."""
        if self._inspection is not None:
            self._said = ""
            self._inspection.move(step)
            self.draw()

    def action_mark(self) -> None:
        """Marks or unmarks the chosen item, or shows why it cannot be marked."""
        if self._inspection is not None:
            self._said = self._inspection.mark()
            self.draw()

    def action_ask(self, removal: Removal) -> None:
        """Asks for confirmation before the marked items are discarded or masked."""
        if self._inspection is not None:
            self._asks = removal if self._inspection.marked else None
            self._said = "" if self._asks else "Mark items with the space bar first."
            self.draw()

    def action_confirm(self) -> None:
        """Discards or masks the marked items after the confirmation."""
        if self._asks is not None and self._inspection is not None:
            self._remove(self._asks, self._inspection.entry_ids)
            self._asks = None

    @work(exclusive=True)
    async def _remove(self, removal: Removal, entry_ids: list[str]) -> None:
        is_done = await self._chat.inquiries.remove(removal, entry_ids)
        verb = "Masked" if removal == "mask" else "Discarded"
        self._read(f"{verb}. /undo takes it back." if is_done else self._problem())

    @work(exclusive=True)
    async def action_pin(self) -> None:
        """Pins the turn of the chosen item, or unpins it."""
        item = self._inspection.item if self._inspection is not None else None
        if item is None or item.turn_id is None:
            return
        if item.pinned:
            is_done, said = await self._chat.inquiries.unpin(item.turn_id), "The pin is gone."
        else:
            is_done, said = await self._chat.inquiries.pin(item.turn_id), "Its turn is pinned."
        self._read(said if is_done else self._problem())

    def _problem(self) -> str:
        notice = self._chat.state.notice
        return notice.text if notice is not None else ""

    def action_close(self) -> None:
        """Withdraws the question for confirmation if it is shown, otherwise closes the screen."""
        if self._asks is not None:
            self._asks = None
            self.draw()
        else:
            self.dismiss(None)


def _heading(inspection: Inspection, width: int) -> Text:
    found = inspection.found
    about = "~" if found.estimated else ""
    window = f" of {tokens(found.window_tokens)}" if found.window_tokens is not None else ""
    share = f" · {percent_text(found.percent)}" if found.percent is not None else ""
    title = Text(f"The context: {about}{tokens(found.used_tokens)}{window} tokens{share}", "bold")
    bar = Text()
    shares = inspection.bar(width)
    for part in shares:
        bar.append(FILLED * part.cells, class_colour(part.item_class))
    bar.append(EMPTY * (width - bar.cell_len), "dim")
    return Text("\n").join([title, bar, *_legend(inspection, width)])


def _legend(inspection: Inspection, width: int) -> list[Text]:
    """Returns the classes of items with their tokens, wrapped to `width` columns."""
    lines = [Text()]
    for item_class, est_tokens in inspection.totals:
        words = f"{item_class} {tokens(est_tokens)}"
        if lines[-1] and lines[-1].cell_len + len(words) + 2 > width:
            lines.append(Text())
        lines[-1].append("■ ", class_colour(item_class))
        lines[-1].append(f"{words}  ")
    for line in lines:
        line.rstrip()
    return lines


def _row(inspection: Inspection, item: InspectedItem, width: int, *, is_chosen: bool) -> Text:
    box = "[x] " if inspection.is_marked(item) else "    " if inspection.why_not(item) else "[ ] "
    line = Text(no_wrap=True).append("❯ " if is_chosen else "  ", "bold cyan")
    left = Text.assemble(
        (box, "yellow" if inspection.is_marked(item) else "dim"),
        (f"{item.item_class:<12} ", class_colour(item.item_class)),
        one_line(item.preview, 300),
    )
    right = Text("pinned ", "bright_yellow") if item.pinned else Text()
    right.append(f"{tokens(item.est_tokens):>6}")
    line.append_text(columns(left, right, width - 2))
    if is_chosen:
        line.stylize("bold")
    return line
