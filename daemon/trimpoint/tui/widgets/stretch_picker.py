"""The list of turns, and what can be done at one to make room: with a preview."""

import time

from rich.text import Text
from textual import work
from trimpoint_protocol.methods import CommandOutcome
from trimpoint_protocol.shapes.checkpoints import TurnCheckpoint

from trimpoint.cli.terminal import one_line, printable
from trimpoint.tui.model.choosing import Option
from trimpoint.tui.model.deliberate import REPEATED_S, Deliberate
from trimpoint.tui.model.stretches import Act, acts_at
from trimpoint.tui.session.chat import Chat
from trimpoint.tui.widgets.picker import Picker
from trimpoint.tui.widgets.turn_picker import MAX_TURNS

Value = TurnCheckpoint | Act


class StretchPicker(Picker[Value, str]):
    """Lists turns, then what can be done at the chosen one, then shows what that would do. Its
    result is the command to run.

    :param turn: the number of the turn if it is chosen already.
    """

    def __init__(self, chat: Chat, turn: int | None = None) -> None:
        super().__init__("Make room at turn …", "number or words of the prompt")
        self._chat = chat
        self._turn, self._is_named = turn, turn is not None
        self._turns: list[TurnCheckpoint] = []
        self._act: Act | None = None
        self._preview: CommandOutcome | None = None
        self._deliberate, self._is_settled = Deliberate(), False

    def on_mount(self) -> None:
        self._read()

    @work(exclusive=True)
    async def _read(self) -> None:
        found = await self._chat.inquiries.turns(MAX_TURNS)
        if found is None:
            self.dismiss(None)
            return
        self._turns = [one for one in reversed(found.turns) if one.number]
        self._offer()

    def _offer(self) -> None:
        if self._turn is None or not self._turns:
            turns: list[Option[Value]] = [
                Option(one, f"{one.number} {one.prompt}") for one in self._turns
            ]
            self.offer(turns, "There is no turn yet.")
            return
        newest = max(self._turn, self._turns[0].number)
        self.offer([Option(act, act.words) for act in acts_at(self._turn, newest)], "")

    def heading(self) -> Text:
        """Returns the turn, or what the preview is for."""
        if self._act is not None:
            return Text(self._act.words, "bold")
        if self._turn is None:
            return super().heading()
        prompt = next((one.prompt for one in self._turns if one.number == self._turn), "")
        return Text.assemble(
            (f"Make room at turn {self._turn}", "bold"), (f"  {one_line(prompt, 200)}", "dim")
        )

    def keys(self) -> str:
        """Returns the line that explains the keys."""
        if self._act is not None and self._can_do and self._is_settled:
            return "Enter does it · Esc back to the list"
        if self._act is not None:
            return "Esc back to the list"
        if self._turn is None:
            return "Enter chooses · Esc closes"
        return f"Enter shows what would happen · Esc {'closes' if self._is_named else 'back'}"

    @property
    def _can_do(self) -> bool:
        return self._preview is not None and self._preview.status == "completed"

    def row(self, value: Value, width: int) -> Text:
        """Returns a turn, or what can be done, as one line."""
        if isinstance(value, Act):
            room = max(12, min(44, width // 2))
            return Text.assemble((f"{value.words:<{room}} ", "cyan"), (value.meaning, "dim"))
        line = Text.assemble((f"{value.number:>4}  ", "cyan"), one_line(value.prompt, 300))
        if value.trimmed:
            line.stylize("dim")
        return line

    def take(self, value: Value) -> None:
        """Chooses a turn, then shows the preview, then closes the list with the command, unless the
        key was pressed before the preview could be read, or is held.
        """
        is_deliberate = self._deliberate.takes("enter", time.monotonic())
        if self._act is not None:
            if self._can_do and is_deliberate:
                self.dismiss(self._act.command)
        elif isinstance(value, Act):
            self._look(value)
        else:
            self._go_to(value.number)

    def _go_to(self, turn: int | None) -> None:
        self._turn = turn
        self.choosing.chosen = 0
        self._input.value = ""
        self._offer()

    @work(exclusive=True)
    async def _look(self, act: Act) -> None:
        turn = self._turn
        preview = await self._chat.inquiries.preview(act.command)
        if preview is not None and self._turn == turn:  # else the person has gone back
            self._act, self._preview = act, preview
            self._input.display = False
            self._is_settled = False
            self._deliberate.begin(time.monotonic())
            self.set_timer(REPEATED_S, self._settle)
        self.draw()

    def _settle(self) -> None:
        self._is_settled = True
        self.draw()

    def draw(self) -> None:
        """Draws the list, or the preview."""
        super().draw()
        if self._preview is not None:
            self._rows.update(Text(printable(self._preview.message or "")))

    def action_close(self) -> None:
        """Goes back one step, or closes the list."""
        if self._act is not None:
            self._act = self._preview = None
            self._input.display = True
            self._input.focus()
            self.draw()
        elif self._turn is not None and not self._is_named:
            self._go_to(None)
        else:
            super().action_close()
