"""`trimpoint ask`: sends a prompt to the agent of this folder and shows the turn.

If standard output is a terminal, the whole turn is shown there. Otherwise only the answer goes to
standard output, and the rest to standard error.
"""

import argparse
import os
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from rich.text import Text
from trimpoint_protocol.readmodel import ContextStatus

from trimpoint.cli.connection.client import Client
from trimpoint.cli.connection.client import ask as ask_daemon
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.connection.known_threads import KnownThread, current_folder, known
from trimpoint.cli.exits import UsageError
from trimpoint.cli.json_output import write_text
from trimpoint.cli.terminal import (
    one_line,
    outputs_are_one,
    print_json,
    print_line,
    stderr_console,
    stdout_console,
)
from trimpoint.cli.thread_commands.slash import carry_out
from trimpoint.cli.thread_commands.thread_choice import (
    adopted,
    chosen_thread,
    last_thread_here,
    resumed,
)
from trimpoint.cli.thread_commands.turns.prompt import folder
from trimpoint.cli.thread_commands.turns.running_turn import RunningTurn, check_login, exit_code
from trimpoint.cli.views.context_view import meter
from trimpoint.cli.views.live_view import LiveView
from trimpoint.cli.views.spinner import Spinner
from trimpoint.core.commands.parsing import NotACommand, parse
from trimpoint.core.model.spelling import short_id

_SANDBOXES = {
    "read-only": "readOnly",
    "workspace-write": "workspaceWrite",
    "danger-full-access": "dangerFullAccess",
}


_PERMITS = {
    "readOnly": "read-only: it cannot change files (--sandbox workspace-write lets it)",
    "workspaceWrite": "workspace-write",
    "dangerFullAccess": "no sandbox",
}
_NEW = "new"


class _Opened(NamedTuple):
    """The thread that receives the prompt; `settings` is Codex's answer to opening it."""

    thread_id: str
    title: str
    cwd: str
    settings: Mapping[str, Any]


def run(arguments: argparse.Namespace) -> int:
    """Sends the prompt and follows the turn; the exit code is 0 if the turn completed.

    :raises UsageError: when there is no prompt, or the options contradict each other.
    """
    if arguments.new and (arguments.thread or arguments.last):
        raise UsageError(
            "--new begins a thread, but --thread and --last choose an old one.",
            "Give only one of them.",
        )
    text = _text(arguments.text)
    if not text.strip():
        raise UsageError(
            "There is no prompt.", 'For example: trimpoint ask "What does this project do?"'
        )
    given = [{"type": "text", "text": text}, *map(_image, arguments.image)]
    return with_daemon(arguments, partial(_ask, arguments, given))


def _text(words: list[str]) -> str:
    return sys.stdin.read() if words == ["-"] else " ".join(words)


def _image(path: str) -> dict[str, str]:
    full = os.path.abspath(os.path.expanduser(path))
    if not os.path.isfile(full):
        raise UsageError(f"--image {path}: there is no such file.")
    return {"type": "localImage", "path": full}


async def _ask(arguments: argparse.Namespace, given: list[dict[str, str]], client: Client) -> int:
    await check_login(client)
    thread = None if arguments.new or arguments.cwd else await _continued(arguments, client)
    if thread is None and is_command(given):  # no thread is begun for it
        return await carry_out(client, None, given[0]["text"], as_json=arguments.json)
    opened = await _open(arguments, client, thread)
    if not arguments.json:
        print_line(Text(_heading(opened, arguments), "dim"))
    if not arguments.json and is_command(given):
        # Its outcome is the exit code, which the turn that clients are shown does not have.
        code = await carry_out(client, opened.thread_id, given[0]["text"])
        await _show_meter(client, opened.thread_id)
        return code
    params: dict[str, Any] = {"threadId": opened.thread_id, "input": given, **_settings(arguments)}
    started = await client.request("turn/start", **params)
    console = stdout_console() if stdout_console().is_terminal else stderr_console()
    view = LiveView(console, opened.thread_id, shows_prompts=False)
    spinner = Spinner(console, "thinking") if console.is_terminal and not arguments.json else None
    ids = opened.thread_id, str(started["turn"]["id"])
    turn = RunningTurn(client, view, ids, as_json=arguments.json, spinner=spinner)
    ended = await turn.follow()
    if arguments.json:
        print_json({"threadId": opened.thread_id, "turn": ended})
        return exit_code(ended)
    if turn.answer and not stdout_console().is_terminal and not outputs_are_one():
        write_text(f"{turn.answer}\n")
    await _show_meter(client, opened.thread_id)
    return exit_code(ended)


