"""Shows a thread's events as they arrive: prompts, streamed answers, activities, trims. Used by
`watch` and by commands that run a turn.
"""

from typing import Any, NamedTuple

import msgspec
from rich.console import Console
from rich.text import Text
from trimpoint_protocol.lenient import words_of_error
from trimpoint_protocol.readmodel import ContextStatus

from trimpoint.cli.connection.client import Message
from trimpoint.cli.terminal import one_line, printable
from trimpoint.cli.views.context_view import automatic_text, context_line
from trimpoint.cli.views.timeline_view import (
    ANSWER,
    PROMPT,
    activity_mark,
    command_line,
    display_title,
    divider,
    ending_words,
    summary_panel,
    with_glyph,
)
from trimpoint.codex.notifications.translate import activity_title
from trimpoint.core.model.decision import SUB_AGENT
from trimpoint.core.model.operations import Phase, is_open

LINE_CELLS = 20


class _Delta(NamedTuple):
    """The look of one kind of streamed text; `margin` is printed before its second and further
    lines.
    """

    glyph: str
    glyph_style: str
    style: str
    margin: str


_DELTAS = {
    "item/agentMessage/delta": _Delta(f"{ANSWER[0]} ", ANSWER[1], "", "  "),
    "item/reasoning/summaryTextDelta": _Delta("  ✻ ", "dim", "bright_black italic", "    "),
    "item/plan/delta": _Delta("  ☰ ", "blue", "", "    "),
    "item/commandExecution/outputDelta": _Delta("    │ ", "dim", "dim", "    │ "),
}


