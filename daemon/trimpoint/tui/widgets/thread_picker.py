"""The list of threads, and the list of other agents' sessions."""

from typing import ClassVar

from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType
from textual.widgets import Input
from trimpoint_protocol.methods import ThreadOverview
from trimpoint_protocol.shapes.agent_sessions import SessionOverview

from trimpoint.cli.terminal import one_line
from trimpoint.cli.views.age import short_age
from trimpoint.cli.views.context_view import small_context
from trimpoint.cli.views.threads_view import busy_words
from trimpoint.tui.model.attention import asks
from trimpoint.tui.model.choosing import Option
from trimpoint.tui.model.thread_options import (
    Picked,
    PickedFor,
    Row,
    session_options,
    thread_options,
)
from trimpoint.tui.session.chat import Chat
from trimpoint.tui.widgets.picker import Picker, columns

_WIDE = 70
_LOOK_AGAIN_S = 0.1


class ThreadPicker(Picker[Row, Picked]):
    """Lists threads; Tab switches to the sessions of other agents and back. Its result is the
    chosen row with the action.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "other_list", show=False, priority=True),
        Binding("ctrl+n", "new", show=False, priority=True),
        Binding("ctrl+r,f2", "rename", show=False, priority=True),
        Binding("ctrl+x", "archive", show=False, priority=True),
        Binding("ctrl+f", "fork", show=False, priority=True),
    ]

    def __init__(self, chat: Chat) -> None:
        super().__init__("Threads", "first words, folder or id")
        self._chat = chat
        self._sessions: list[SessionOverview] | None = None
        self._shows_sessions = False
        self._renamed: ThreadOverview | None = None

    def on_mount(self) -> None:
        self._offer()

    def heading(self) -> Text:
        """Returns a line that shows which list is open."""
        if self._renamed is not None:
            return Text("New name, then Enter", "bold yellow")
        on, off = "bold underline", "dim"
        return Text.assemble(
            ("Threads", off if self._shows_sessions else on),
            "   ",
            ("Other agents' sessions", on if self._shows_sessions else off),
        )

    def keys(self) -> str:
        """Returns the line that explains the keys."""
        if self._renamed is not None:
            return "Enter renames · Esc goes back"
        if self._shows_sessions:
            return "Enter continues it in a new thread · Tab threads · Esc closes"
        return "Enter opens · ^N new · ^R rename · ^F fork · ^X archive · Tab other agents · Esc"

    def row(self, value: Row, width: int) -> Text:
        """Returns a thread or a session as one line."""
        if isinstance(value, ThreadOverview):
            return _thread_row(value, width, is_open=value.id == self._chat.state.thread_id)
        return _session_row(value, width)

    def take(self, value: Row) -> None:
        """Opens a thread, or continues a session."""
        self.dismiss(Picked(PickedFor.OPEN, value))

    def action_take(self) -> None:
        """Handles Enter: renames the thread if a name is being typed, otherwise takes the chosen
        row.
        """
        if self._renamed is not None:
            self._rename(self._renamed, self._input.value)
            self._end_renaming()
        else:
            super().action_take()

    def action_close(self) -> None:
        """Stops renaming if a name is being typed, otherwise closes the list."""
        if self._renamed is not None:
            self._end_renaming()
        else:
            super().action_close()

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._renamed is None:
            super().on_input_changed(event)

    def action_other_list(self) -> None:
        """Switches between threads and sessions."""
        self._shows_sessions = not self._shows_sessions
        if self._shows_sessions and self._sessions is None:
            self._read_sessions()
        self._offer()

    @work(exclusive=True)
    async def _read_sessions(self) -> None:
        self._sessions = await self._chat.inquiries.sessions()
        self._offer()

    def _offer(self) -> None:
        state = self._chat.state
        if not self._shows_sessions:
            none = "There are no threads yet."
            if not state.has_read_threads:
                none = "reading the threads …"
                self.set_timer(_LOOK_AGAIN_S, self._offer)
            self.offer(thread_options(state.threads, state.folder), none)
        elif self._sessions is None:
            self.offer([], "reading the sessions of other agents …")
        else:
            options: list[Option[Row]] = session_options(self._sessions)
            self.offer(options, "No sessions of other agents were found.")

    # --- what is done with a thread -------------------------------------------------------------

    def _thread(self) -> ThreadOverview | None:
        choice = self.choosing.choice
        return choice if isinstance(choice, ThreadOverview) else None

    def action_new(self) -> None:
        """Closes the list and shows an empty thread."""
        self.dismiss(Picked(PickedFor.NEW, None))

    def action_rename(self) -> None:
        """Starts to rename the chosen thread."""
        if (thread := self._thread()) is not None:
            self._renamed = thread
            self._input.value = thread.name or ""
            self.draw()

    def _end_renaming(self) -> None:
        self._renamed = None
        self._input.value = ""
        self.choosing.type("")
        self.draw()

    @work
    async def _rename(self, thread: ThreadOverview, name: str) -> None:
        if name.strip():
            await self._chat.rename(thread.id, name)
            self._offer()

    @work
    async def action_archive(self) -> None:
        """Archives the chosen thread, or unarchives it."""
        if (thread := self._thread()) is not None:
            await self._chat.archive(thread.id, back=thread.archived)
            self._offer()

    def action_fork(self) -> None:
        """Closes the list, forks the chosen thread and shows the fork."""
        if (thread := self._thread()) is not None:
            self.dismiss(Picked(PickedFor.FORK, thread))


def _thread_row(thread: ThreadOverview, width: int, *, is_open: bool) -> Text:
    words = one_line(thread.name or thread.preview, 300) or "(nothing said yet)"
    left = Text.assemble(("● " if is_open else "", "green"), words)
    if (said := one_line(thread.last_words, 300)) not in ("", words):
        left.append(f"  {said}", "dim")
    right = Text()
    if thread.archived:
        right.append("archived ", "dim")
        left.stylize("dim")
    elif thread.busy:
        is_asking = asks(thread)
        left = Text.assemble(("? " if is_asking else "", "bold yellow"), left)
        state = busy_words(thread.busy, asks=is_asking)
        right.append(f"{state} ", "bold yellow" if is_asking else "yellow")
    if width >= _WIDE:
        right.append_text(small_context(thread.context, bar=False)).append(" ")
        place = " · ".join(filter(None, (thread.cwd[-24:], (thread.branch_name or "")[-16:])))
        right.append(f"{one_line(place)} ", "dim")
    right.append(f"{short_age(thread.updated_at):>4}", "dim")
    return columns(left, right, width)


def _session_row(session: SessionOverview, width: int) -> Text:
    words = one_line(session.problem or session.title or session.first_prompt or "", 300)
    left = Text.assemble((f"{session.agent:<7}", "cyan"), words or "(nothing said yet)")
    right = Text()
    if width >= _WIDE and session.cwd:
        right.append(f"{one_line(session.cwd)[-24:]} ", "dim")
    when = short_age(session.updated_at) if session.updated_at else ""
    right.append(f"{when:>4}", "dim")
    return columns(left, right, width)
