"""The lines around the composer: activity, notices, and the status bar."""

import os
import time
from itertools import accumulate

from rich.text import Text
from textual.geometry import Size
from textual.widgets import Static

from trimpoint.cli.terminal import one_line, printable
from trimpoint.cli.views.age import duration
from trimpoint.cli.views.threads_view import busy_words
from trimpoint.core.model.decision import counted
from trimpoint.tui.model.attention import others_that_ask
from trimpoint.tui.model.prompt import is_command
from trimpoint.tui.model.state import ChatState, LinkState, Tone
from trimpoint.tui.model.status import LEVELS, status_bar

SPIN_S = 0.12
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TONES = {Tone.DONE: ("✓", "green"), Tone.NEUTRAL: ("–", "yellow"), Tone.PROBLEM: ("✗", "red")}
_MAX_QUEUED = 3
_MARGIN_ROWS = 1  # as the style sheet has it


class Quiet(Static):
    """A widget that writes to the terminal only when its text changes."""

    shown: Text | None = None

    def show_text(self, text: Text) -> None:
        """Draws a text, unless it is drawn already."""
        if text != self.shown or (self.shown is not None and text.spans != self.shown.spans):
            self.shown = text
            self.update(text)


class StatusBar(Quiet):
    """The status bar: `[folder] [thread] [Context: 72%] [tokens: ~85k/120k]`."""

    def show(self, state: ChatState, width: int) -> None:
        """Draws the state for a screen of `width` columns."""
        text = Text(no_wrap=True, overflow="crop")
        for piece in status_bar(
            _short_folder(state.folder),
            state.title,
            state.context,
            max(10, width - 2),
        ):
            text.append(" " if text else "").append(piece.text, piece.style)
        self.show_text(text)


class ActivityBar(Quiet):
    """The lines above the composer: activity, queued prompts, advice, and the last notice."""

    _busy_since: float | None = None
    is_cut = False
    """Whether not all of the last notice fits."""

    def show(self, state: ChatState, screen: Size) -> None:
        """Draws the lines, or hides the widget if there are none."""
        now = time.monotonic()
        is_working = state.busy is not None or bool(state.command)
        self._busy_since = (self._busy_since or now) if is_working else None
        seconds = now - (self._busy_since or now)
        others = [
            *_asking(state),
            *_advice(state),
            *_queued(state),
            *_doing(state, int(now / SPIN_S), seconds),
        ]
        room = screen.height // 2 - len(others) - _MARGIN_ROWS
        said = _notice(state)
        shown = _in_rows(said, room, max(1, screen.width - 2))
        self.is_cut = shown is not said
        lines = [*shown, *others]
        if self.display is not bool(lines):
            self.display = bool(lines)
        self.show_text(Text("\n").join(lines))


def _asking(state: ChatState) -> list[Text]:
    others = others_that_ask(state)
    if not others:
        return []
    words = "another thread asks" if others == 1 else f"{others} other threads ask"
    return [Text.assemble((f"? {words} you something", "bold yellow"), (" · Ctrl+T", "dim"))]


def _doing(state: ChatState, frame: int, seconds: float) -> list[Text]:
    spinner = SPINNER[frame % len(SPINNER)]
    if state.link is LinkState.CONNECTING:
        return [Text(f"{spinner} connecting …", "dim")]
    if state.link is LinkState.LOST:
        why = f" ({one_line(state.link_problem)})" if state.link_problem else ""
        said = f"{spinner} The daemon is not there{why}. Waiting for it; Ctrl+S starts one."
        return [Text(said, "yellow")]
    if state.question is not None:
        return []
    words = _words(state)
    if not words:
        return []
    line = Text.assemble((f"{spinner} ", "cyan"), words)
    if seconds >= 1:
        line.append(f" {duration(seconds)}", "dim")
    if state.turn_id is not None or state.operation_id is not None:
        line.append(" · Esc interrupts", "dim")
    return [line]


def _words(state: ChatState) -> str:
    if state.live.retry:
        return one_line(state.live.retry)
    if state.progress:
        return one_line(state.progress).rstrip(".")
    if state.command:
        return one_line(state.command, 60)
    busy = state.busy
    if busy is None:
        return ""
    if busy.startswith("turn"):
        return "writing" if state.live.is_writing else "working"
    return busy_words(busy)


def _queued(state: ChatState) -> list[Text]:
    waiting = state.queue.of(state.thread_id)
    lines = [
        Text.assemble(("not sent yet ", "yellow"), (one_line(text), "dim"))
        for text in state.outgoing
        if not is_command(text)
    ]
    lines += [
        Text.assemble(("next ", "yellow"), (one_line(text), "dim"))
        for text in waiting[:_MAX_QUEUED]
    ]
    if len(waiting) > _MAX_QUEUED:
        lines.append(Text(f"… and {len(waiting) - _MAX_QUEUED} more", "dim"))
    return lines


def _advice(state: ChatState) -> list[Text]:
    context = state.context
    if context is None or context.level not in ("warning", "critical"):
        return []
    style = LEVELS[context.level]
    if context.auto is not None and context.auto.message:
        return [Text(f"▲ {one_line(context.auto.message, 300)}", style)]
    if state.advice is None:
        return []
    keys = Text(" · Ctrl+G types it", "dim")
    return [Text(f"▲ {one_line(state.advice.text, 300)}", style).append_text(keys)]


def _notice(state: ChatState) -> list[Text]:
    if state.notice is None:
        return []
    glyph, style = _TONES[state.notice.tone]
    said = printable(state.notice.text.strip()).splitlines() or [""]
    lines = [Text.assemble((f"{glyph} ", f"bold {style}"), said[0])]
    lines += [Text(f"  {line}") for line in said[1:]]
    if state.notice.hint:
        lines.append(Text(f"  {one_line(state.notice.hint, 400)}", "dim"))
    return lines


def _in_rows(lines: list[Text], rows: int, width: int) -> list[Text]:
    """Returns as many of the lines as fit into `rows` rows; if some do not fit, the last line tells
    how many.
    """
    ends = list(accumulate(-(-max(1, line.cell_len) // width) for line in lines))
    if not ends or ends[-1] <= rows:
        return lines
    count = sum(end < rows for end in ends)
    left_out = counted(len(lines) - count, "more line")
    return [*lines[:count], Text(f"  … {left_out}; Ctrl+O shows all", "dim")]


def _short_folder(folder: str) -> str:
    home = os.path.expanduser("~")
    if folder == home or folder.startswith(f"{home}{os.sep}"):
        return f"~{folder[len(home) :]}"
    return folder