class LiveView:
    """Prints the messages of a thread that concern a person; it must receive all messages in order
    of arrival.

    `with_meter`: also shows how full the context is when that changes.
    """

    def __init__(
        self,
        console: Console,
        thread_id: str,
        *,
        with_meter: bool = False,
        shows_prompts: bool = True,
    ) -> None:
        self._shows_prompts = shows_prompts
        self._console = console
        self._thread_id = thread_id
        self._streaming: str | None = None
        self._line_is_open = False
        self._streamed: set[str] = set()
        self._with_meter = with_meter
        self._metered: tuple[int, int | None] | None = None
        self._advice = ""
        self._turn_is_open = False
        self._unshown: ContextStatus | None = None

    def show(self, message: Message) -> None:
        """Prints a message, if a person needs to see it."""
        method, params = str(message.get("method")), dict(message.get("params") or {})
        if params.get("threadId", self._thread_id) != self._thread_id:
            return
        if method in _DELTAS:
            self._show_delta(method, params)
        elif method == "item/started":
            self._show_item(params["item"], ended=False)
        elif method == "item/completed":
            self._show_item(params["item"], ended=True)
        elif method == "turn/started":
            self._turn_is_open = True
        elif method == "turn/completed":
            self._show_turn_end(params["turn"])
            self._turn_is_open = False
            self._show_unshown()
        elif method == "orchestration/event":
            self._show_event(str(params.get("type")), dict(params.get("payload") or {}))
        elif method == "context/updated" and self._with_meter:
            # It moves with each call of the model; once a turn is enough to look at.
            self._unshown = msgspec.convert(params, ContextStatus)
            if not self._turn_is_open:
                self._show_unshown()
        elif method == "warning" and params.get("from") == "trimpoint":
            self.note(one_line(str(params.get("message", "")), 2000), "yellow")
        elif method == "serverRequest/resolved":
            self.note("The question was answered.")
        elif method == "error" and params.get("willRetry", True):
            # The last one is told by the end of its turn.
            said = words_of_error(str(params.get("error", {}).get("message", "an error")))
            self.note(one_line(said), "red")

    def show_context(self, context: ContextStatus) -> None:
        """Prints the context bar if it has changed, and its advice if that is new."""
        if (moved := (context.used_tokens, context.window_tokens)) != self._metered:
            self._metered = moved
            self.end_line()
            self._console.print(Text("  ").append_text(context_line(context, LINE_CELLS)))
        is_running = context.auto is not None and context.auto.state == "running"
        advice = "" if is_running else automatic_text(context.auto)
        if advice and advice != self._advice:
            self.note(
                f"  {one_line(advice, 2000)}",
                "red" if context.level == "critical" else "yellow",
            )
        self._advice = advice

    def _show_unshown(self) -> None:
        if self._unshown is not None:
            self.show_context(self._unshown)
            self._unshown = None

    @property
    def line_is_open(self) -> bool:
        """Returns whether a line of streamed text is not complete yet."""
        return self._line_is_open

    def end_line(self) -> None:
        """Ends the incomplete line of streamed text, if there is one."""
        if self._line_is_open:
            self._console.print()
        self._streaming = None
        self._line_is_open = False

    def note(self, text: str, style: str = "dim") -> None:
        """Prints a line of trimpoint's own."""
        self.end_line()
        self._console.print(Text(text, style))

    def interrupted(self) -> None:
        """Prints that the turn was interrupted; half a sentence ends with an ellipsis."""
        if self._line_is_open:
            self._print(" …", "dim")
        self.note("The turn was interrupted.", "yellow")

    def _show_delta(self, method: str, params: dict[str, Any]) -> None:
        look = _DELTAS[method]
        key = f"{method} {params.get('itemId')}"
        if self._streaming != key:
            self.end_line()
            self._streaming = key
            self._line_is_open = True
            self._print(look.glyph, look.glyph_style)
        self._streamed.add(str(params.get("itemId")))
        for piece in printable(str(params.get("delta", ""))).splitlines(keepends=True):
            if not self._line_is_open:
                self._print(look.margin, look.glyph_style)
            self._print(piece, look.style)
            self._line_is_open = not piece.endswith("\n")
        self._console.file.flush()

    def _print(self, text: str, style: str) -> None:
        self._console.print(Text(text, style), end="", soft_wrap=True)

    def _show_item(self, item: dict[str, Any], *, ended: bool) -> None:
        kind, text = str(item.get("type")), str(item.get("text", ""))
        match kind, ended:
            case "userMessage", True if self._shows_prompts:
                prompt = "\n".join(
                    str(part.get("text") or f"[{part.get('type')}]")
                    for part in item.get("content") or ()
                )
                self._show_marked(*PROMPT, prompt, "bold")
            case (("agentMessage" | "plan" | "reasoning"), True):
                self.end_line()
                if item.get("id") not in self._streamed and text:
                    self._show_marked(*ANSWER, text)
            case "commandExecution", False:
                self._show_activity(kind, item)
            case "commandExecution", True:
                self._show_command_end(item)
            case "contextCompaction", False:
                self.note("  ⇲ The context is being compacted.", "yellow")
            case (("userMessage" | "agentMessage" | "plan" | "reasoning" | "contextCompaction"), _):
                pass
            case _, True:
                self._show_activity(kind, item)
            case _:
                pass

    def _show_activity(self, kind: str, item: dict[str, Any]) -> None:
        glyph, style = activity_mark(kind)
        words = (
            command_line(item) if item.get("command") else display_title(activity_title(kind, item))
        )
        self.end_line()
        line = Text.assemble((f"  {glyph} ", style), (words, "dim"))
        if ended := ending_words(item):
            line.append(" · ", "dim").append_text(ended)
        self._console.print(line)

    def _show_command_end(self, item: dict[str, Any]) -> None:
        if item.get("id") not in self._streamed and (output := item.get("aggregatedOutput")):
            # A command that is quick to end has its output in one piece (measured: 0.163).
            self._show_delta(
                "item/commandExecution/outputDelta", {"itemId": item.get("id"), "delta": output}
            )
        self.end_line()
        status, code = item.get("status"), item.get("exitCode")
        if status not in {"completed", None} or code:
            self.note(f"    {status}{f', exit code {code}' if code is not None else ''}", "yellow")

    def _show_marked(self, glyph: str, glyph_style: str, text: str, style: str = "") -> None:
        self.end_line()
        self._console.print(with_glyph(glyph, glyph_style, Text(printable(text), style)))

    def _show_turn_end(self, turn: dict[str, Any]) -> None:
        if turn.get("status") == "interrupted":
            self.interrupted()
            return
        self.end_line()
        if turn.get("status") == "failed":
            error: dict[str, Any] = turn.get("error") or {}
            said = words_of_error(str(error.get("message") or "no reason given"))
            reason = one_line(said, 2000)
            self.note(f"The turn failed: {reason}", "red")

    def _is_shown_by_its_turn(self, payload: dict[str, Any]) -> bool:
        """Returns whether the end of an operation needs no line, because the turn of the typed
        command shows it.
        """
        return self._turn_is_open and not is_open(Phase(str(payload.get("phase"))))

    def _show_event(self, kind: str, payload: dict[str, Any]) -> None:
        match kind:
            case "thread.trim-point-created":
                self.end_line()
                self._console.print(
                    divider(
                        "Earlier messages",
                        int(payload.get("prunedMessageCount", 0)),
                        expanded=False,
                    )
                )
            case "thread.context-summarized":
                self.end_line()
                self._console.print(summary_panel("Context compacted", str(payload.get("summary"))))
            case "thread.operation-advanced" if not self._is_shown_by_its_turn(payload):
                self.note(f"⟳ {one_line(str(payload.get('message')))}")
            case "thread.archived-and-new-created":
                self.note(
                    f"The thread is archived; it continues as {payload.get('newThreadId')}.",
                    "yellow",
                )
            case "thread.request-opened":
                method = payload.get("method")
                if method == SUB_AGENT:
                    self.note("↳ A sub-agent is at work.")
                else:
                    self.note(f"? The agent asks ({method}).", "yellow")
            case "thread.context-lost":
                self.note(f"! {one_line(str(payload.get('message')))}", "red")
            case _:
                pass
