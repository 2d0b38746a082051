"""The screens that the main screen opens, and what is done with what they return."""

from collections.abc import Callable

from textual import work
from textual.app import App
from trimpoint_protocol.methods import ThreadOverview
from trimpoint_protocol.readmodel import QueuedPrompt
from trimpoint_protocol.shapes.agent_sessions import SessionOverview
from trimpoint_protocol.shapes.history import HistoryHit

from trimpoint.tui.model.own_commands import OwnCommand, OwnName
from trimpoint.tui.model.prompt import text_of
from trimpoint.tui.model.spots import Spot
from trimpoint.tui.model.state import Tone
from trimpoint.tui.model.thread_options import Picked, PickedFor
from trimpoint.tui.session.chat import Chat
from trimpoint.tui.widgets.composer import Composer
from trimpoint.tui.widgets.driver import ChatDriver
from trimpoint.tui.widgets.editor import opened
from trimpoint.tui.widgets.help_screen import ReadScreen, table_of_keys
from trimpoint.tui.widgets.inspection_screen import InspectionScreen
from trimpoint.tui.widgets.prompt_picker import Again, AgainPicker
from trimpoint.tui.widgets.queue_screen import QueueScreen
from trimpoint.tui.widgets.search_picker import SearchPicker
from trimpoint.tui.widgets.settings_pickers import Changed, ModelPicker, PermissionsPicker
from trimpoint.tui.widgets.stretch_picker import StretchPicker
from trimpoint.tui.widgets.thread_picker import ThreadPicker
from trimpoint.tui.widgets.transcript_view import TranscriptView
from trimpoint.tui.widgets.turn_picker import KeepPicker, RevertPicker

_TWICE_WITHIN_S = 1.0


