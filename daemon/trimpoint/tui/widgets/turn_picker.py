"""The list of turns to revert to, with a preview of what the revert would do."""

from typing import ClassVar, TypeVar

from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType
from trimpoint_protocol.methods import CommandOutcome
from trimpoint_protocol.shapes.checkpoints import RevertedFiles, TurnCheckpoint

from trimpoint.cli.terminal import one_line, printable
from trimpoint.cli.views.age import short_age
from trimpoint.core.commands.clear import offers
from trimpoint.tui.model.choosing import Option
from trimpoint.tui.session.chat import Chat
from trimpoint.tui.widgets.picker import Picker, columns

MAX_TURNS = 200
_MAX_FILES = 12
_CONTEXT, _FORCE = "--context", "--force"
R = TypeVar("R")


class TurnPicker(Picker[TurnCheckpoint, R]):
    """The base of lists of turns to go back to, with a preview; None if the person cancelled."""

    heading_words: ClassVar[str]
    with_files: ClassVar[bool]
    skipped: ClassVar[int]
    """How many of the newest turns are not listed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "files", show=False, priority=True),
    ]

    def __init__(self, chat: Chat, switches: str = "") -> None:
        super().__init__(self.heading_words, "number or words of the prompt")
        self._chat = chat
        given = switches.split()
        self._with_files = self.with_files and _CONTEXT not in given
        self._switches = [one for one in given if one != _CONTEXT]
        self._previewed: TurnCheckpoint | None = None
        self._preview: CommandOutcome | None = None

    def reached(self, turn: TurnCheckpoint) -> int:
        """Returns the number of the turn that is gone back to."""
        raise NotImplementedError

    def result(self, turn: TurnCheckpoint, command: str) -> R | None:
        """Returns the result for a turn."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self._read()

    @work(exclusive=True)
    async def _read(self) -> None:
        found = await self._chat.inquiries.turns(MAX_TURNS)
        if found is None:
            self.dismiss(None)
            return
        newest_first = list(reversed(found.turns))[self.skipped :]
        turns = [one for one in newest_first if self.reached(one) >= 0]
        options = [Option(turn, f"{turn.number} {turn.prompt}") for turn in turns]
        self.offer(options, "There is no turn to go back to.")

    def heading(self) -> Text:
        """Returns the scope of the revert, or the turn that the preview is for."""
        if self._previewed is None:
            scope = "files and context" if self._with_files else "the context alone"
            return Text.assemble((self._title, "bold"), (f"  {scope}", "yellow"))
        number = self.reached(self._previewed)
        where = f"the end of turn {number}" if number else "before the first turn"
        return Text(f"Back to {where}", "bold")

    def keys(self) -> str:
        """Returns the line that explains the keys."""
        if self._previewed is None:
            return "Enter shows what would happen · Tab with or without files · Esc closes"
        return "Enter goes back · Tab with or without files · Esc back to the list"

    def row(self, value: TurnCheckpoint, width: int) -> Text:
        """Returns a turn as one line."""
        left = Text.assemble((f"{value.number:>4}  ", "cyan"), one_line(value.prompt, 300))
        if value.number == 0:
            left = Text.assemble(("   0  ", "cyan"), "before the first turn")
        if value.trimmed:
            left.stylize("dim")
        right = Text()
        if value.changed is not None and value.changed.files:
            right.append(f"+{value.changed.additions} ", "green")
            right.append(f"-{value.changed.deletions} ", "red")
        if value.captured_at:
            right.append(f"{short_age(value.captured_at):>4}", "dim")
        return columns(left, right, width)

    def take(self, value: TurnCheckpoint) -> None:
        """Shows the preview; the second time, closes the list with the result."""
        if (turn := self._previewed) is not None:
            switches = [*self._switches, *([] if self._with_files else [_CONTEXT])]
            command = " ".join([f"/revert {self.reached(turn)}", *switches])
            self.dismiss(self.result(turn, command))
        else:
            self._look(value)

    @work(exclusive=True)
    async def _look(self, turn: TurnCheckpoint) -> None:
        preview = await self._chat.inquiries.preview_revert(
            self.reached(turn), files=self._with_files, force=_FORCE in self._switches
        )
        if preview is not None:
            self._previewed, self._preview = turn, preview
            self._input.display = False
        self.draw()

    def draw(self) -> None:
        """Draws the list, or the preview."""
        super().draw()
        if self._preview is not None:
            self._rows.update(preview_text(self._preview))

    def action_files(self) -> None:
        """Includes the files in the revert, or excludes them."""
        self._with_files = not self._with_files
        if self._previewed is not None:
            self._look(self._previewed)
        self.draw()

    def action_close(self) -> None:
        """Returns from the preview to the list, or closes the list."""
        if self._previewed is None:
            super().action_close()
            return
        self._previewed, self._preview = None, None
        self._input.display = True
        self._input.focus()
        self.draw()


