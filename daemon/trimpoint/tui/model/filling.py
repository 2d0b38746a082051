"""A question that the person is answering: a choice, or a form with one field after the other."""

from typing import Any, assert_never

from trimpoint.tui.model.questions import Card, Choice, Field, FieldKind, answer_of, value_of

_BACK, _WRITE = Choice("n", "no, go back", None), "yes, write it"


class Filling:
    """The state of the answer. `chosen` is a position among the choices, or among the options of
    the current field. `pending` is a choice that writes a lasting rule, once it was chosen: it is
    the answer only if the person confirms the rule.
    """

    def __init__(self, method: str, card: Card) -> None:
        self.card = card
        self.chosen = 0
        self.marked: set[int] = set()
        self.problem = ""
        self.pending: Choice | None = None
        self._method = method
        self._at = 0
        self._values: dict[str, Any] = {}

    @property
    def field(self) -> Field | None:
        """Returns the current field; None if the question has choices instead of fields."""
        return self.card.fields[self._at] if self._at < len(self.card.fields) else None

    @property
    def progress(self) -> str:
        """Returns the position of the current field as text, such as "2 of 3"; empty if there is
        only one.
        """
        count = len(self.card.fields)
        return f"{self._at + 1} of {count}" if count > 1 else ""

    @property
    def lines(self) -> list[str]:
        """Returns the texts of the choices, or of the current field's options."""
        if self.field is None:
            return [choice.words for choice in self.choices]
        return [label for label, _ in self.field.options]

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Returns the choices of the card; for a pending choice, those of its confirmation."""
        if self.pending is None:
            return self.card.choices
        return (_BACK, Choice("y", _WRITE, self.pending.result))

    def move(self, step: int) -> None:
        """Moves the choice by `step` lines; after the last line comes the first."""
        if self.lines:
            self.chosen = (self.chosen + step) % len(self.lines)

    def mark(self) -> None:
        """Marks or unmarks the chosen option, if the field allows several."""
        if self.field is not None and self.field.kind is FieldKind.MANY:
            self.marked.symmetric_difference_update({self.chosen})

    def of_key(self, key: str) -> Choice | None:
        """Returns the choice that has this key, or None."""
        return next((choice for choice in self.choices if choice.key == key), None)

    def take(self, choice: Choice) -> Any:
        """Returns the answer of a choice; None if it needs to be confirmed first, or if it goes
        back from that.
        """
        was_pending, self.pending, self.chosen = self.pending, None, 0
        if was_pending is None and choice.rule:
            self.pending = choice
            return None
        return choice.result

    def go_back(self) -> bool:
        """Leaves the confirmation of a lasting rule; returns whether there was one."""
        was_pending, self.pending = self.pending is not None, None
        return was_pending

    def press(self, key: str) -> bool:
        """Chooses an option by its number and returns True; returns False if there is no such
        option.
        """
        if self.field is None or not key.isdecimal() or not 1 <= int(key) <= len(self.lines):
            return False
        self.chosen = int(key) - 1
        return True

    def enter(self, text: str) -> Any:
        """Accepts the chosen or typed value of the current field. Returns the answer when the last
        field is filled in, otherwise None.

        If the value is not valid, `problem` says why.
        """
        field = self.field
        if field is None:
            return self.take(self.choices[self.chosen])
        value = value_of(field, text, self._places(field, text))
        if value is None and (field.is_required or text.strip()):
            self.problem = _problem(field)
            return None
        if value is not None:
            self._values[field.id] = value
        self._at, self.chosen, self.marked, self.problem = self._at + 1, 0, set(), ""
        if self.field is not None:
            return None
        return answer_of(self._method, self.card.fields, self._values)

    def _places(self, field: Field, text: str) -> list[int]:
        if field.kind is FieldKind.MANY:
            return sorted(self.marked)
        return [] if text.strip() or not field.options else [self.chosen]


def _problem(field: Field) -> str:
    match field.kind:
        case FieldKind.INTEGER:
            return "Enter a whole number."
        case FieldKind.NUMBER:
            return "Enter a number."
        case FieldKind.MANY:
            return "Mark at least one with the space bar."
        case FieldKind.TEXT | FieldKind.ONE:
            return "It needs an answer."
        case _:
            assert_never(field.kind)
