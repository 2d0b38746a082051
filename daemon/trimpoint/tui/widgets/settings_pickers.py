"""The lists for the model with its effort, and for what the agent may do unasked."""

from typing import Any

from rich.text import Text
from textual import work

from trimpoint.cli.terminal import one_line
from trimpoint.tui.model.choosing import Option
from trimpoint.tui.model.settings import PRESETS, Model, Preset
from trimpoint.tui.session.chat import Chat
from trimpoint.tui.widgets.picker import Picker

Changed = dict[str, Any]
"""Parameters of `thread/settings/update`."""


class ModelPicker(Picker[Model | tuple[str, str], Changed]):
    """Lists the models, and then the efforts of the chosen one."""

    def __init__(self, chat: Chat) -> None:
        super().__init__("Model of this thread", "name")
        self._chat = chat
        self._model: Model | None = None

    def on_mount(self) -> None:
        self._read()

    @work(exclusive=True)
    async def _read(self) -> None:
        models = await self._chat.inquiries.models()
        self.offer([Option(one, f"{one.name} {one.title}") for one in models], "Codex lists none.")

    def keys(self) -> str:
        """Returns the line that explains the keys."""
        return "Enter takes · Esc closes"

    def row(self, value: Model | tuple[str, str], width: int) -> Text:
        """Returns a model or an effort as one line."""
        settings = self._chat.state.settings
        name, what = (value.title, value.what) if isinstance(value, Model) else value
        named = value.name if isinstance(value, Model) else name
        is_now = settings is not None and named in settings[:2]
        return Text.assemble(
            (f"{name:<24} ", "cyan"), ("now  " if is_now else "", "green"), (one_line(what), "dim")
        )

    def take(self, value: Model | tuple[str, str]) -> None:
        """Goes on to the efforts of a model; closes the list with an effort."""
        if isinstance(value, Model) and value.efforts:
            self._model, self._title = value, f"Effort of {value.title}"
            self._input.value = ""
            self.offer([Option(one, one[0]) for one in value.efforts.items()], "")
        elif isinstance(value, Model):
            self.dismiss({"model": value.name})
        elif self._model is not None:
            self.dismiss({"model": self._model.name, "effort": value[0]})


class PermissionsPicker(Picker[Preset, Changed]):
    """Lists what the agent may do unasked. Full access is taken by a second Enter only."""

    def __init__(self, chat: Chat) -> None:
        super().__init__("What the agent may do in this thread", "name")
        self._chat = chat
        self._asked: Preset | None = None

    def on_mount(self) -> None:
        self.offer([Option(one, one.name) for one in PRESETS], "")

    def heading(self) -> Text:
        """Returns what is in force, or the question before full access."""
        if self._asked is not None:
            asked = "No sandbox, and nobody is asked. Enter once more takes it; Esc goes back."
            return Text(asked, "bold red")
        settings = self._chat.state.settings
        now = f"  now: {settings.words[1]}" if settings is not None else ""
        return Text.assemble((self._title, "bold"), (now, "dim"))

    def keys(self) -> str:
        """Returns the line that explains the keys."""
        return "Enter takes · Esc closes"

    def row(self, value: Preset, width: int) -> Text:
        """Returns a choice as one line."""
        return Text.assemble((f"{value.name:<12} ", "cyan"), (value.what, "dim"))

    def take(self, value: Preset) -> None:
        """Closes the list with the choice."""
        if value.sandbox == "dangerFullAccess" and self._asked is not value:
            self._asked = value
            self.draw()
            return
        sandbox = {"type": value.sandbox}
        self.dismiss({"sandboxPolicy": sandbox, "approvalPolicy": value.approval})

    def action_move(self, step: int) -> None:
        """Moves the choice by `step` rows."""
        self._asked = None
        super().action_move(step)

    def action_close(self) -> None:
        """Goes back from the question, or closes the list."""
        if self._asked is None:
            super().action_close()
        self._asked = None
        self.draw()
