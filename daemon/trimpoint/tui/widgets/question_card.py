"""The card that shows a question of the agent and takes the answer.

Always true: a key answers only while the card has the keyboard focus, which it gets only from the
person, for one question at a time.
"""

import re
from collections.abc import Callable
from typing import Any, ClassVar

from rich.console import Console
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static
from trimpoint_protocol.lasting_rules import RULE_WORDS

from trimpoint.cli.views.whole_text import whole_lines
from trimpoint.tui.model.clicks import key_clicked, keyed
from trimpoint.tui.model.deliberate import Deliberate
from trimpoint.tui.model.filling import Filling
from trimpoint.tui.model.questions import Choice, FieldKind
from trimpoint.tui.model.reading import Reading, Window
from trimpoint.tui.model.state import Question
from trimpoint.tui.widgets.key_line import press

_CONSOLE = Console()
_FRAME_COLUMNS, _FRAME_ROWS = 4, 2
_LEAST_ROWS = 2
_WHEEL = 3
_ANSWER = re.compile(r"[❯ ] (\S) ")
_TOO_SOON = "That was too soon after it appeared. Press the key again."


class _Answer(Input):
    """The input field for a free answer. A key that names an option chooses the option while the
    field is empty.
    """

    async def _on_key(self, event: events.Key) -> None:
        card = self.parent
        if not self.value and isinstance(card, QuestionCard) and card.takes(event):
            return
        await super()._on_key(event)