class RevertPicker(TurnPicker[str]):
    """Lists the turns whose end can be gone back to; its result is the command to run."""

    heading_words = "Go back to the end of turn …"
    with_files = True
    skipped = 1  # going back to the last turn would change nothing

    def reached(self, turn: TurnCheckpoint) -> int:
        """Returns the number of the turn that is gone back to."""
        return turn.number

    def result(self, turn: TurnCheckpoint, command: str) -> str:
        """Returns the command to run."""
        return command


class KeepPicker(Picker[tuple[int | None, TurnCheckpoint | None], str]):
    """Lists the turns that `/clear` can keep; its result is the command to run."""

    def __init__(self, chat: Chat, switches: str = "") -> None:
        super().__init__("What stays in the agent's context?", "number or words of a prompt")
        self._chat = chat
        self._switches = f" {switches}" if switches else ""

    def on_mount(self) -> None:
        self._read()

    @work(exclusive=True)
    async def _read(self) -> None:
        found = await self._chat.inquiries.turns(MAX_TURNS)
        if found is None:
            self.dismiss(None)
            return
        active = [one for one in reversed(found.turns) if one.number and not one.trimmed]
        if len(active) < 2:
            self.dismiss(f"/clear{self._switches}")
            return
        _, *kept, none = offers(len(active), MAX_TURNS)
        options: list[Option[tuple[int | None, TurnCheckpoint | None]]] = [
            Option((None, None), "everything"),
            Option((none, None), "nothing"),
        ]
        options[1:1] = [
            Option((count, active[count - 1]), f"{count} {active[count - 1].prompt}")
            for count in kept
        ]
        self.offer(options, "")

    def keys(self) -> str:
        """Returns the line that explains the keys."""
        return "Enter clears · Esc changes nothing"

    def row(self, value: tuple[int | None, TurnCheckpoint | None], width: int) -> Text:
        """Returns a choice as one line."""
        count, turn = value
        if count is None:
            return Text.assemble(("everything       ", "cyan"), ("nothing is cleared", "dim"))
        if turn is None:
            return Text.assemble(("nothing          ", "cyan"), ("the agent starts afresh", "dim"))
        label = "the last turn" if count == 1 else f"the last {count} turns"
        return Text.assemble(
            (f"{label:<17}", "cyan"), (f"from: {one_line(turn.prompt, 300)}", "dim")
        )

    def take(self, value: tuple[int | None, TurnCheckpoint | None]) -> None:
        """Closes the list with the command."""
        count, _ = value
        self.dismiss(None if count is None else f"/clear {count}{self._switches}")


def preview_text(preview: CommandOutcome) -> Text:
    """Returns what the revert would do."""
    lines = [Text(line) for line in printable(preview.message or "").splitlines()]
    return Text("\n").join([*lines, *(_files(preview.files) if preview.files else [])])


def _files(files: RevertedFiles) -> list[Text]:
    signs = (
        (files.written, "~", "yellow"),
        (files.removed, "-", "red"),
        (files.kept, "=", "dim"),
        (files.refusals, "!", "red"),
    )
    lines: list[Text] = []
    for paths, sign, style in signs:
        lines += [Text(f"  {sign} {one_line(path)}", style) for path in paths[:_MAX_FILES]]
        if len(paths) > _MAX_FILES:
            lines.append(Text(f"  {sign} … and {len(paths) - _MAX_FILES} more", style))
    return lines
