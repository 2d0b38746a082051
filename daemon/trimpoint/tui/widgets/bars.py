"""The lines around the composer: activity, notices, and the status bar."""

import os
import time
from itertools import accumulate

from rich.style import Style
from rich.text import Text
from textual import events
from textual.geometry import Size
from textual.widgets import Static
from trimpoint_protocol.readmodel import QueueHold

from trimpoint.cli.terminal import one_line, printable
from trimpoint.cli.views.age import duration
from trimpoint.cli.views.threads_view import busy_words
from trimpoint.core.model.decision import counted
from trimpoint.tui.model.attention import others_that_ask
from trimpoint.tui.model.clicks import key_clicked, keyed
from trimpoint.tui.model.prompt import text_of
from trimpoint.tui.model.state import ChatState, LinkState, Notice, Tone
from trimpoint.tui.model.status import LEVELS, status_bar
from trimpoint.tui.widgets.key_line import KeyLine, act

SPIN_S = 0.12
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TONES = {Tone.DONE: ("✓", "green"), Tone.NEUTRAL: ("–", "yellow"), Tone.PROBLEM: ("✗", "red")}
_MAX_QUEUED = 3
_BRIEF_S = 5.0
_NEW_BELOW = Text("↓ new below", "cyan").append_text(keyed(" · Ctrl+End goes there", "dim"))
_CONTEXT = "[Context:"
_CLOSES = "trimpoint_closes"
_HOLDS = {
    "interrupted": "The queue waits because the turn was interrupted",
    "failed": "The queue waits because the turn failed",
    "refused": "The queue waits because its first prompt was refused",
}
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

    def on_click(self, event: events.Click) -> None:
        """Opens the list of threads or, where the context is shown, what it holds."""
        at = event.get_content_offset(self)
        if at is not None and self.shown is not None:
            context = self.shown.plain.find(_CONTEXT)
            act(self, "inspect" if 0 <= context <= at.x else "threads")

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


