"""Commands of the agent as they were typed, without the shell that Codex wraps them in."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

from trimpoint.core.model.lenient import as_dict, as_list

# Splitting costs about a microsecond a character, in a daemon that has others to serve.
_MAX_SPLIT_CHARS = 10_000
_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da|k)?sh")
_WRAPPED_WORDS = 3


def as_typed(item: Mapping[str, Any]) -> str:
    """Returns the command of a `commandExecution` item, lines and blanks as they are.

    Codex gives the whole call of the shell, quoted (`/bin/bash -lc 'ls -la'`, measured: 0.163).
    Where that is not what it looks like, what Codex itself takes for the command will do.
    """
    command = str(item.get("command") or "")
    typed = unwrapped(command)
    if typed != command:
        return typed
    actions = as_list(item.get("commandActions"))
    if len(actions) == 1:
        return str(as_dict(actions[0]).get("command") or command)
    return command


def unwrapped(command: str) -> str:
    """Returns what a shell is told to run by `command`; `command` itself when it calls no shell."""
    if _SHELL.match(command) is None or len(command) > _MAX_SPLIT_CHARS:
        return command
    try:
        words = shlex.split(command)
    except ValueError:  # quotes that do not match, as in a title that was cut
        return command
    is_call = len(words) == _WRAPPED_WORDS and words[1] in {"-c", "-lc"}
    return words[2] if is_call and _SHELL.fullmatch(words[0]) else command


def in_one_line(command: str) -> str:
    """Returns a command for a list: its lines joined by a sign, its blanks kept."""
    return " ⏎ ".join(line.rstrip() for line in command.strip().splitlines())
