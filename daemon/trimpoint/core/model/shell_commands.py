"""Reads the commands that the agent ran, without the call of a shell that Codex adds to them."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

from trimpoint_protocol.lenient import as_dict, as_list

# Splitting takes about a microsecond a character, and the daemon serves nothing else meanwhile.
_MAX_SPLIT_CHARS = 10_000
_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da|k)?sh")
_WRAPPED_WORDS = 3


def as_typed(item: Mapping[str, Any]) -> str:
    """Returns the command of a `commandExecution` item with its line breaks and spaces unchanged.

    Codex reports the quoted call of a shell (`/bin/bash -lc 'ls -la'`, measured: 0.163), which is
    unwrapped. If it cannot be unwrapped, the only entry of `commandActions` is used, or else the
    command as reported.
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
    """Returns the script that `command` passes to a shell, or `command` itself if it does not call
    a shell.
    """
    if _SHELL.match(command) is None or len(command) > _MAX_SPLIT_CHARS:
        return command
    try:
        words = shlex.split(command)
    except ValueError:  # quotes that do not match, as in a title that was cut
        return command
    is_call = len(words) == _WRAPPED_WORDS and words[1] in {"-c", "-lc"}
    return words[2] if is_call and _SHELL.fullmatch(words[0]) else command


def in_one_line(command: str) -> str:
    """Returns a command as one line for a list: its lines joined by `⏎`, its spaces kept."""
    return " ⏎ ".join(line.rstrip() for line in command.strip().splitlines())
