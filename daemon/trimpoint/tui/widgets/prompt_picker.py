"""Lists of earlier prompts: to type one again, or to go back to one and send it changed."""

import asyncio
from typing import NamedTuple

from rich.text import Text
from textual import work
from textual.widgets import Input
from trimpoint_protocol.shapes.checkpoints import TurnCheckpoint
from trimpoint_protocol.shapes.history import HistoryHit

from trimpoint.cli.terminal import one_line
from trimpoint.cli.views.age import short_age
from trimpoint.tui.model.choosing import Option, matches
from trimpoint.tui.model.prompt import typed_again
from trimpoint.tui.session.chat import Chat
from trimpoint.tui.session.inquiries import Scope
from trimpoint.tui.widgets.picker import Picker, columns
from trimpoint.tui.widgets.turn_picker import TurnPicker

_WAIT_S = 0.12
_SCOPE: Scope = "all"
Found = str | HistoryHit


class PromptPicker(Picker[Found, str]):
    """Finds prompts of all threads, those of this one first; its result is the chosen text."""

    def __init__(self, chat: Chat, here: list[str]) -> None:
        super().__init__("Earlier prompts", "words of a prompt, of any thread")
        self._chat = chat
        self._here = here[::-1]

    def on_mount(self) -> None:
        self._search("")

    def keys(self) -> str:
        """Returns the line that explains the keys."""
        return "Enter types it · Esc closes"

    def row(self, value: Found, width: int) -> Text:
        """Returns a prompt as one line; one of another thread with its name and age."""
        if isinstance(value, str):
            return Text(one_line(value, 1000))
        name = one_line(value.thread_name or value.thread_id[-8:], 20)
        right = Text.assemble((f"{name} ", "cyan"), (f"{short_age(value.created_at):>4}", "dim"))
        return columns(Text(one_line(value.snippet, 1000)), right, width)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._search(event.value)

    @work(exclusive=True)
    async def _search(self, typed: str) -> None:
        here: list[Found] = [one for one in self._here if matches(one, typed)]
        self.offer(_options(here), "There is no such prompt.")
        if not typed.strip():
            return
        await asyncio.sleep(_WAIT_S)
        words = f"{typed}*" if typed[-1].isalnum() else typed
        hits = await self._chat.inquiries.search(words, _SCOPE, ["user"])
        others = [one for one in hits if one.thread_id != self._chat.state.thread_id]
        self.offer(_options([*here, *others]), "There is no such prompt.")

    def take(self, value: Found) -> None:
        """Closes the list with the whole text of the chosen prompt."""
        if isinstance(value, str):
            self.dismiss(value)
        else:
            self._read(value)

    @work(exclusive=True)
    async def _read(self, hit: HistoryHit) -> None:
        text = await self._chat.inquiries.whole_text(hit)
        self.dismiss(None if text is None else typed_again(text))


def _options(found: list[Found]) -> list[Option[Found]]:
    return [Option(one, one if isinstance(one, str) else one.snippet) for one in found]


class Again(NamedTuple):
    """What goes back to before a prompt, and the number of that prompt's turn."""

    command: str
    turn: int


class AgainPicker(TurnPicker[Again]):
    """Lists the prompts of the thread; its result is what goes back to before one of them."""

    heading_words = "Edit and send again …"
    with_files = False
    skipped = 0

    def reached(self, turn: TurnCheckpoint) -> int:
        """Returns the number of the turn that is gone back to."""
        return turn.number - 1

    def result(self, turn: TurnCheckpoint, command: str) -> Again:
        """Returns what to do for a turn."""
        return Again(command, turn.number)
