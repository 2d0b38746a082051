"""The official Python SDK (`openai-codex`) with trimpoint in place of the codex binary."""

import shlex
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
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


async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Runs a function with the sync SDK in a thread, with a deadline, and returns its result."""
    with anyio.fail_after(DEADLINE_S):
        return await anyio.to_thread.run_sync(function, *arguments, abandon_on_cancel=True)


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
