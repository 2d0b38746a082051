"""The main screen of `trimpoint chat` and the keys that work everywhere."""

import asyncio
import time
from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.driver import Driver
from textual.timer import Timer
from textual.widgets import TextArea
from trimpoint_protocol.readmodel import QueuedPrompt, TimelineMessage

from trimpoint.cli.terminal import printable
from trimpoint.core.model.decision import counted
from trimpoint.tui.model.own_commands import own_command
from trimpoint.tui.model.prompt import text_of, typed_again
from trimpoint.tui.model.state import ChatState, LinkState, Tone
from trimpoint.tui.model.transcript import Transcript
from trimpoint.tui.session.chat import Chat
from trimpoint.tui.terminal import is_there
from trimpoint.tui.widgets.alerts import Alerts
from trimpoint.tui.widgets.bars import SPIN_S, ActivityBar, StatusBar
from trimpoint.tui.widgets.bindings import BINDINGS, EVERYWHERE
from trimpoint.tui.widgets.command_menu import CommandMenu
from trimpoint.tui.widgets.composer import Composer
from trimpoint.tui.widgets.driver import ChatDriver
from trimpoint.tui.widgets.editor import ENDED_BADLY, edited
from trimpoint.tui.widgets.help_screen import ReadScreen
from trimpoint.tui.widgets.kept_drafts import KeptDrafts
from trimpoint.tui.widgets.other_screens import OtherScreens
from trimpoint.tui.widgets.prompt_picker import PromptPicker
from trimpoint.tui.widgets.question_card import QuestionCard
from trimpoint.tui.widgets.queue_screen import QueueScreen
from trimpoint.tui.widgets.terminal import TerminalCursor, learn_keys
from trimpoint.tui.widgets.transcript_scrolling import TranscriptScrolling
from trimpoint.tui.widgets.transcript_view import TranscriptView

_FRAME_S = 1 / 30
_QUIT_WITHIN_S = 2.0
_BARS_ROWS = 5  # of the status bar, the activity, and a line of the conversation