def is_command(given: list[dict[str, str]]) -> bool:
    """Returns whether a prompt is a slash command and nothing else."""
    return len(given) == 1 and not isinstance(parse(given[0]["text"]), NotACommand)


async def _open(
    arguments: argparse.Namespace, client: Client, thread: KnownThread | None
) -> _Opened:
    if thread is None:
        params = {"cwd": folder(arguments.cwd), **_start_settings(arguments)}
        answer = await client.request("thread/start", **params)
        thread_id = str(answer["thread"]["id"])
        return _Opened(thread_id, _NEW, str(answer.get("cwd") or ""), answer)
    answer = await resumed(client, thread)
    title = f"“{one_line(thread.title, 48)}”" if thread.title else ""
    return _Opened(thread.id, title, thread.cwd, answer)


async def _continued(arguments: argparse.Namespace, client: Client) -> KnownThread | None:
    """Returns the thread to continue: the one that was named, or the last one of this folder; None
    if a new one must be started.
    """
    if arguments.thread or arguments.last:
        return known(await chosen_thread(client, arguments))
    found = await last_thread_here(client)
    if found is not None and found.overview is None:
        return known(await adopted(client, found.id))
    return found


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the settings for this turn and later ones, as parameters of `turn/start`."""
    settings = {"model": arguments.model, "approvalPolicy": arguments.approve}
    if arguments.sandbox is not None:
        settings["sandboxPolicy"] = {"type": _SANDBOXES[arguments.sandbox]}
    return {name: value for name, value in settings.items() if value is not None}


def _start_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    chosen = {
        "model": arguments.model,
        "approvalPolicy": arguments.approve,
        "sandbox": arguments.sandbox,
    }
    return {name: value for name, value in chosen.items() if value is not None}


def _heading(opened: _Opened, arguments: argparse.Namespace) -> str:
    """Returns a line with the thread, its folder if it is another one, the model, what the sandbox
    permits, and at the end what was set just now and stays.
    """
    words = [f"thread {short_id(opened.thread_id)} {opened.title}".rstrip()]
    if opened.cwd not in {"", current_folder()}:
        words.append(f"in {opened.cwd}")
    given = (arguments.model, arguments.sandbox, arguments.approve)
    shown = [*zip(_settings_in_words(opened, arguments), map(bool, given), strict=True)]
    if opened.title == _NEW:
        return ", ".join([*words, *(text for text, _ in shown if text)])
    words += [text for text, is_given in shown if text and not is_given]
    changed = [text for text, is_given in shown if text and is_given]
    return ", ".join(words) + (f"; from now on {', '.join(changed)}" if changed else "")


def _settings_in_words(opened: _Opened, arguments: argparse.Namespace) -> tuple[str, str, str]:
    policy: Mapping[str, Any] = opened.settings.get("sandbox") or {}
    sandbox = _SANDBOXES[arguments.sandbox] if arguments.sandbox else policy.get("type")
    permits = _PERMITS.get(str(sandbox), "")
    model = one_line(str(arguments.model or opened.settings.get("model") or ""), 60)
    approvals = arguments.approve or opened.settings.get("approvalPolicy")
    return model, permits, f"approvals {approvals}" if isinstance(approvals, str) else ""


async def _show_meter(client: Client, thread_id: str) -> None:
    context = await ask_daemon(client, ContextStatus, "context/status", threadId=thread_id)
    for line in meter(context):
        stderr_console().print(line, soft_wrap=not stderr_console().is_terminal)
