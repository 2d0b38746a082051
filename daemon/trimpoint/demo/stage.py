"""Prepares the demo's environment: a temporary git worktree, `CODEX_HOME` and state directory, a
scripted model, and a daemon in this process.

All of it is removed when the block ends, and the person's own Codex, git configuration and state
are not touched.
"""

import dataclasses
import os
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import anyio
import msgspec

from trimpoint.app import running_daemon
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.config.sections import CompactionSection, Config
from trimpoint.demo.script import BEFORE, FILE, NAMES, NAMES_TEXT, SUMMARY
from trimpoint.testkit import (
    ModelRequest,
    Reply,
    Script,
    ScriptedModel,
    Usage,
    codex_environment,
    codex_overrides,
    throwaway_codex_home,
)
from trimpoint.transport.listeners import serve_unix

_BYTES_IN_TOKEN = 4
_AUTHOR = {"GIT_AUTHOR_NAME": "demo", "GIT_AUTHOR_EMAIL": "demo@example.invalid"}
_COMMITTER = {"GIT_COMMITTER_NAME": "demo", "GIT_COMMITTER_EMAIL": "demo@example.invalid"}
_NO_CONFIG = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


class DemoEnvironment(NamedTuple):
    """The parts of a running demo."""

    socket: Path
    worktree: Path
    model: ScriptedModel
    script: Script


@asynccontextmanager
async def opened_stage(codex: Path) -> AsyncGenerator[DemoEnvironment]:
    """Yields the running environment of the demo.

    :raises ValueError: when there is no place for a `CODEX_HOME` (see `throwaway_codex_home`).
    """
    script = Script(summary=SUMMARY)
    with TemporaryDirectory(prefix="trimpoint-demo-", ignore_cleanup_errors=True) as folder:
        worktree = await _git_worktree(Path(folder))
        async with (
            throwaway_codex_home() as home,
            ScriptedModel(partial(_measured, script)) as model,
        ):
            environment = _codex_environment(home, Path(folder))
            profile = LaunchProfile(
                codex, tuple(codex_overrides(model)), home, tuple(environment.items())
            )
            socket = Path(folder) / "run" / "demo.sock"
            async with _daemon(Path(folder) / "state", socket, profile):
                yield DemoEnvironment(socket, worktree, model, script)


def _measured(script: Script, request: ModelRequest) -> Reply:
    """Returns the script's reply, with the size of the request as its usage: what the daemon tells
    about the context is then true of what the model was sent.
    """
    reply = script(request)
    assert isinstance(reply, Reply)
    return dataclasses.replace(reply, usage=Usage(input_tokens=tokens_of(request)))


def tokens_of(request: ModelRequest) -> int:
    """Returns the size of a request, as the scripted model reports it."""
    sent = [request.body.get(part) for part in ("instructions", "tools", "input")]
    return len(msgspec.json.encode(sent)) // _BYTES_IN_TOKEN


@asynccontextmanager
async def _daemon(state_dir: Path, socket: Path, profile: LaunchProfile) -> AsyncGenerator[None]:
    config = Config(compaction=CompactionSection(min_messages=2, deadline_s=30.0))
    async with (
        running_daemon(config, state_dir, profile) as daemon,
        anyio.create_task_group() as tasks,
    ):
        await tasks.start(partial(serve_unix, socket, daemon.serve))
        yield
        tasks.cancel_scope.cancel()


def _codex_environment(codex_home: Path, folder: Path) -> dict[str, str]:
    # Codex runs commands in a login shell; a person's shell profile could be slow or print text.
    home = folder / "home"
    home.mkdir()
    return codex_environment(codex_home) | {"HOME": str(home)}


async def _git_worktree(folder: Path) -> Path:
    """Returns a worktree of a small repository, or a plain folder with the same file if git is not
    installed.
    """
    repository, worktree = folder / "project", folder / "worktree"
    git = shutil.which("git")
    if git is None:
        worktree.mkdir()
        _write_project(worktree)
        return worktree
    repository.mkdir()
    _write_project(repository)
    for words in (
        "init --quiet",
        "add .",
        "commit --quiet -m start",
        f"worktree add --quiet -b demo {worktree}",
    ):
        await anyio.run_process(
            [git, *words.split(" ")], cwd=repository, env=_git_environment(os.environ)
        )
    return worktree


def _write_project(folder: Path) -> None:
    (folder / FILE).write_text(BEFORE)
    (folder / NAMES).write_text(NAMES_TEXT)


def _git_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    own = {name: value for name, value in inherited.items() if not name.startswith("GIT_")}
    return own | _AUTHOR | _COMMITTER | _NO_CONFIG