class OtherScreens(App[None]):
    """The base of the application: the chat, its transcript, and the screens beside it."""

    def __init__(self, chat: Chat) -> None:
        super().__init__(driver_class=ChatDriver, ansi_color=True)
        self._chat = chat
        self._state = chat.state
        self._transcript = TranscriptView(chat.state)
        self._escaped_at = -_TWICE_WITHIN_S
        self.screens: dict[OwnName, Callable[[], None]] = {
            OwnName.THREADS: self.action_threads,
            OwnName.SEARCH: self.action_search,
            OwnName.AGAIN: self.action_earlier,
            OwnName.EDITOR: self.action_editor,
            OwnName.QUEUE: self.action_queue,
            OwnName.MODEL: self.action_model,
            OwnName.PERMISSIONS: self.action_permissions,
        }

    def show_state(self) -> None:
        """Draws the state."""
        raise NotImplementedError

    def submit(self, text: str, *, is_later: bool = False) -> object:
        """Sends a prompt or a command."""
        raise NotImplementedError

    def type_before(self, text: str) -> None:
        """Puts a text before what is typed."""
        raise NotImplementedError

    def carry_out(self, own: OwnCommand) -> None:
        """Does what one of the screen's own commands says."""
        thread_id = self._state.thread_id
        match own.name:
            case OwnName.TURNS:
                self.action_turns(own.rest)
            case OwnName.KEEP:
                self.action_keep(own.rest)
            case name if (show := self.screens.get(name)) is not None:
                show()
            case OwnName.QUIT:
                self.exit()
            case _ if thread_id is None:
                self._state.notify(Tone.PROBLEM, "There is no thread yet.")
            case OwnName.TURN:
                self.go_to_turn(int(own.rest) if own.rest.isdecimal() else 0)
            case OwnName.RENAME:
                self.run_worker(self._chat.rename(thread_id, own.rest))
            case OwnName.FORK:
                self.run_worker(self._chat.fork(thread_id))
            case OwnName.ARCHIVE:
                self.run_worker(self._archive(thread_id))
            case _:
                raise ValueError(f"/{own.name} has no screen and does nothing")

    async def _archive(self, thread_id: str) -> None:
        await self._chat.archive(thread_id, back=False)
        if self._state.notice is None:
            self.action_new()
            self._state.notify(Tone.DONE, "Archived. Ctrl+T brings it back.")

    def is_second_escape(self, now: float) -> bool:
        """Returns whether Esc was pressed a moment ago, too."""
        before, self._escaped_at = self._escaped_at, now
        return now - before < _TWICE_WITHIN_S

    def action_editor(self) -> None:
        """Opens the person's editor with what is typed."""
        raise NotImplementedError

    def on_transcript_view_opened(self, message: TranscriptView.Opened) -> None:
        self.open_file(message.spot)

    def open_file(self, spot: Spot) -> None:
        """Opens a file in the person's editor, or says why not."""
        if (reason := opened(self, self._state.folder, spot)) is not None:
            self._state.notify(Tone.PROBLEM, reason)
        self.show_state()

    def action_help(self) -> None:
        """Shows the table of keys."""
        self.push_screen(ReadScreen(table_of_keys(self.size.width)))

    def action_threads(self) -> None:
        """Shows the list of threads."""
        self.push_screen(ThreadPicker(self._chat), self._picked)

    def _picked(self, picked: Picked | None) -> None:
        match picked:
            case None:
                return
            case Picked(PickedFor.NEW):
                self.action_new()
            case Picked(PickedFor.FORK, ThreadOverview(id=thread_id)):
                self.run_worker(self._chat.fork(thread_id))
            case Picked(_, ThreadOverview(id=thread_id)):
                self.run_worker(self._chat.open(thread_id))
            case Picked(_, SessionOverview() as session):
                self._state.progress = f"Reading the session of {session.agent}"
                self.run_worker(self._chat.continue_session(session))
            case _:
                return

    def action_new(self) -> None:
        """Shows an empty thread."""
        self._chat.open_new(self._state.folder)
        self.show_state()

    def action_turns(self, switches: str = "") -> None:
        """Shows the list of turns to revert to."""
        if self._state.thread_id is not None:
            self.push_screen(RevertPicker(self._chat, switches), self._run)

    def action_earlier(self) -> None:
        """Shows the prompts that can be edited and sent again."""
        if self._state.thread_id is not None:
            self.push_screen(AgainPicker(self._chat), self._chosen_again)

    def _chosen_again(self, again: Again | None) -> None:
        if again is not None:
            self._edit_again(again)

    @work
    async def _edit_again(self, again: Again) -> None:
        prompt = await self._chat.inquiries.prompt_of(again.turn)
        if prompt is not None and await self._chat.submit(again.command):
            self.type_before(prompt)
        self.show_state()

    def action_keep(self, switches: str = "") -> None:
        """Shows the turns that a clear can keep."""
        if self._state.thread_id is not None:
            self.push_screen(KeepPicker(self._chat, switches), self._run)

    def action_stretch(self, turn: int | None = None) -> None:
        """Shows what can be done at the chosen turn to make room, or first the list of turns."""
        if self._state.thread_id is not None:
            chosen = self._transcript.chosen_turn if turn is None else turn
            self.push_screen(StretchPicker(self._chat, chosen), self._run)

    def _run(self, command: str | None) -> None:
        if command is not None:
            self.query_one(Composer).focus()
            self.submit(command)

    def action_queue(self) -> None:
        """Shows the prompts that wait."""
        if self._state.thread_id is not None:
            self.push_screen(QueueScreen(self._chat), self._take_out)

    def _take_out(self, prompt: QueuedPrompt | None) -> None:
        if prompt is not None:
            self.type_before(text_of(prompt.input))

    def action_model(self) -> None:
        """Shows the models and their efforts."""
        self.push_screen(ModelPicker(self._chat), self._change_settings)

    def on_composer_wants_settings(self, message: Composer.WantsSettings) -> None:
        if message.is_model:
            self.action_model()
        else:
            self.action_permissions()

    def action_beginning(self) -> None:
        """Goes to the beginning of the thread."""
        self._transcript.go_to(0)

    def action_permissions(self) -> None:
        """Shows what the agent may do unasked."""
        self.push_screen(PermissionsPicker(self._chat), self._change_settings)

    def _change_settings(self, changed: Changed | None) -> None:
        if changed is not None:
            self.run_worker(self._chat.change_settings(changed))

    def action_search(self) -> None:
        """Shows the search."""
        self.push_screen(SearchPicker(self._chat), self._found)

    def _found(self, hit: HistoryHit | None) -> None:
        if hit is not None:
            self._reveal(hit)

    @work(exclusive=True, group="reveal")
    async def _reveal(self, hit: HistoryHit) -> None:
        self._show_entry(await self._chat.reveal(hit))

    @work(exclusive=True, group="reveal")
    async def go_to_turn(self, number: int) -> None:
        """Shows a turn."""
        self._show_entry(await self._chat.history.find_turn(number))

    def _show_entry(self, key: str | None) -> None:
        self.show_state()
        if key is not None:
            self._transcript.focus()
            self._transcript.show_entry(key)

    def action_inspect(self) -> None:
        """Shows the items of the context."""
        if self._state.thread_id is not None:
            self.push_screen(InspectionScreen(self._chat))