class QuestionCard(Vertical, can_focus=True):
    """Shows one question at a time; `others` is the number of further questions."""

    # A click on the chosen answer takes it only if the keys were here before.
    FOCUS_ON_CLICK = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("enter", "enter", show=False),
        Binding("space", "mark", show=False),
    ]

    class Answered(Message):
        """Posted when the person has answered."""

        def __init__(self, question: Question, result: Any) -> None:
            super().__init__()
            self.question = question
            self.result = result

    class Typed(Message):
        """Posted when a character was typed that is no answer and belongs into the composer."""

        def __init__(self, character: str) -> None:
            super().__init__()
            self.character = character

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(id="card")
        self._clock = clock
        self._deliberate = Deliberate()
        self._question: Question | None = None
        self._filling: Filling | None = None
        self._reading = Reading(())
        self._others = 0
        self._room = 0
        self._text = Static(id="card-text")
        self._input = _Answer(id="card-input", compact=True)

    def compose(self) -> ComposeResult:
        """Yields the question and the input field."""
        yield self._text
        yield self._input

    def on_mount(self) -> None:
        for widget in (self, self._input):
            self.watch(widget, "has_focus", self._focus_changed, init=False)

    def show(self, question: Question | None, others: int, room: int) -> bool:
        """Shows a question in at most `room` rows, or hides the card if it is None; returns whether
        the question changed.
        """
        self.display = question is not None
        is_other = question != self._question
        self._others, self._room = others, room
        if is_other:
            self._question = question
            self._filling = Filling(question.method, question.card) if question else None
            self._begin_step()
            self._begin_field()
        self._draw()
        return is_other

    def take_focus(self) -> None:
        """Moves the keyboard focus to the card, to its input field if there is one."""
        (self._input if self._input.display else self).focus()

    def _begin_step(self) -> None:
        """Begins what is read and answered at once: a question, or the rule that it would write."""
        self._deliberate.begin(self._clock())
        filling = self._filling
        pending = filling.pending if filling is not None else None
        if pending is not None:
            self._reading = Reading((RULE_WORDS, *whole_lines(pending.rule)))
        else:
            self._reading = Reading(_readable(filling) if filling is not None else ())

    def _begin_field(self) -> None:
        field = self._filling.field if self._filling is not None else None
        self._input.display = field is not None and field.is_free
        self._input.password = field is not None and field.is_secret
        self._input.value = field.default if field is not None else ""
        is_other = field is not None and bool(field.options)
        self._input.placeholder = "or type another answer" if is_other else ""
        if self.has_keys:
            self.take_focus()

    def _focus_changed(self) -> None:
        filling = self._filling
        if filling is not None and not self.has_keys and filling.problem == _TOO_SOON:
            filling.problem = ""  # no key answers any more
        self._draw()

    def _draw(self) -> None:
        if self._filling is not None:
            self._text.update(self._drawn(self._filling))

    def _drawn(self, filling: Filling) -> Text:
        head, tail = [Text(filling.card.title, "bold")], self._answers(filling)
        width = max(8, self.screen.size.width - _FRAME_COLUMNS)
        others = sum(len(line.wrap(_CONSOLE, width)) for line in [*head, *tail])
        room = self._room - _FRAME_ROWS - others - self._input.display
        window = self._reading.window(width, max(_LEAST_ROWS, room))
        if not window.is_whole:
            window = self._reading.window(width, max(_LEAST_ROWS, room - 1))
        body = [Text(row, _look(row)) for row in window.rows]
        return Text("\n").join([*head, *body, *_position(window), *tail])

    def _answers(self, filling: Filling) -> list[Text]:
        lines: list[Text] = []
        field = filling.field
        if field is not None:
            progress = f"  ({filling.progress})" if filling.progress else ""
            optional = "" if field.is_required else "  (optional)"
            lines.append(Text.assemble(field.title, (progress + optional, "dim")))
        lines += [self._line(filling, at, words) for at, words in enumerate(filling.lines)]
        if filling.problem:
            lines.append(Text(filling.problem, "red"))
        lines.append(keyed(self._hint(filling), "dim"))
        return lines

    def _line(self, filling: Filling, at: int, words: str) -> Text:
        is_chosen = self.has_keys and at == filling.chosen and not self._input.value
        is_many = filling.field is not None and filling.field.kind is FieldKind.MANY
        box = ("[x] " if at in filling.marked else "[ ] ") if is_many else ""
        return Text.assemble(
            ("❯ " if is_chosen else "  ", "bold cyan"),
            (f"{self._key_of(filling, at)} ", "cyan"),
            (f"{box}{words}", "bold" if is_chosen else ""),
        )

    @staticmethod
    def _key_of(filling: Filling, at: int) -> str:
        return str(at + 1) if filling.field is not None else filling.choices[at].key

    def _hint(self, filling: Filling) -> str:
        others = [f"{self._others} more wait"] if self._others else []
        if not self.has_keys:
            return " · ".join(["Tab goes here to answer; what you type is a prompt", *others])
        words = ["Enter answers"]
        if filling.field is not None and filling.field.kind is FieldKind.MANY:
            words.insert(0, "Space marks")
        words.append("Tab goes back to the prompt")
        if filling.pending is not None:
            words.append("Esc goes back")
        else:
            words.append("Esc declines" if filling.card.fields else "Esc interrupts")
        return " · ".join([*words, *others])

    @property
    def has_keys(self) -> bool:
        """Returns whether the card has the keyboard focus."""
        return self.has_focus or self._input.has_focus

    # --- keys -----------------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """Goes to the card, chooses the answer under the mouse, and takes it where it is chosen
        already.
        """
        at, filling = event.get_content_offset(self._text), self._filling
        if at is None or filling is None:
            return
        if (key := key_clicked(event.style)) is not None:
            if self.has_keys:
                press(self, key)
            else:
                self.take_focus()
            return
        width = max(8, self.screen.size.width - _FRAME_COLUMNS)
        own = sum(len(line.wrap(_CONSOLE, width)) for line in self._answers(filling))
        line = self._text.render_line(at.y).text
        had_keys, before = self.has_keys, filling.chosen
        if at.y < self._text.size.height - own:  # what is asked may look like an answer
            return
        keys = [self._key_of(filling, row) for row in range(len(filling.lines))]
        answer = _ANSWER.match(line)
        if answer is not None and answer[1] in keys:
            self.take_focus()
            filling.chosen = keys.index(answer[1])
            if had_keys and filling.chosen == before:
                self.action_enter()
            self._draw()

    def on_mouse_scroll_up(self) -> None:
        self.scroll_rows(-_WHEEL)

    def on_mouse_scroll_down(self) -> None:
        self.scroll_rows(_WHEEL)

    def on_resize(self) -> None:
        self._draw()

    def on_key(self, event: events.Key) -> None:
        if self.has_focus and not self.takes(event) and event.is_printable and event.character:
            event.stop()
            self.post_message(self.Typed(event.character))

    def takes(self, event: events.Key) -> bool:
        """Handles a key that names a choice or an option; returns whether it did."""
        filling = self._filling
        if filling is None or event.character is None:
            return False
        choice = filling.of_key(event.character.lower())
        is_option = choice is None and filling.press(event.character)
        if choice is None and not is_option:
            return False
        event.stop()
        event.prevent_default()
        if self._is_deliberate(event.key):
            self._take_key(filling, choice)
        return True

    def _take_key(self, filling: Filling, choice: Choice | None) -> None:
        if choice is not None:
            self._answer(filling.take(choice))
        elif filling.field is not None and filling.field.kind is FieldKind.MANY:
            filling.mark()
            self._draw()
        else:
            self._enter(filling)

    def _is_deliberate(self, key: str) -> bool:
        is_so = self._deliberate.takes(key, self._clock())
        if self._filling is not None:
            self._filling.problem = "" if is_so else _TOO_SOON
            self._draw()
        return is_so

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_enter()

    def on_input_changed(self) -> None:
        self._draw()

    def action_move(self, step: int) -> None:
        """Moves the choice by `step` lines."""
        if self._filling is not None:
            self._filling.move(step)
            self._draw()

    def action_mark(self) -> None:
        """Marks or unmarks the chosen option."""
        if self._filling is not None:
            self._filling.mark()
            self._draw()

    def scroll_rows(self, rows: int) -> None:
        """Scrolls what is asked by rows."""
        self._reading.scroll(rows)
        self._draw()

    def action_enter(self) -> None:
        """Accepts the chosen or typed value."""
        if self._filling is not None and self._is_deliberate("enter"):
            self._enter(self._filling)

    def _enter(self, filling: Filling) -> None:
        before = filling.field
        result = filling.enter(self._input.value)
        if filling.field != before and result is None:
            self._begin_field()
        self._answer(result)

    def go_back(self) -> bool:
        """Leaves the second step of a lasting permission, or declines a question that has fields;
        returns False if there is neither.
        """
        filling = self._filling
        if filling is not None and filling.go_back():
            self._answer(None)
            return True
        if filling is None or not filling.card.fields:
            return False
        self._answer(filling.card.declined)
        return True

    def _answer(self, result: Any) -> None:
        """Sends an answer; None begins the next step of the question instead."""
        if result is None:
            self._begin_step()
            self._draw()
        elif self._question is not None:
            self.post_message(self.Answered(self._question, result))


def _readable(filling: Filling) -> tuple[str, ...]:
    card = filling.card
    return (f"in {card.folder}", *card.details) if card.folder else card.details


def _position(window: Window) -> list[Text]:
    if window.is_whole:
        return []
    last = window.first + len(window.rows) - 1
    below = "PgDn shows more" if last < window.total else "this is the end"
    return [keyed(f"rows {window.first}-{last} of {window.total:,} · {below}", "bold yellow")]


def _look(line: str) -> str:
    return {"+": "green", "-": "red", "@": "cyan"}.get(line.strip()[:1], "")
