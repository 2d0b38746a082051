"""The search in the history of this thread, this folder, or all threads."""

import asyncio
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType
from textual.widgets import Input
from trimpoint_protocol.shapes.history import HistoryHit

from trimpoint.cli.terminal import one_line
from trimpoint.cli.views.age import short_age
from trimpoint.tui.model.choosing import Option
from trimpoint.tui.session.chat import Chat
from trimpoint.tui.session.inquiries import Scope
from trimpoint.tui.widgets.picker import Picker, columns

_WAIT_S = 0.12
_SCOPES: tuple[Scope, ...] = ("thread", "folder", "all")
_SCOPE_WORDS = {"thread": "this thread", "folder": "this folder", "all": "all threads"}


class SearchPicker(Picker[HistoryHit, HistoryHit]):
    """Searches through the daemon; its result is the chosen entry."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "scope", show=False, priority=True),
    ]

    def __init__(self, chat: Chat) -> None:
        super().__init__("Search", "words of an entry")
        self._chat = chat
        self._scope: Scope = _SCOPES[0] if chat.state.thread_id is not None else _SCOPES[2]

    def on_mount(self) -> None:
        self.offer([], "Type words; what was pruned is found, too.")

    def heading(self) -> Text:
        """Returns the scope of the search."""
        return Text.assemble(
            (self._title, "bold"), " in ", (_SCOPE_WORDS[self._scope], "bold yellow")
        )

    def keys(self) -> str:
        """Returns the line that explains the keys."""
        return "Enter shows it · Tab thread, folder, all · Esc closes"

    def row(self, value: HistoryHit, width: int) -> Text:
        """Returns a search result as one line, with the words of the query marked."""
        snippet = Text(one_line(value.snippet, 1000))
        if len(snippet) == len(value.snippet):
            for start, end in value.marks:
                snippet.stylize("bold yellow", start, end)
        left = Text.assemble((f"{value.turn:>4} ", "cyan"), (f"{value.kind:<10} ", "dim"))
        left.append_text(snippet)
        right = Text("" if value.in_context else "pruned ", "dim")
        if self._scope != _SCOPES[0]:
            right.append(f"{one_line(value.thread_name or value.thread_id[-8:], 20)} ", "cyan")
        right.append(f"{short_age(value.created_at):>4}", "dim")
        return columns(left, right, width)

    def take(self, value: HistoryHit) -> None:
        """Closes the list with the chosen result."""
        self.dismiss(value)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._search(event.value, _WAIT_S)

    def action_scope(self) -> None:
        """Changes to the next scope."""
        at = _SCOPES.index(self._scope)
        self._scope = _SCOPES[(at + 1) % len(_SCOPES)]
        if self._scope == _SCOPES[0] and self._chat.state.thread_id is None:
            self._scope = _SCOPES[1]
        self.draw()
        self._search(self._input.value, 0)

    @work(exclusive=True)
    async def _search(self, query: str, wait_s: float) -> None:
        """Searches after the person has stopped typing for `wait_s` seconds."""
        await asyncio.sleep(wait_s)
        if not query.strip():
            self.offer([], "Type words; what was pruned is found, too.")
            return
        self._chat.state.notice = None
        hits = await self._chat.inquiries.search(query, self._scope)
        options = [Option(hit, hit.snippet) for hit in hits]
        problem = self._chat.state.notice
        self.offer(options, problem.text if problem is not None else "Nothing was found.")