class ChatApp(OtherScreens):
    """The Textual application: draws the state and runs the actions of keys."""

    CSS_PATH = "chat.tcss"
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = "#composer"
    TITLE = "trimpoint"
    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]

    def __init__(
        self, chat: Chat, clock: Callable[[], float] = time.monotonic, *, is_loud: bool = True
    ) -> None:
        super().__init__(chat)
        learn_keys()
        self._clock = clock
        self._stopped_at = 0.0
        self._remembered: Transcript | None = None
        self._card = QuestionCard(clock)
        self._activity = ActivityBar(id="activity")
        self._menu = CommandMenu(id="menu")
        self._composer = Composer(self._menu, chat.complete, chat.find_files)
        self._drafts = KeptDrafts(chat, self._composer)
        self._status = StatusBar(id="status")
        self._cursor = TerminalCursor(self._write)
        self._alerts = Alerts(self._write, is_loud=is_loud)
        self._spinner: Timer

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Returns whether an action may run: most actions of this screen may not while another
        screen is shown.
        """
        return action in EVERYWHERE or len(self.screen_stack) <= 1

    def _write(self, text: str) -> None:
        if self._driver is not None:
            self._driver.write(text)

    @property
    def state(self) -> ChatState:
        """Returns the state that is shown."""
        return self._state

    def compose(self) -> ComposeResult:
        """Yields the widgets of the screen, from top to bottom."""
        yield self._transcript
        yield self._card
        yield self._activity
        yield self._menu
        yield self._composer
        yield self._status

    def on_mount(self) -> None:
        self._menu.display = False
        self._spinner = self.set_interval(SPIN_S, self._spin)
        self.run_worker(self._chat.run())
        self.run_worker(self._follow())
        self.show_state()

    def on_ready(self) -> None:
        if isinstance(self._driver, ChatDriver) and self._driver.has_first_screen:
            self._drafts.hold()
            self._driver.take_keys(self._drafts.give_back)
        elif isinstance(self._driver, ChatDriver):
            self._driver.take_keys(lambda: None)

    async def _follow(self) -> None:
        """Redraws after changes, at a limited rate."""
        while True:
            await self._chat.changes.wait()
            if not self.screen_stack:  # the program ends
                return
            self.show_state()
            await asyncio.sleep(_FRAME_S)

    def show_state(self) -> None:
        """Draws the state."""
        self._transcript.take_state()
        self._remember_prompts()
        self._drafts.take_state()
        if isinstance(self.screen, QueueScreen):
            self.screen.take_state()
        self._show_card()
        self._show_bars()

    def on_unmount(self) -> None:
        self._drafts.keep()
        self._alerts.end()

    def _remember_prompts(self) -> None:
        """Adds the prompts of a thread that was opened to the history for the arrow keys."""
        transcript = self._state.transcript
        if transcript is not self._remembered and transcript.is_loaded:
            self._remembered = transcript
            self._composer.prompts.add_older(
                [
                    typed_again(entry.text)
                    for entry in transcript.entries
                    if isinstance(entry, TimelineMessage) and entry.role == "user"
                ]
            )

    def _show_card(self) -> None:
        questions = self._state.questions
        had_keys = self._card.has_keys
        room = self.size.height - self._composer.outer_size.height - _BARS_ROWS
        is_other = self._card.show(self._state.question, len(questions) - 1, room)
        if had_keys and is_other:
            # The person went to the question that was there, not to the next one. And Textual
            # would give the keys to whatever stands next on the screen.
            self._composer.focus()

    def _show_bars(self) -> None:
        is_running = self._state.turn_id is not None
        self._composer.show_turn(
            is_running=is_running, settings=self._state.settings,
            is_said=is_running and self._state.question is None,
            is_connected=self._state.link is LinkState.CONNECTED,
        )  # fmt: skip
        menu = self._menu.outer_size.height if self._menu.display else 0
        below = self._composer.outer_size.height + menu + 1
        is_behind = self._transcript.is_behind
        self._activity.show(self._state, self.size, is_behind=is_behind, below=below)
        self._status.show(self._state, self.size.width)

    def _spin(self) -> None:
        if not self._card.is_attached:
            return  # the program ends
        if not self.is_headless and not is_there():
            self.exit()  # the window was closed
        self._show_card()
        self._show_bars()
        self._place_cursor()
        self._drafts.keep()
        self._alerts.notify(self._state, is_away=not self.app_focus)

    def _place_cursor(self) -> None:
        at = self._cursor.follow(self.focused)
        if at is not None:
            self.cursor_position = at

    def on_resize(self) -> None:
        self.call_after_refresh(self.show_state)

    # --- the composer ---------------------------------------------------------------------------

    def on_composer_sent(self, message: Composer.Sent) -> None:
        self._transcript.to_end()
        own = own_command(message.text)
        if own is not None:
            self._state.notice = None
            self.carry_out(own)
            self._show_bars()
        else:
            self.submit(message.text, is_later=message.is_later)

    @work
    async def submit(self, text: str, *, is_later: bool = False) -> None:
        """Sends a prompt or a command; a text that was not accepted comes back."""
        if not await self._chat.submit(text, is_later=is_later):
            self._composer.put_before(text)
        self.show_state()

    def on_command_menu_taken(self) -> None:
        self._composer.action_send()

    def on_composer_wants_queued(self) -> None:
        if self._state.queue:
            self._take_back(self._state.queue[-1])
        else:
            self._composer.show_older()

    @work
    async def _take_back(self, prompt: QueuedPrompt) -> None:
        if await self._chat.prompts.withdraw(prompt):
            self.type_before(text_of(prompt.input))
        self.show_state()

    def type_before(self, text: str) -> None:
        """Puts a text before what is typed."""
        self._composer.put_before(text)

    def on_composer_wants_history(self) -> None:
        if self._state.question is not None:
            self._card.take_focus()
        else:
            self._transcript.focus()

    def on_composer_wants_help(self) -> None:
        self.action_help()

    def on_question_card_typed(self, message: QuestionCard.Typed) -> None:
        self._composer.focus()
        self._composer.insert(message.character)

    def on_question_card_answered(self, message: QuestionCard.Answered) -> None:
        self._chat.answer(message.question, message.result)
        self.show_state()

    # --- the transcript -------------------------------------------------------------------------

    @work(exclusive=True, group="older")
    async def on_transcript_scrolling_older(self) -> None:
        await self._chat.history.read_older()

    @work(exclusive=True, group="newer")
    async def on_transcript_scrolling_newer(self) -> None:
        await self._chat.history.read_newer()

    @work(exclusive=True, group="older")
    async def on_transcript_scrolling_around(self, message: TranscriptScrolling.Around) -> None:
        await self._chat.history.read_around(message.place)

    def on_transcript_view_typed(self, message: TranscriptView.Typed) -> None:
        self._composer.focus()
        self._composer.insert(message.character)

    def on_transcript_scrolling_newest(self) -> None:
        self._chat.read_newest()

    @work(exclusive=True, group="fold")
    async def on_transcript_view_toggled(self, message: TranscriptView.Toggled) -> None:
        await self._chat.history.toggle(message.trim_point_id)

    def on_transcript_view_turn(self, message: TranscriptView.Turn) -> None:
        self.action_stretch(message.number)

    def on_transcript_view_copied(self, message: TranscriptView.Copied) -> None:
        self._copy(message.text)

    def _copy(self, text: str) -> None:
        self.copy_to_clipboard(text)
        copied = f"Copied {counted(len(text.splitlines()), 'line')}."
        self._state.notify(Tone.DONE, copied, is_brief=True)
        self._show_bars()

    # --- keys -----------------------------------------------------------------------------------

    def action_escape(self) -> None:
        """Closes the menu, or leaves the transcript, or declines a question, or interrupts the
        turn, or the second time lists the prompts to edit: the first that applies.
        """
        if self._composer.close_menu():
            return
        if self._transcript.has_focus:
            self._composer.focus()
            return
        if self._card.has_keys and self._card.go_back():
            return
        if self._state.busy is not None or self._state.command:
            self._interrupt()
        elif not self._composer.text and self.is_second_escape(self._clock()):
            self.action_earlier()
        else:
            self._state.notice = None
            self._show_bars()

    @work
    async def _interrupt(self) -> None:
        await self._chat.interrupt()

    def action_stop(self) -> None:
        """Copies the selected text, or clears the composer, or quits when pressed twice: the first
        that applies.
        """
        if text := self.screen.get_selected_text():
            self._copy(text)
            self.screen.clear_selection()
        elif self._composer.text:
            self._composer.set_aside()
        elif self._clock() - self._stopped_at < _QUIT_WITHIN_S:
            self.exit()
        else:
            self._stopped_at = self._clock()
            once_more = "Ctrl+C once more ends the chat; the thread stays."
            self._state.notify(Tone.NEUTRAL, once_more, is_brief=True)
            self._show_bars()

    def action_leave(self) -> None:
        """Quits if the composer is empty; otherwise deletes the character at the cursor."""
        if self._composer.text and isinstance(self.focused, TextArea):
            self._composer.action_delete_right()
        else:
            self.exit()

    @on(Driver.SignalResume)
    def action_redraw(self) -> None:
        """Redraws the whole screen."""
        self._cursor.forget()
        self.refresh(repaint=True, layout=True)

    def action_fold(self) -> None:
        """Opens what was said last if not all of it is in sight; else opens or closes the chosen
        row, or the last visible row that can be opened.
        """
        notice = self._state.notice
        if self._activity.is_cut and notice is not None:
            self.push_screen(ReadScreen(Text(printable(f"{notice.text}\n\n{notice.hint}").strip())))
        elif self._transcript.has_focus:
            self._transcript.action_fold()
        else:
            self._transcript.toggle_last()

    def action_again(self) -> None:
        """Sends the prompt of a turn that failed again."""
        if (prompt := self._state.failed_prompt) is not None:
            self.submit(prompt)

    def action_prompts(self) -> None:
        """Shows the earlier prompts of all threads."""
        self.push_screen(PromptPicker(self._chat, self._composer.prompts.texts), self._type)

    def _type(self, text: str | None) -> None:
        if text is not None:
            self._composer.put_before(text)

    def action_editor(self) -> None:
        """Opens the person's editor: with the file of the chosen change, or with what is typed."""
        if (spot := self._transcript.chosen_spot) is not None:
            self.open_file(spot)
            return
        text = edited(self, self._composer.whole_text)
        if text is None:
            self._state.notify(Tone.PROBLEM, ENDED_BADLY)
        else:
            self._composer.put(text)
        self._show_bars()

    def action_take_advice(self) -> None:
        """Puts the advised command into the composer."""
        if self._state.advice is not None and not self._composer.text:
            self._composer.put(self._state.advice.command)

    def action_start_daemon(self) -> None:
        """Starts a daemon if none runs."""
        self._chat.start_daemon()

    def action_page(self, pages: int) -> None:
        """Scrolls the question if it has the keys, else the history, by screens."""
        if self._card.has_keys:
            self._card.scroll_rows(pages * max(1, self.size.height // 2))
        else:
            self._transcript.scroll_page(pages)

    def action_lines(self, lines: int) -> None:
        """Scrolls the question if it has the keys, else the history, by lines."""
        if self._card.has_keys:
            self._card.scroll_rows(lines)
        else:
            self._transcript.scroll_lines(lines)

    def action_end(self) -> None:
        """Scrolls to the end of the history."""
        self.workers.cancel_group(self, "older")  # pyright: ignore[reportUnknownMemberType]
        self._transcript.to_end()
