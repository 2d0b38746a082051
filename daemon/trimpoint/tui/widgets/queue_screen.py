"""The list of the prompts that wait at the daemon: to edit, reorder, withdraw or send them."""

from typing import ClassVar

from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType
from trimpoint_protocol.readmodel import QueuedPrompt

from trimpoint.cli.terminal import one_line
from trimpoint.tui.model.choosing import Option
from trimpoint.tui.model.prompt import text_of
from trimpoint.tui.session.chat import Chat
from trimpoint.tui.widgets.picker import Picker


class QueueScreen(Picker[QueuedPrompt, QueuedPrompt]):
    """Lists the prompts, the next one first. Its result is a prompt that was taken out, to be
    edited.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("shift+up,ctrl+up", "put(-1)", show=False, priority=True),
        Binding("shift+down,ctrl+down", "put(1)", show=False, priority=True),
        Binding("delete,ctrl+d", "withdraw", show=False, priority=True),
        Binding("ctrl+s", "release", show=False, priority=True),
    ]

    def __init__(self, chat: Chat) -> None:
        super().__init__("Prompts that wait", "words of a prompt")
        self._chat = chat

    def on_mount(self) -> None:
        self.take_state()

    def take_state(self) -> None:
        """Shows the queue as it is now."""
        options = [Option(one, text_of(one.input)) for one in self._chat.state.queue]
        self.offer(options, "No prompt waits.")

    def keys(self) -> str:
        """Returns the line that explains the keys."""
        held = "Ctrl+S sends them · " if self._chat.state.queue_hold is not None else ""
        return f"{held}Enter edits · Shift+↑↓ moves · Del takes out · Esc closes"

    def row(self, value: QueuedPrompt, width: int) -> Text:
        """Returns a prompt as one line."""
        return Text(one_line(text_of(value.input), width) or "an image")

    def take(self, value: QueuedPrompt) -> None:
        """Takes the prompt out, and closes the list with it."""
        self._take_out(value)

    @work
    async def _take_out(self, value: QueuedPrompt) -> None:
        if await self._chat.prompts.withdraw(value):
            self.dismiss(value)

    @work(exclusive=True)
    async def action_put(self, step: int) -> None:
        """Moves the chosen prompt by `step` places."""
        queue, chosen = list(self._chat.state.queue), self.choosing.choice
        at = next((at for at, one in enumerate(queue) if one == chosen), None)
        if at is None or not 0 <= at + step < len(queue):
            return
        queue.insert(at + step, queue.pop(at))
        if await self._chat.prompts.put_first(queue):
            self._chat.state.queue = queue
            self.choosing.move(step)
            self.take_state()

    @work
    async def action_withdraw(self) -> None:
        """Takes the chosen prompt out."""
        chosen = self.choosing.choice
        if chosen is not None and await self._chat.prompts.withdraw(chosen):
            self._chat.state.queue = [one for one in self._chat.state.queue if one != chosen]
            self.take_state()

    @work
    async def action_release(self) -> None:
        """Has the prompts sent, and closes the list."""
        if await self._chat.prompts.release():
            self.dismiss(None)
