"""Drives a real Gemini CLI in a pseudo-terminal against a loopback model and keeps the chat files
that it writes.

    python -m tests.sessionlogs.make.gemini_sessions GEMINI OUT [SCENE …]

Made with Gemini CLI 0.61.0. Each scene is a conversation of its own; its folder gets `tmp` without
what is no chat, and in `inputs.json` what the model was sent each time.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from tests.sessionlogs.make.cleaning import clean_lines, write
from tests.sessionlogs.make.loopback import Handler, Model, serving
from tests.sessionlogs.make.screen import ENTER, ERASE_LINE, UP, Screen
from tests.tui.terminal import program_in_terminal

SNAPSHOT = "<state_snapshot>SUMMARY</state_snapshot>"
HUGE = 900_000
SLOW_S = 8
FAILURES = {"FAIL400": 1, "FAIL500": 2}
LONG = " ".join(str(number * 7919 % 100_003) for number in range(4_000))


class Gemini(Handler):
    """The Gemini API, as far as Gemini CLI uses it."""

    def post(self, body: dict[str, Any]) -> None:
        if "countTokens" in self.path:
            self.answer({"totalTokens": 100})
        elif "enerateContent" in self.path:
            self._reply(body)
        else:
            self.answer({})

    def _reply(self, body: dict[str, Any]) -> None:
        number = self.model.number(body)
        said = json.dumps(body["contents"][-1])
        if "SLOW" in said:
            time.sleep(SLOW_S)
        for word, times in FAILURES.items():
            if word in said and self.model.fails(word, times):
                status = int(word.removeprefix("FAIL"))
                error = {"code": status, "message": "no", "status": "INTERNAL"}
                self.answer({"error": error}, status=status)
                return
        parts = _parts(body, number)
        given = HUGE if "HUGE" in json.dumps(body["contents"][-1]) else 5_000 + number
        usage = {
            "promptTokenCount": given, "candidatesTokenCount": 10, "totalTokenCount": given + 10,
        }  # fmt: skip
        content = {"role": "model", "parts": parts}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}
        if "alt=sse" in self.path:
            self.answer(b"data: " + json.dumps(whole).encode() + b"\n\n", "text/event-stream")
        else:
            self.answer(whole)


def _parts(body: dict[str, Any], number: int) -> list[dict[str, Any]]:
    instruction = json.dumps(body.get("systemInstruction") or {})
    last = body["contents"][-1]["parts"]
    if "responseJsonSchema" in json.dumps(body.get("generationConfig") or {}):
        answer = {"next_speaker": "user", "reasoning": "r", "model_choice": "flash"}
        return [{"text": json.dumps(answer)}]
    if "state_snapshot" in instruction:
        return [{"text": SNAPSHOT}]
    text = " ".join(part.get("text", "") for part in last)
    answered = any("functionResponse" in part for part in last)
    thought = [{"text": "**Subject** a thought", "thought": True}] if "THINK" in text else []
    if not answered and body.get("tools"):
        calls = [{"functionCall": one} for one in _calls(text)]
        if calls:
            return [*thought, {"text": "let me look"}, *calls]
    return [*thought, {"text": f"reply {number} {LONG if 'LONG' in text else ''}".strip()}]


def _calls(text: str) -> list[dict[str, Any]]:
    """Returns the calls that a prompt asks for by a word in capitals."""
    look = {"name": "list_directory", "args": {"dir_path": "."}}
    wait = {"name": "run_shell_command", "args": {"command": "tail -f /dev/null"}}
    wrong = {"name": "read_file", "args": {"file_path": "missing"}}
    asked: dict[str, list[dict[str, Any]]] = {
        "RUN": [look],
        "BOTH": [look, look],
        "SLEEP": [wait],
        "WRONG": [wrong],
    }
    word = next((word for word in asked if word in text), None)
    return asked[word] if word is not None else []


class Stage:
    """A folder for Gemini CLI and the model that it asks."""

    def __init__(self, gemini: str, folder: Path, model: Model, port: int) -> None:
        self._gemini = gemini
        self.model = model
        self.home, self.cwd = folder / "home", folder / "project"
        settings = self.home / ".gemini"
        settings.mkdir(parents=True)
        self.cwd.mkdir()
        (settings / "settings.json").write_text(json.dumps(SETTINGS))
        (settings / "trustedFolders.json").write_text(json.dumps({str(self.cwd): "TRUST_FOLDER"}))
        self._environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "GEMINI_CLI_HOME": str(self.home),
            "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}", "GEMINI_API_KEY": "test",
            "LANG": "C.UTF-8", "GEMINI_TELEMETRY_ENABLED": "false", "NO_COLOR": "1",
        }  # fmt: skip

    @asynccontextmanager
    async def running(self, *options: str) -> AsyncGenerator[Screen]:
        """Runs Gemini CLI while the block lasts."""
        async with self.running_until_killed(*options) as screen:
            yield screen
            await screen.terminal.types("/quit")
            await screen.terminal.ends()

    @asynccontextmanager
    async def running_until_killed(self, *options: str) -> AsyncGenerator[Screen]:
        """Runs Gemini CLI, and kills it at the end of the block."""
        command = [self._gemini, "--approval-mode", "yolo", "--model", "gemini-2.5-pro", *options]
        async with program_in_terminal(command, self._environment, str(self.cwd)) as terminal:
            screen = Screen(terminal)
            await terminal.shows("Type your message")
            await screen.rests()
            yield screen

    def tear(self, count: int) -> None:
        """Cuts so many bytes off the newest chat file, as a crash does."""
        chats = (self.home / ".gemini" / "tmp").glob("*/chats/session-*.jsonl")
        newest = max(chats, key=lambda path: path.stat().st_mtime_ns)
        os.truncate(newest, newest.stat().st_size - count)


SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
    "privacy": {"usageStatisticsEnabled": False},
    "ui": {"hideTips": True, "hideBanner": True},
}


async def compressed(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "LONG second", "RUN third", "/compress", "fourth", "fifth"):
            await screen.say(text)


async def compressed_automatically(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "LONG second", "HUGE third", "fourth", "fifth"):
            await screen.say(text)


async def cleared(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("before", "/clear", "between", "/new", "after"):
            await screen.say(text)


async def rewound(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "RUN second", "third"):
            await screen.say(text)
        await screen.say("/rewind")
        await screen.press(UP, UP, ENTER, ENTER)
        await screen.press(ERASE_LINE)
        await screen.say("another second")


async def saved_and_resumed(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "second", "/chat save here", "third", "/chat resume here ", "fourth"):
            await screen.say(text)


async def resumed(stage: Stage) -> None:
    async with stage.running() as screen:
        for text in ("first", "RUN second"):
            await screen.say(text)
    async with stage.running("--resume", "latest") as screen:
        for text in ("third", "/compress", "fourth"):
            await screen.say(text)


async def resumed_twice(stage: Stage) -> None:
    """A process that resumes says each tool's result once more, and leaves a file of its own."""
    async with stage.running() as screen:
        for text in ("first", "RUN second"):
            await screen.say(text)
    async with stage.running("--resume", "latest") as screen:
        await screen.say("third")
    async with stage.running("--resume", "latest") as screen:
        for text in ("fourth", "fifth"):
            await screen.say(text)
        await screen.say("/rewind")
        await screen.press(UP, UP, ENTER, ENTER)
        await screen.press(ERASE_LINE)
        await screen.say("another fourth")


