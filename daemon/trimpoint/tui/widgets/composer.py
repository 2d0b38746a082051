"""The editor of the prompt, with the menus of slash commands and files, and earlier prompts."""

from collections.abc import Awaitable, Callable
from typing import ClassVar
from unicodedata import category

from rich.console import Console
from rich.text import Text
from textual import events, work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea
from trimpoint_protocol.methods import CommandInfo

from trimpoint.cli.terminal import one_line
from trimpoint.tui.model.clicks import key_clicked, keyed
from trimpoint.tui.model.own_commands import complete_own
from trimpoint.tui.model.pasted import OF_DRAFTS, OF_PASTES, Pastes, images_pasted
from trimpoint.tui.model.popup import FileMenu, Popup, file_typed
from trimpoint.tui.model.prompt import SHELL, History, is_command
from trimpoint.tui.model.settings import Settings
from trimpoint.tui.widgets.command_menu import CommandMenu
from trimpoint.tui.widgets.key_line import press

_FRAME_END = 4  # of the settings' words, with a blank and the corner
# While no turn runs, and while one does.
_PLACEHOLDERS = (
    "Ask, / for commands, @ for files",
    "Tell the agent more, or queue what comes next",
)
_SENDS = ("Enter sends", "Enter tells the agent · Alt+Enter queues")
_SHELL = ("your shell, no sandbox", "Enter runs it")
_CONSOLE = Console()
Complete = Callable[[str], Awaitable[list[CommandInfo]]]
FindFiles = Callable[[str], Awaitable[list[str]]]


def _settings_text(settings: Settings) -> Text:
    model, permissions = settings.words
    style = "bold red" if settings.is_open else "dim"
    return Text.assemble((one_line(model), "dim"), (" · ", "dim"), (one_line(permissions), style))


