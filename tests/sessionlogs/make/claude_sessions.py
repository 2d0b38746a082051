"""Drives a real Claude Code against a loopback model and keeps the session files that it writes.

    python -m tests.sessionlogs.make.claude_sessions CLAUDE OUT [SCENE …]

Each scene is a conversation of its own; its folder gets `projects`, `history.jsonl` if there is
one, and in `inputs.json` what the model was sent each time.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.sessionlogs.make.cleaning import clean_lines, write
from tests.sessionlogs.make.loopback import Handler, Model, serving

HUGE = 990_000
SLOW_S = 8


class Anthropic(Handler):
    """The Messages API, as far as Claude Code uses it."""

    def post(self, body: dict[str, Any]) -> None:
        if "count_tokens" in self.path:
            self.answer({"input_tokens": 100})
        elif "/messages" in self.path:
            self._reply(body, self.model.number(body))
        else:
            self.answer({})

    def _reply(self, body: dict[str, Any], number: int) -> None:
        text = _said_last(body)
        if "SLOW" in text:
            time.sleep(SLOW_S)
        if "FAIL400" in text and self.model.fails("400", 6):
            error = {"type": "invalid_request_error", "message": "no"}
            self.answer({"type": "error", "error": error}, status=400)
            return
        if "FAIL529" in text and self.model.fails("529", 2):
            error = {"type": "overloaded_error", "message": "Overloaded"}
            self.answer({"type": "error", "error": error}, status=529)
            return
        blocks = _blocks(body, number)
        given = HUGE if "HUGE" in json.dumps(body["messages"][-1]) else self.model.input_tokens
        usage = {"input_tokens": given + number, "output_tokens": 10}
        reason = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
        message = {
            "id": f"msg_{number}", "type": "message", "role": "assistant",
            "model": body.get("model"), "content": blocks, "stop_reason": reason,
            "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        if body.get("stream"):
            self.answer(b"".join(_events(message)), "text/event-stream")
        else:
            self.answer(message)


def _said_last(body: dict[str, Any]) -> str:
    return " ".join(part.get("text", "") for part in _last_parts(body))


def _last_parts(body: dict[str, Any]) -> list[dict[str, Any]]:
    last = [one for one in body["messages"] if one["role"] != "system"][-1]["content"]
    return [{"type": "text", "text": last}] if isinstance(last, str) else last


def _blocks(body: dict[str, Any], number: int) -> list[dict[str, Any]]:
    parts, text = _last_parts(body), _said_last(body)
    if "Your task is to create a detailed summary" in text:
        return [{"type": "text", "text": "<analysis>A</analysis>\n<summary>SUMMARY</summary>"}]
    answered = any(part["type"] == "tool_result" for part in parts)
    if not answered and body.get("tools"):
        calls = [
            {"type": "tool_use", "id": f"toolu_{number}_{at}", "name": name, "input": arguments}
            for at, (name, arguments) in enumerate(_calls(text))
        ]
        if calls:
            return [*_thought(text), {"type": "text", "text": "let me run it"}, *calls]
    return [*_thought(text), {"type": "text", "text": f"reply {number}"}]


def _thought(text: str) -> list[dict[str, Any]]:
    thinking = {"type": "thinking", "thinking": "a thought", "signature": "c2lnbmVk"}
    return [thinking] if "THINK" in text else []


def _calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Returns the calls that a prompt asks for by a word in capitals."""
    bash = ("Bash", {"command": "echo tool-output", "description": "echo"})
    agent = {
        "description": "look",
        "prompt": "inner question",
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    nap = ("Bash", {"command": "timeout 6 tail -f /dev/null; echo rested", "description": "sleep"})
    long = ("Bash", {"command": "tail -f /dev/null", "description": "wait"})
    back = (
        "Bash",
        {
            "command": "timeout 2 tail -f /dev/null; echo b",
            "description": "b",
            "run_in_background": True,
        },
    )
    asked: dict[str, list[tuple[str, dict[str, Any]]]] = {
        "RUN": [bash],
        "BOTH": [bash, bash],
        "BGAGENT": [("Agent", agent | {"run_in_background": True})],
        "AGENT": [("Agent", agent)],
        "NAP": [nap],
        "SLEEP": [long],
        "BACK": [back],
        "PLAN": [("ExitPlanMode", {"plan": "the plan"})],
        "MCP": [("mcp__box__look", {})],
        "READIMAGE": [("Read", {"file_path": "pixel.png"})],
    }
    word = next((word for word in asked if word in text), None)
    return asked[word] if word is not None else []


def _events(message: dict[str, Any]) -> list[bytes]:
    blocks = message["content"]
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message | {"content": [], "stop_reason": None}}
    ]
    for index, block in enumerate(blocks):
        empty, deltas = _deltas(block)
        events += [
            {"type": "content_block_start", "index": index, "content_block": block | empty},
            *({"type": "content_block_delta", "index": index, "delta": one} for one in deltas),
            {"type": "content_block_stop", "index": index},
        ]
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 10}})
    events.append({"type": "message_stop"})
    return [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events]


