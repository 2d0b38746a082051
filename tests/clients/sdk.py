"""The official Python SDK (`openai-codex`) with trimpoint in place of the codex binary."""

import asyncio
import shlex
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from tests.cli.stage import CODEX, DEADLINE_S, CliHarness

sdk = pytest.importorskip("openai_codex")
low_level = pytest.importorskip("openai_codex.client")
DENY, FULL_ACCESS = sdk.ApprovalMode.deny_all, sdk.Sandbox.full_access
CLEARED = "Context cleared: 2 messages in 1 turn left it, the last turn kept."


def launcher(stage: CliHarness, *command: str) -> str:
    """Writes an executable that runs `command` in the stage's own environment, and returns its
    path.
    """
    path = stage.folder / ("codex" if command[0] == str(CODEX) else "trimpoint")
    environment = [f"{name}={value}" for name, value in stage.environment.items()]
    path.write_text(f'#!/bin/sh\nexec env -i {shlex.join([*environment, *command])} "$@"\n')
    path.chmod(0o755)
    return str(path)


def configured(stage: CliHarness, *command: str) -> Any:
    """Returns the configuration that a program gives to the SDK: the binary (trimpoint unless
    `command` is given), and its overrides.
    """
    return sdk.CodexConfig(
        codex_bin=launcher(stage, *(command or stage.command())),
        config_overrides=tuple(stage.overrides),
    )


async def in_thread(
    function: Callable[..., Any], *arguments: Any, deadline_s: float = DEADLINE_S
) -> Any:
    """Runs a function with the sync SDK in a thread, with a deadline, and returns its result.

    A thread that hangs is left behind: it keeps neither the event loop nor the process from ending,
    and the failure shows what it does.
    """
    outcome: Future[Any] = Future()

    def run() -> None:
        try:
            outcome.set_result(function(*arguments))
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=run, name=function.__qualname__, daemon=True)
    thread.start()
    done, _ = await asyncio.wait([asyncio.wrap_future(outcome)], timeout=deadline_s)
    if not done:
        frame = sys._current_frames().get(thread.ident or 0)
        doing = "".join(traceback.format_stack(frame)) if frame is not None else "ended just now"
        pytest.fail(f"{thread.name} has not ended in {deadline_s:g} s. It is here:\n{doing}")
    return done.pop().result()


async def is_ended(stage: CliHarness) -> bool:
    """Ends the only daemon that the SDK left, and returns whether all its processes and its socket
    are gone.
    """
    assert len(stage.background_daemons()) <= 1
    await stage.end_background_daemons()
    return stage.codex_children() == [] and not stage.socket.exists()


def turns(thread: Any) -> list[Any]:
    """Returns the first text of each turn that the SDK reads."""
    return [
        turn.items[0].root.content[0].root.text
        for turn in thread.read(include_turns=True).thread.turns
    ]