class Composer(TextArea):
    """The editor. Enter sends the text; Shift+Enter, Ctrl+J, or a backslash before Enter insert a
    line break. Alt+Enter and Ctrl+Enter send it for later while a turn runs, else Alt+Enter inserts
    a line break, too.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("shift+enter,ctrl+j", "line", show=False),
        Binding("tab", "complete", show=False),
        Binding("up", "up", show=False),
        Binding("down", "down", show=False),
    ]

    class Sent(Message):
        """Posted when the person sends a text."""

        def __init__(self, text: str, *, is_later: bool) -> None:
            super().__init__()
            self.text = text
            self.is_later = is_later

    class WantsQueued(Message):
        """Posted when the person wants to edit the last queued prompt."""

    class WantsHistory(Message):
        """Posted when Tab was pressed and there is nothing to complete."""

    class WantsSettings(Message):
        """Posted when the words about the model, or those about permissions, were clicked."""

        def __init__(self, *, is_model: bool) -> None:
            super().__init__()
            self.is_model = is_model

    class WantsHelp(Message):
        """Posted when a question mark was typed into an empty composer."""

    def __init__(self, menu: CommandMenu, complete: Complete, find_files: FindFiles) -> None:
        super().__init__(
            id="composer", soft_wrap=True, tab_behavior="focus", show_line_numbers=False,
            placeholder=_PLACEHOLDERS[False],
        )  # fmt: skip
        self.is_in_turn, self._is_said, self._is_connected = False, False, False
        self._words: tuple[str, ...] = ()
        self._settings: Settings | None = None
        self._commands, self._files = Popup(), FileMenu()
        self._pastes = Pastes()
        self.prompts = History()
        self._menu = menu
        self._complete = complete
        self._find_files = find_files
        self.cursor_blink = False
        self.highlight_cursor_line = False

    def show_turn(
        self, *, is_running: bool, settings: Settings | None, is_said: bool, is_connected: bool
    ) -> None:
        """Shows what Enter does, unless another line says it, and what the thread works with."""
        if is_connected and not self._is_connected:
            self.on_text_area_changed()  # the menu has had the chat's own commands alone
        self._is_connected = is_connected
        self.is_in_turn, self._is_said = is_running, is_said
        self._show_keys()
        self.placeholder = _PLACEHOLDERS[is_running]
        if settings != self._settings:
            self._settings = settings
            self.border_subtitle = _settings_text(settings) if settings is not None else ""

    def _show_keys(self) -> None:
        """Says in the frame what Enter does with the text."""
        words: tuple[str, ...] = (_SENDS[self.is_in_turn],) if self.text.strip() else ()
        if self.text.startswith(SHELL):
            words = _SHELL
        elif self._is_said:
            words = ()
        if words != self._words:
            self._words = words
            self.border_title = keyed(" · ".join(words))

    def on_click(self, event: events.Click) -> None:
        """Does what the words under the mouse say: those about a key, or about the settings."""
        at = event.get_content_offset(self)
        if at is not None and at.y == 0 and not self.text:
            hint = keyed(_PLACEHOLDERS[self.is_in_turn]).get_style_at_offset(_CONSOLE, at.x)
            self.insert(key_clicked(hint) or "")
        if at is None and (key := key_clicked(event.style)) is not None:
            press(self, key)
        if self._settings is None or event.y != self.outer_size.height - 1:
            return
        permissions = len(one_line(self._settings.words[1])) + _FRAME_END
        is_right = event.x >= self.outer_size.width - permissions
        self.post_message(self.WantsSettings(is_model=not is_right))

    @property
    def popup(self) -> Popup:
        """Returns the menu that is shown, or would be."""
        return self._files if self._files.is_open else self._commands

    @property
    def whole_text(self) -> str:
        """Returns the text with what was folded in it."""
        return self._pastes.unfolded(self.text)

    @property
    def typed_text(self) -> str:
        """Returns the same, or what was typed before an earlier prompt was brought in its place."""
        return self._pastes.unfolded(self.prompts.typed(self.text))

    def set_aside(self) -> None:
        """Empties the editor; the arrow keys bring the text back."""
        self.prompts.add(self.text)
        self.text = ""

    def put(self, text: str) -> None:
        """Replaces the text and moves the cursor to its end."""
        self.text = self._pastes.folded(text, OF_DRAFTS)
        self.move_cursor(self.document.end)

    def put_before(self, text: str) -> None:
        """Brings back a text that was not sent, before what was typed meanwhile."""
        text = self._pastes.folded(text, OF_DRAFTS)
        self.put(f"{text}\n\n{self.text}" if self.text.strip() else text)

    def show_menu(self) -> None:
        """Redraws the menu."""
        self._menu.show(self.popup, max(20, self.screen.size.width - 2))

    def on_text_area_changed(self) -> None:
        self._show_files()
        self._show_keys()
        if is_command(self.text) and " " not in self.text.lstrip():
            self._look_up(self.text)
        else:
            self._commands.hide()
            self.show_menu()

    def on_text_area_selection_changed(self) -> None:
        if self._files.is_open and not self._files.is_for(self._file_word()):
            self._show_files()

    def _show_files(self) -> None:
        word = self._file_word()
        if len(word) > 1:
            self._look_up_file(word)
        elif self._files.is_open:
            self._files.hide()
            self.show_menu()

    def _file_word(self) -> str:
        row, column = self.cursor_location
        return file_typed(self.document.get_line(row)[:column]) or ""

    @work(exclusive=True, group="files")
    async def _look_up_file(self, word: str) -> None:
        found = await self._find_files(word[1:])
        if self.is_attached and self._file_word() == word:
            self._files.offer(word, found)
            self.show_menu()

    @work(exclusive=True)
    async def _look_up(self, text: str) -> None:
        commands = [*await self._complete(text.strip()), *complete_own(text.strip())]
        if self.is_attached and self.text == text:
            self._commands.show(text, commands)
            self.show_menu()

    def close_menu(self) -> bool:
        """Closes the menu; returns whether it was open."""
        was_open = self.popup.is_open
        self.popup.close()
        self.show_menu()
        return was_open

    def action_complete(self) -> None:
        """Inserts what is chosen in the menu."""
        if self._take_file():
            return
        completed = self._commands.completed(self.text)
        if completed is None and self.popup.is_open:
            return  # the menu for this text is on its way
        if completed is None:
            self.post_message(self.WantsHistory())
        else:
            self.put(completed)

    def _take_file(self) -> bool:
        """Inserts the chosen file; returns whether the menu of files has the keys."""
        if not self._files.is_open:
            return False
        word = self._file_word()
        if (path := self._files.completed(word)) is not None:
            row, column = self.cursor_location
            self.replace(path, (row, column - len(word)), (row, column))
        return True

    def action_send(self, *, is_later: bool = False) -> None:
        """Sends the text, for later if wanted. If the menu is open and its choice is not typed
        completely, inserts the choice instead.
        """
        if self.text.endswith("\\") and self.cursor_location == self.document.end:
            self.action_delete_left()
            self.action_line()
            return
        if not self._files.is_whole() and self._take_file():
            return
        completed = self._commands.completed(self.text)
        if completed is not None and not self._commands.is_whole():
            self.put(completed)
            if completed.endswith(" "):
                return
        text = self.whole_text.strip()
        if text:
            self.prompts.add(self.text.strip())
            self.text = ""
            self.post_message(self.Sent(text, is_later=is_later))

    async def _on_paste(self, event: events.Paste) -> None:
        """Inserts what is pasted; what is long is folded, and an image is named by its path."""
        event.stop()
        event.prevent_default()
        text = "\n".join(event.text.splitlines()) if "\r" in event.text else event.text
        self.insert(images_pasted(text) or self._pastes.folded(text, OF_PASTES))

    def action_delete_left(self) -> None:
        """Deletes the selection, or what stands for a paste or an image, or a character."""
        row, column = self.cursor_location
        name = self._pastes.name_before(self.document.get_line(row)[:column])
        if name is None or not self.selection.is_empty:
            super().action_delete_left()
        else:
            self.delete((row, column - len(name)), (row, column))

    def action_line(self) -> None:
        """Inserts a line break."""
        self.insert("\n")

    def action_up(self) -> None:
        """Moves up: in the menu, in the text, then to earlier prompts."""
        if self.popup.is_open:
            self.popup.move(-1)
            self.show_menu()
        elif self.cursor_location[0] > 0 or self.wrapped_document_up():
            self.action_cursor_up()
        elif not self.text:
            self.post_message(self.WantsQueued())
        else:
            self.show_older()

    def show_older(self) -> None:
        """Shows the previous prompt."""
        text = self.prompts.older(self.text)
        if text is not None:
            self.put(text)
            self.move_cursor((0, 0))

    def action_down(self) -> None:
        """Moves down: in the menu, in the text, then to later prompts."""
        if self.popup.is_open:
            self.popup.move(1)
            self.show_menu()
        elif self.cursor_location[0] < self.document.line_count - 1:
            self.action_cursor_down()
        elif (text := self.prompts.newer()) is not None:
            self.put(text)
        else:
            self.action_cursor_down()

    def wrapped_document_up(self) -> bool:
        """Returns whether there is a line above the cursor, in the text as it is wrapped."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y > 0

    async def _on_key(self, event: events.Key) -> None:
        """Handles keys with a special meaning before they are inserted as text."""
        if event.key == "enter":
            self._take(event)
            self.action_send()
        elif event.key == "ctrl+enter" or (event.key == "alt+enter" and self.is_in_turn):
            self._take(event)
            self.action_send(is_later=True)
        elif event.key == "alt+enter":
            self._take(event)
            self.action_line()
        elif event.character == "?" and not self.text:
            self._take(event)
            self.post_message(self.WantsHelp())
        elif event.character is not None and category(event.character) == "Cf":
            # Joiners and the like, which Textual does not take for text.
            self._take(event)
            self.insert(event.character)

    def _take(self, event: events.Key) -> None:
        event.prevent_default()
        event.stop()