class ActivityBar(KeyLine, Quiet):
    """The lines above the composer: activity, queued prompts, advice, and the last notice."""

    _busy_since: float | None = None
    _noticed: tuple[Notice | None, float] = (None, 0.0)
    _state: ChatState | None = None
    is_cut = False
    """Whether not all of the last notice fits."""

    def show(
        self, state: ChatState, screen: Size, *, is_behind: bool = False, below: int = 0
    ) -> None:
        """Draws the lines, or hides the widget if there are none. `is_behind`: there is something
        new below what is in sight. `below` is how many rows of the screen stand below the lines.
        """
        now, self._state = time.monotonic(), state
        self._end_brief_notice(state, now)
        is_working = state.busy is not None or bool(state.command)
        self._busy_since = (self._busy_since or now) if is_working else None
        seconds = now - (self._busy_since or now)
        others = [
            *_asking(state),
            *_advice(state),
            *_failed(state),
            *_queued(state),
            *_doing(state, int(now / SPIN_S), seconds),
            *([_NEW_BELOW] if is_behind else []),
        ]
        most = min(screen.height // 2, screen.height - below - 1)
        room = most - len(others) - _MARGIN_ROWS
        said = _notice(state)
        shown = _in_rows(said, room, max(1, screen.width - 2))
        self.is_cut = shown is not said
        lines = [*shown, *others]
        if self.display is not bool(lines):
            self.display = bool(lines)
        self.show_text(Text("\n").join(lines))

    def on_click(self, event: events.Click) -> None:
        """Closes the last notice, or presses the key whose words are clicked in the prompt."""
        if self._state is not None and event.style.meta.get(_CLOSES):
            self._state.notice = None
        elif key_clicked(event.style) is not None:
            self.screen.set_focus(self.screen.query_one("#composer"))
            super().on_click(event)

    def _end_brief_notice(self, state: ChatState, now: float) -> None:
        notice, since = self._noticed
        if state.notice is not notice:
            self._noticed = state.notice, now
        elif notice is not None and notice.is_brief and now - since > _BRIEF_S:
            state.notice = None


def _asking(state: ChatState) -> list[Text]:
    others = others_that_ask(state)
    if not others:
        return []
    words = "another thread asks" if others == 1 else f"{others} other threads ask"
    asks = Text(f"? {words} you something", "bold yellow")
    return [asks.append_text(keyed(" · Ctrl+T", "dim"))]


def _doing(state: ChatState, frame: int, seconds: float) -> list[Text]:
    spinner = SPINNER[frame % len(SPINNER)]
    if state.link is LinkState.CONNECTING:
        return [Text(f"{spinner} connecting …", "dim")]
    if state.link is LinkState.LOST:
        why = f" ({one_line(state.link_problem)})" if state.link_problem else ""
        said = Text(f"{spinner} The daemon is not there{why}. ", "yellow")
        return [said.append_text(keyed("Waiting for it; Ctrl+S starts one.", "yellow"))]
    if state.question is not None:
        return []
    words = _words(state)
    if not words:
        return []
    line = Text.assemble((f"{spinner} ", "cyan"), words)
    if seconds >= 1:
        line.append(f" {duration(seconds)}", "dim")
    if state.turn_id is not None:
        keys = " · Enter tells the agent, Alt+Enter queues, Esc interrupts"
        line.append_text(keyed(keys, "dim"))
    elif state.operation_id is not None:
        line.append_text(keyed(" · Esc interrupts", "dim"))
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
    return busy_words(busy, asks=False)


def _queued(state: ChatState) -> list[Text]:
    texts = [("not sent yet ", text) for text in state.on_their_way]
    texts += [("not read yet ", text) for text in state.steered.values()]
    waiting = [("next ", text_of(one.input) or "an image") for one in state.queue]
    texts += waiting[:_MAX_QUEUED]
    lines = [Text.assemble((label, "yellow"), (one_line(text), "dim")) for label, text in texts]
    if len(waiting) > _MAX_QUEUED:
        lines.append(Text(f"… and {len(waiting) - _MAX_QUEUED} more", "dim"))
    if waiting and state.queue_hold is not None:
        lines.append(_held(state.queue_hold))
    elif waiting:
        lines[-1].append_text(keyed(" · Alt+↑ changes", "dim"))
    return lines


def _failed(state: ChatState) -> list[Text]:
    if state.failed_prompt is None:
        return []
    return [Text("✗ The turn failed.", "red").append_text(keyed(" Alt+R tries it again.", "dim"))]


def _held(hold: QueueHold) -> Text:
    why = f" ({one_line(hold.message, 200)})" if hold.message else ""
    said = f"‖ {_HOLDS.get(hold.reason, 'The queue waits')}{why}."
    return Text(said, "yellow").append_text(keyed(" Alt+↑ sends or changes it.", "dim"))


def _advice(state: ChatState) -> list[Text]:
    context = state.context
    if context is None or context.level not in ("warning", "critical"):
        return []
    style = LEVELS[context.level]
    if context.auto is not None and context.auto.message:
        return [Text(f"▲ {one_line(context.auto.message, 300)}", style)]
    if state.advice is None:
        return []
    keys = keyed(" · Alt+G types it", "dim")
    return [Text(f"▲ {one_line(state.advice.text, 300)}", style).append_text(keys)]


def _notice(state: ChatState) -> list[Text]:
    if state.notice is None:
        return []
    glyph, style = _TONES[state.notice.tone]
    said = printable(state.notice.text.strip()).splitlines() or [""]
    lines = [Text.assemble((f"{glyph} ", f"bold {style}"), said[0])]
    if not state.notice.is_brief:
        lines[0].append(" ×", Style(dim=True, meta={_CLOSES: True}))
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
    return [*lines[:count], keyed(f"  … {left_out}; Ctrl+O shows all", "dim")]


def _short_folder(folder: str) -> str:
    home = os.path.expanduser("~")
    if folder == home or folder.startswith(f"{home}{os.sep}"):
        return f"~{folder[len(home) :]}"
    return folder
