"""The card that shows a question of the agent and takes the answer."""

from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static

from trimpoint.cli.terminal import printable
from trimpoint.tui.model.filling import Filling
from trimpoint.tui.model.questions import FieldKind
from trimpoint.tui.model.state import Question

_SHOWN_DETAILS = 14


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

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("enter", "enter", show=False),
        Binding("space", "mark", show=False),
        Binding("ctrl+o", "fold", show=False),
    ]

    class Answered(Message):
        """Posted when the person has answered."""

        def __init__(self, question: Question, result: Any) -> None:
            super().__init__()
            self.question = question
            self.result = result

    def __init__(self) -> None:
        super().__init__(id="card")
        self._question: Question | None = None
        self._filling: Filling | None = None
        self._others = 0
        self._is_open = False
        self._text = Static(id="card-text")
        self._input = _Answer(id="card-input", compact=True)

    def compose(self) -> ComposeResult:
        """Yields the question and the input field."""
        yield self._text
        yield self._input

    def show(self, question: Question | None, others: int) -> bool:
        """Shows a question, or hides the card if it is None; returns whether the question
        changed.
        """
        self.display = question is not None
        is_other = question != self._question
        self._others = others
        if is_other:
            self._question, self._is_open = question, False
            self._filling = Filling(question.method, question.card) if question else None
            self._begin_field()
        self._draw()
        return is_other and question is not None

    def take_focus(self) -> None:
        """Moves the keyboard focus to the card, to its input field if there is one."""
        (self._input if self._input.display else self).focus()

    def _begin_field(self) -> None:
        field = self._filling.field if self._filling is not None else None
        self._input.display = field is not None and field.is_free
        self._input.password = field is not None and field.is_secret
        self._input.value = field.default if field is not None else ""
        is_other = field is not None and bool(field.options)
        self._input.placeholder = "or type another answer" if is_other else ""
        if self.has_focus or self._input.has_focus:
            self.take_focus()

    def _draw(self) -> None:
        if self._filling is not None:
            self._text.update(self._drawn(self._filling))

    def _drawn(self, filling: Filling) -> Text:
        lines = [Text(filling.card.title, "bold"), *self._details(filling)]
        field = filling.field
        if field is not None:
            progress = f"  ({filling.progress})" if filling.progress else ""
            optional = "" if field.is_required else "  (optional)"
            lines.append(Text.assemble(field.title, (progress + optional, "bright_black")))
        lines += [self._line(filling, at, words) for at, words in enumerate(filling.lines)]
        if filling.problem:
            lines.append(Text(filling.problem, "red"))
        lines.append(Text(self._hint(filling), "bright_black"))
        return Text("\n").join(lines)

    def _details(self, filling: Filling) -> list[Text]:
        details = [printable(one) for one in filling.card.details if one]
        shown = details if self._is_open else details[:_SHOWN_DETAILS]
        lines = [Text(f"  {one}", _look(one)) for one in shown]
        if len(details) > len(shown):
            more = f"  … {len(details) - len(shown)} more lines (Ctrl+O)"
            lines.append(Text(more, "bright_black"))
        return lines

    def _line(self, filling: Filling, at: int, words: str) -> Text:
        is_chosen = at == filling.chosen and not self._input.value
        key = str(at + 1) if filling.field is not None else filling.card.choices[at].key
        is_many = filling.field is not None and filling.field.kind is FieldKind.MANY
        box = ("[x] " if at in filling.marked else "[ ] ") if is_many else ""
        return Text.assemble(
            ("❯ " if is_chosen else "  ", "bold cyan"),
            (f"{key} ", "cyan"),
            (f"{box}{words}", "bold" if is_chosen else ""),
        )

    def _hint(self, filling: Filling) -> str:
        words = ["Enter answers"] if self.has_keys else ["Tab to answer"]
        if filling.field is not None and filling.field.kind is FieldKind.MANY:
            words.insert(0, "Space marks")
        words.append("Esc declines" if filling.card.fields else "Esc interrupts")
        if self._others:
            words.append(f"{self._others} more wait")
        return " · ".join(words)

    @property
    def has_keys(self) -> bool:
        """Returns whether the card has the keyboard focus."""
        return self.has_focus or self._input.has_focus

    # --- keys -----------------------------------------------------------------------------------

    def on_descendant_focus(self) -> None:
        self._draw()

    def on_focus(self) -> None:
        self._draw()

    def on_blur(self) -> None:
        self._draw()

    def on_key(self, event: events.Key) -> None:
        if self.has_focus:
            self.takes(event)

    def takes(self, event: events.Key) -> bool:
        """Handles a key that names a choice or an option; returns whether it did."""
        filling = self._filling
        if filling is None or event.character is None:
            return False
        result = filling.result_of_key(event.character.lower())
        if result is not None:
            self._answer(result)
        elif not filling.press(event.character):
            return False
        elif filling.field is not None and filling.field.kind is FieldKind.MANY:
            filling.mark()
            self._draw()
        else:
            self.action_enter()
        event.stop()
        event.prevent_default()
        return True

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

    def action_fold(self) -> None:
        """Switches between all details and their first lines."""
        self._is_open = not self._is_open
        self._draw()

    def action_enter(self) -> None:
        """Accepts the chosen or typed value."""
        filling = self._filling
        if filling is None:
            return
        before = filling.field
        result = filling.enter(self._input.value)
        if result is not None:
            self._answer(result)
            return
        if filling.field != before:
            self._begin_field()
        self._draw()

    def decline(self) -> bool:
        """Declines a question that has fields; returns False if the question has none."""
        filling = self._filling
        if filling is None or not filling.card.fields:
            return False
        self._answer(filling.card.declined)
        return True

    def _answer(self, result: Any) -> None:
        if self._question is not None:
            self.post_message(self.Answered(self._question, result))


def _look(line: str) -> str:
    return {"+": "green", "-": "red"}.get(line.strip()[:1], "bright_black")