def _deltas(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns what a block begins as, and what is added to it."""
    match block:
        case {"type": "text", "text": text}:
            return {"text": ""}, [{"type": "text_delta", "text": text}]
        case {"type": "thinking", "thinking": thinking, "signature": signature}:
            return {"thinking": "", "signature": ""}, [
                {"type": "thinking_delta", "thinking": thinking},
                {"type": "signature_delta", "signature": signature},
            ]
        case _:
            arguments = json.dumps(block["input"])
            return {"input": {}}, [{"type": "input_json_delta", "partial_json": arguments}]


class Stage:
    """Runs Claude Code in a folder of its own."""

    def __init__(self, claude: str, folder: Path, model: Model, port: int) -> None:
        self._claude = claude
        self.model = model
        self.home, self.cwd = folder / "home", folder / "project"
        for path in (self.home, self.cwd):
            path.mkdir()
        self._environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "CLAUDE_CONFIG_DIR": str(self.home),
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": "sk-test",
            "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }  # fmt: skip

    def say(self, text: str, *options: str) -> str:
        """Runs one prompt and returns the id of the session."""
        command = [self._claude, "-p", text, "--output-format", "json", "--allowedTools", "Bash"]
        done = subprocess.run(
            [*command, *options],
            cwd=self.cwd,
            env=self._environment,
            capture_output=True,
            timeout=90,
        )
        return str(json.loads(done.stdout)["session_id"])


def compacted_by_hand(stage: Stage) -> None:
    session = stage.say("first")
    for text in ("RUN second", "/compact", "third", "/compact", "fourth"):
        session = stage.say(text, "--resume", session)


def compacted_automatically(stage: Stage) -> None:
    session = stage.say("first")
    session = stage.say("RUN second", "--resume", session)
    stage.model.input_tokens = 990_000
    session = stage.say("third", "--resume", session)
    stage.model.input_tokens = 1000
    session = stage.say("fourth", "--resume", session)
    stage.say("fifth", "--resume", session)


def forked(stage: Stage) -> None:
    session = stage.say("first")
    stage.say("second", "--resume", session, "--fork-session")


def forked_twice(stage: Stage) -> None:
    origin = stage.say("first")
    fork = stage.say("second", "--resume", origin, "--fork-session")
    stage.say("third", "--resume", fork, "--fork-session")
    cleared = stage.say("/clear", "--resume", origin)
    stage.say("after", "--resume", cleared)


def cleared(stage: Stage) -> None:
    session = stage.say("before")
    session = stage.say("/clear", "--resume", session)
    stage.say("after", "--resume", session)


SCENES: dict[str, Callable[[Stage], None]] = {
    "compacted-by-hand": compacted_by_hand,
    "compacted-automatically": compacted_automatically,
    "forked": forked,
    "forked-twice": forked_twice,
    "cleared": cleared,
}


def make(claude: str, out: Path, names: list[str]) -> None:
    """Plays the scenes and writes what came of them below `out`."""
    for name in names or SCENES:
        shutil.rmtree(out / name, ignore_errors=True)
        with tempfile.TemporaryDirectory() as work, serving(Anthropic) as (model, port):
            stage = Stage(claude, Path(work), model, port)
            SCENES[name](stage)
            keep(stage.home, stage.cwd, model, out / name, work)
        print(name, flush=True)


def keep(home: Path, cwd: Path, model: Model, folder: Path, work: str) -> None:
    """Writes the sessions and what the model was sent below `folder`."""
    slug = str(cwd).replace("/", "-").replace(".", "-").replace("_", "-")
    replaced = {str(cwd): "/home/you/project", slug: "-home-you-project"}
    replaced |= {str(home): "/home/you/.claude", work: "/home/you"}
    for path in sorted((home / "projects").rglob("*.json*")):
        name = str(path.relative_to(home)).replace(slug, "-home-you-project")
        write(folder, name, clean_lines(path.read_bytes(), replaced))
    history = home / "history.jsonl"
    if history.exists():
        write(folder, history.name, clean_lines(history.read_bytes(), replaced))
    inputs = [_shown(one) for one in model.requests]
    write(folder, "inputs.json", clean_lines(json.dumps(inputs).encode(), replaced))


def _shown(body: dict[str, Any]) -> list[Any]:
    return [one for one in body["messages"] if one["role"] != "system"]


if __name__ == "__main__":
    make(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