Scenes = dict[str, Callable[[Stage], Awaitable[None]]]
SCENES: Scenes = {
    "compressed": compressed,
    "compressed-automatically": compressed_automatically,
    "cleared": cleared,
    "rewound": rewound,
    "saved-and-resumed": saved_and_resumed,
    "resumed-and-compressed": resumed,
    "resumed-twice": resumed_twice,
}


async def make(gemini: str, out: Path, names: list[str], scenes: Scenes) -> None:
    """Plays the scenes and writes what came of them below `out`."""
    for name in names or scenes:
        shutil.rmtree(out / name, ignore_errors=True)
        with tempfile.TemporaryDirectory() as work, serving(Gemini) as (model, port):
            stage = Stage(gemini, Path(work), model, port)
            with anyio.fail_after(300):
                await scenes[name](stage)
            _keep(stage, out / name, work)
        print(name, flush=True)


def _keep(stage: Stage, folder: Path, work: str) -> None:
    replaced = {
        str(stage.cwd): "/home/you/project",
        str(stage.home): "/home/you",
        work: "/home/you",
    }
    home = stage.home / ".gemini"
    for path in sorted((home / "tmp").rglob("*")):
        if path.is_file() and (
            "chats" in path.parts or path.name.startswith(("logs", "checkpoint"))
        ):
            name = str(path.relative_to(home))
            data = path.read_bytes()
            whole = json.dumps(json.loads(data)).encode() if path.suffix == ".json" else data
            write(folder, name, clean_lines(whole, replaced))
    for root in (home / "tmp").glob("*/.project_root"):
        write(folder, str(root.relative_to(home)), b"/home/you/project")
    inputs = [body["contents"] for body in stage.model.requests]
    write(folder, "inputs.json", clean_lines(json.dumps(inputs).encode(), replaced))


if __name__ == "__main__":
    anyio.run(make, sys.argv[1], Path(sys.argv[2]), sys.argv[3:], SCENES)
