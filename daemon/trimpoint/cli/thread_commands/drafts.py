"""Shows a person a draft in their editor, and asks what is to be done with it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import anyio.to_thread
from rich.text import Text

from trimpoint.cli import keyboard
from trimpoint.cli.editor import edited
from trimpoint.cli.exits import CliError, Exit, UsageError
from trimpoint.cli.terminal import print_line, stderr_console
from trimpoint.core.commands.declaration import Command

_QUESTION = "Enter takes it, e edits it again, n leaves everything as it is"
_ANEW = "other words are what a new draft is to mind"
_FAILED = "The editor ($VISUAL, $EDITOR) did not end well, so nothing was changed."
_TAKEN_LATER = "The draft is still there: `trimpoint accept` takes it."
"""Where the model wrote it."""


class Decided(NamedTuple):
    """What a person decided: the text that is taken, or what a new draft is to mind."""

    text: str
    is_guidance: bool = False


def refuse_without_terminal(command: Command) -> None:
    """Refuses a command that would show a draft in an editor where no person is.

    :raises UsageError: when it would.
    """
    if getattr(command, "edit", False) and not getattr(command, "dry_run", False):
        raise UsageError(
            "An editor needs a terminal, and there is none. Nothing was changed.",
            "With --json the draft is in the answer, and `trimpoint accept` takes it.",
        )


async def decide(draft: str, *, can_be_anew: bool) -> Decided:
    """Returns what the person does with the draft, of which another can be written or not.

    :raises CliError: when the person leaves everything as it is, or the editor fails.
    """
    text, hint = draft, _TAKEN_LATER if can_be_anew else ""
    question = f"{_QUESTION}; {_ANEW}: " if can_be_anew else f"{_QUESTION}: "
    while True:
        changed = await anyio.to_thread.run_sync(edited, text)
        if changed is None or not changed.strip():
            _keep_if_changed(text, draft)
            empty = "The editor left no text, so nothing was changed."
            raise CliError(_FAILED if changed is None else empty, hint)
        text, line = changed, "?"
        while line not in ("", "e"):
            stderr_console().print(question, end="", markup=False, highlight=False)
            answer = await keyboard.typed_line()
            if answer is None or answer.lower() in ("n", "no"):
                _keep_if_changed(text, draft)
                raise CliError("Nothing was changed.", hint, reason="cancelled")
            line = answer.lower()
            if can_be_anew and line not in ("", "e"):
                _keep_if_changed(text, draft)
                return Decided(answer, is_guidance=True)
        if not line:
            return Decided(text)


async def taken(text: str, take: Callable[[], Awaitable[Exit]]) -> Exit:
    """Calls `take` and returns the exit code. If it did not take the text, a file has it."""
    code = Exit.FAILED
    try:
        code = await take()
    finally:
        if code is not Exit.DONE:
            _keep(text)
    return code


def _keep_if_changed(text: str, draft: str) -> None:
    if text.strip() != draft.strip():
        _keep(text)


def _keep(text: str) -> None:
    file = Path(mkdtemp(prefix="trimpoint-draft-"), "text.md")
    file.write_text(text, encoding="utf-8")
    print_line(Text(f"What you wrote is in {file}"))
