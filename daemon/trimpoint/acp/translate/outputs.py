"""The output of a running command, for editors with and without terminals.

Codex's pieces can be incomplete: output from before Codex watched the process is only in the whole
output at the end (measured: 0.166). So the whole is shown at the end, whatever was shown before.
"""

from typing import Any

from trimpoint.acp.wire.content import Terminal, ToolContent, text_content

SHOWN_CHARS = 32 * 1024
"""How much of an output is shown as text: its end."""
RAW_CHARS = 256 * 1024
"""How much of an output is passed on as `rawOutput`: its end."""
CLEAR_SCREEN = "\x1b[H\x1b[2J\x1b[3J"


class Output:
    """The output of a running command. `in_terminal`: the editor draws a terminal."""

    def __init__(self, tool_call_id: str, cwd: str, *, in_terminal: bool) -> None:
        self._id = tool_call_id
        self._cwd = cwd
        self._in_terminal = in_terminal
        self._shown = ""
        self._printed = ""
        self._dropped_chars = 0

    @property
    def is_pending(self) -> bool:
        """Returns whether something was printed that was not shown yet."""
        return self._printed != self._shown

    def opened(self) -> dict[str, Any]:
        """Returns the members of the tool call that tell the editor where the output will
        appear.
        """
        if not self._in_terminal:
            return {}
        info = {"terminal_id": self._id, "cwd": self._cwd}
        return {"content": [Terminal(terminal_id=self._id)], "meta": {"terminal_info": info}}

    def add(self, piece: str) -> None:
        """Adds a piece of output."""
        self._printed += piece
        if not self._in_terminal and len(self._printed) > 2 * SHOWN_CHARS:
            self._dropped_chars += len(self._printed) - SHOWN_CHARS
            self._printed = self._printed[-SHOWN_CHARS:]

    def progress(self) -> dict[str, Any]:
        """Returns the members of an update that shows what was printed since the last one."""
        if self._in_terminal:
            data = self._printed[len(self._shown) :]
            self._shown = self._printed
            return {"meta": {"terminal_output": {"terminal_id": self._id, "data": data}}}
        self._shown = self._printed
        return {"content": shown_as_text(self._printed, self._dropped_chars)}

    def final(self, whole: str | None, exit_code: int | None) -> list[dict[str, Any]]:
        """Returns the members of the updates that show the complete output when the command has
        ended.
        """
        whole = self._printed if whole is None else whole
        if not self._in_terminal:
            return [{"content": shown_as_text(whole)}] if whole else [{}]
        updates: list[dict[str, Any]] = []
        if (rest := self._missing(whole)) != "":
            data = rest.replace("\r\n", "\n").replace("\n", "\r\n")
            updates.append({"meta": {"terminal_output": {"terminal_id": self._id, "data": data}}})
        exited = {"terminal_id": self._id, "exit_code": exit_code, "signal": None}
        return [*updates, {"meta": {"terminal_exit": exited}}]

    def _missing(self, whole: str) -> str:
        if whole.startswith(self._shown):
            return whole[len(self._shown) :]
        return CLEAR_SCREEN + whole


def shown_as_text(text: str, dropped_chars: int = 0) -> list[ToolContent]:
    """Returns the last part of an output as a block of code."""
    dropped_chars += max(0, len(text) - SHOWN_CHARS)
    end = text[-SHOWN_CHARS:].rstrip("\n")
    if not end:
        return []
    fence = "```"
    while fence in end:
        fence += "`"
    before = f"({dropped_chars:,} characters before this are left out.)\n" if dropped_chars else ""
    return [text_content(f"{before}{fence}\n{end}\n{fence}")]


def raw_output(text: str) -> str:
    """Returns the last part of an output, for `rawOutput`."""
    return text[-RAW_CHARS:]
