"""Drives a real Claude Code in a pseudo-terminal against a loopback model and keeps the session
files that it writes: what only a terminal has, such as `/clear`, Esc Esc and `/branch`.

    python -m tests.sessionlogs.make.claude_terminal CLAUDE OUT [SCENE …]

Made with Claude Code 2.1.332.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from tests.sessionlogs.make.claude_sessions import Anthropic, keep
from tests.sessionlogs.make.loopback import Model, serving
from tests.sessionlogs.make.screen import ENTER, ERASE_LINE, ESCAPE, UP, Screen
from tests.tui.terminal import program_in_terminal

KEY = "sk-ant-test-loopback-model"


async def rewind(screen: Screen, prompts: int, choice: str) -> None:
    """Opens the list of prompts, goes up so many of them, and takes a choice of the menu."""
    await screen.press(ESCAPE + ESCAPE, *[UP] * prompts, ENTER)
    await screen.choose(choice)


class Stage:
    """A folder for Claude Code and the model that it asks."""

    def __init__(self, claude: str, folder: Path, model: Model, port: int) -> None:
        self._claude = claude
        self.model = model
        self.home, self.cwd = folder / "home", folder / "project"
        for path in (self.home, self.cwd):
            path.mkdir()
        (self.home / ".claude.json").write_text(json.dumps(self._settled()))
        self._environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "CLAUDE_CONFIG_DIR": str(self.home),
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": KEY,
            "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "LANG": "C.UTF-8",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }  # fmt: skip

    def _settled(self) -> dict[str, Any]:
        """What Claude Code would ask a person at its first start."""
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        return {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.cwd): trusted},
        }

    @asynccontextmanager
    async def running(self, *options: str) -> AsyncGenerator[Screen]:
        """Runs Claude Code while the block lasts."""
        command = [self._claude, "--permission-mode", "acceptEdits", "--allowedTools", "Bash,Task"]
        whole = [*command, *options]
        async with program_in_terminal(whole, self._environment, str(self.cwd)) as terminal:
            screen = Screen(terminal)
            await terminal.shows("❯")
            await screen.rests()
            yield screen

    def sessions(self) -> list[Path]:
        """The session files, the last changed one at the end."""
        found = (self.home / "projects").glob("*/*.jsonl")
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)


async def compacted(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "RUN second", "/compact", "third", "/compact", "fourth"):
            await screen.say(text)


async def compacted_automatically(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "RUN second", "HUGE third", "fourth", "fifth"):
            await screen.say(text)


async def rewound(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "RUN second", "third"):
            await screen.say(text)
        await rewind(screen, 2, "Restore conversation")
        await screen.press(ERASE_LINE)
        await screen.say("another second")


async def rewound_behind_a_compaction(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "second", "/compact", "third"):
            await screen.say(text)
        await rewind(screen, 3, "Restore conversation")
        await screen.press(ERASE_LINE)
        await screen.say("another second")


async def compacted_from_here(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "second", "third"):
            await screen.say(text)
        await rewind(screen, 2, "Summarize from here")
        await screen.press(ENTER, ERASE_LINE)
        await screen.say("fourth")


async def compacted_up_to_here(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "second", "third"):
            await screen.say(text)
        await rewind(screen, 1, "Summarize up to here")
        await screen.press(ENTER, ERASE_LINE)
        await screen.say("fourth")


async def cleared(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("before", "/clear", "between", "/clear a name", "after"):
            await screen.say(text)


async def branched(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "second", "/compact", "third", "/branch", "on the branch"):
            await screen.say(text)


async def forked(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "second", "/compact", "third"):
            await screen.say(text)
    origin = stage.sessions()[-1].stem
    async with stage.running("--resume", origin, "--fork-session") as screen:
        await screen.say("on the fork")
    async with stage.running("--resume", origin) as screen:
        await screen.say("on the origin")


async def torn(stage: Stage) -> None:
    """The last line is torn as by a crash; the session is resumed then."""
    async with stage.running() as screen:
        for text in ("first", "second"):
            await screen.say(text)
    path = stage.sessions()[-1]
    os.truncate(path, path.stat().st_size - 40)
    async with stage.running("--resume", path.stem) as screen:
        await screen.say("third")


async def torn_within_a_summary(stage: Stage) -> None:
    """The summary of a compaction is torn; the session is resumed then."""
    async with stage.running() as screen:
        for text in ("first", "RUN second", "/compact"):
            await screen.say(text)
    [path] = stage.sessions()
    os.truncate(path, path.read_bytes().index(b'"isCompactSummary":true'))
    async with stage.running("--resume", path.stem) as screen:
        await screen.say("third")
        await screen.say("fourth")


async def with_a_sub_agent(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "AGENT second", "BOTH third", "fourth"):
            await screen.say(text)


Scenes = dict[str, Callable[[Stage], Awaitable[None]]]
SCENES: Scenes = {
    "compacted": compacted,
    "compacted-automatically": compacted_automatically,
    "rewound": rewound,
    "rewound-behind-a-compaction": rewound_behind_a_compaction,
    "compacted-from-here": compacted_from_here,
    "compacted-up-to-here": compacted_up_to_here,
    "cleared": cleared,
    "branched": branched,
    "forked": forked,
    "torn": torn,
    "torn-within-a-summary": torn_within_a_summary,
    "with-a-sub-agent": with_a_sub_agent,
}


async def make(claude: str, out: Path, names: list[str], scenes: Scenes) -> None:
    """Plays the scenes and writes what came of them below `out`."""
    for name in names or scenes:
        shutil.rmtree(out / name, ignore_errors=True)
        with tempfile.TemporaryDirectory() as work, serving(Anthropic) as (model, port):
            stage = Stage(claude, Path(work), model, port)
            with anyio.fail_after(240):
                await scenes[name](stage)
            keep(stage.home, stage.cwd, model, out / name, work)
        print(name, flush=True)


if __name__ == "__main__":
    anyio.run(make, sys.argv[1], Path(sys.argv[2]), sys.argv[3:], SCENES)
